/*
 * Sums over a sequence: of value i times BASE^i, modulo the prime 2^61 - 1.
 *
 * Sequences that differ have different sums, up to hash collisions.  If a sequence repeats, so that
 * the numbers i grow by the same amount each time, the sum has a closed form.
 */
#ifndef TI_SOUND_SERIES_H
#define TI_SOUND_SERIES_H

#include <stdint.h>

#define TI_SERIES_PRIME ((UINT64_C(1) << 61) - 1)
#define TI_SERIES_BASE  UINT64_C(0x0a3b195354a39b70)

/* Any number modulo the prime. */
static inline uint64_t ti_series_value(uint64_t x)
{
    x = (x & TI_SERIES_PRIME) + (x >> 61);
    return x >= TI_SERIES_PRIME ? x - TI_SERIES_PRIME : x;
}

/* Of numbers below the prime: sum, difference, product. */
static inline uint64_t ti_series_add(uint64_t a, uint64_t b)
{
    return ti_series_value(a + b);
}

static inline uint64_t ti_series_subtract(uint64_t a, uint64_t b)
{
    return ti_series_value(a + (TI_SERIES_PRIME - b));
}

static inline uint64_t ti_series_multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return ti_series_value((uint64_t)(product & TI_SERIES_PRIME) + (uint64_t)(product >> 61));
}

/* BASE^i */
static inline uint64_t ti_series_power(uint64_t i)
{
    uint64_t power = 1, square = TI_SERIES_BASE;

    for (; i; i >>= 1) {
        if (i & 1)
            power = ti_series_multiply(power, square);
        square = ti_series_multiply(square, square);
    }
    return power;
}

/* The sum that `times` repetitions add, if the last one added `sum`, and the numbers grow by
 * `stride` with each: sum * (q + q^2 + ... + q^times) with q = BASE^stride. */
static inline uint64_t ti_series_repeat(uint64_t sum, uint64_t stride, uint64_t times)
{
    const uint64_t q = ti_series_power(stride);
    uint64_t factor = 0, power = 1; /* of the first bits of `times` */

    for (int bit = 63; bit >= 0; bit--) {
        factor = ti_series_multiply(factor, ti_series_add(1, power));
        power = ti_series_multiply(power, power);
        if (times >> bit & 1) {
            power = ti_series_multiply(power, q);
            factor = ti_series_add(factor, power);
        }
    }
    return ti_series_multiply(sum, factor);
}

#endif
