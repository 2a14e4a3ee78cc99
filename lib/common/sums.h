/*
 * Sums of 64 bits that do not wrap around, and divisors.  Traces of loops may claim any number of
 * bytes.
 */
#ifndef TI_COMMON_SUMS_H
#define TI_COMMON_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* Add `times` times `value` to a sum.  False if it is above 2^64 - 1 then, which it becomes
 * instead. */
static inline bool ti_sum_add(uint64_t *sum, uint64_t value, uint64_t times)
{
    uint64_t product, is;
    bool fits = !__builtin_mul_overflow(value, times, &product) &&
                !__builtin_add_overflow(*sum, product, &is);

    *sum = fits ? is : UINT64_MAX;
    return fits;
}

/* The largest number that divides both; of 0 and a number that number. */
static inline uint64_t ti_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

#endif
