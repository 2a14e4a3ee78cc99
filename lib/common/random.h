/* Pseudo-random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 14). */
#ifndef TI_COMMON_RANDOM_H
#define TI_COMMON_RANDOM_H

#include <stdint.h>

/* The next number of a sequence; *state is any number at its begin. */
static inline uint64_t ti_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
