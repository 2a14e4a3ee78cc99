/*
 * The volumes and extra values of a folded trace, without going through its events: each value with
 * how often it occurs.  Repeated runs of columns, and runs of values, are given at once.  So the
 * cost depends on the record, not on the length of the trace, unless columns are repeated of which
 * the periods fit together nowhere.
 *
 * Values that are drawn from histograms (event/quality.h) are those that ti_reader_next() gives,
 * in the same order, for calls with no more than TI_DRAWN_MOST values.  Of more values, each bin
 * has its share at any time.
 */
#ifndef TI_FOLD_VALUES_H
#define TI_FOLD_VALUES_H

#include "event/event.h"
#include "fold/shape.h"

#define TI_DRAWN_MOST (1u << 16)

/* The values of `n` calls, which occur `times` times.  Index 0 is the volume, 1 + i is extra column
 * i.  A value of call k is first + k * stride, modulo 2^64. */
struct ti_values {
    uint64_t n, times;
    uint64_t first[1 + TI_EXTRAS_MAX], stride[1 + TI_EXTRAS_MAX];
};

/* The sum of all values of a column; false if it is above 2^64 - 1, or values wrap around 2^64. */
bool ti_values_sum(const struct ti_values *v, uint32_t column, uint64_t *sum);

typedef bool ti_take_values(void *arg, const struct ti_values *v);

/* Call `take` for each of the values, with n = 1.  Of more than TI_PIECES_MOST different ones,
 * neighbours are taken together: the value is then their mean. */
#define TI_PIECES_MOST (1u << 20)
bool ti_values_each(const struct ti_values *v, ti_take_values *take, void *arg);

/*
 * Call `take` for the values of call `i` (shape.h).  Bit 0 of `columns` asks for volumes, bit 1 + i
 * for extra column i; the other columns are 0.  Values of different columns that are given together
 * occur together.  False if the record is malformed, memory is short, or `take` returned false.
 */
bool ti_shape_values(const struct ti_folded *f, uint32_t i, uint32_t columns, ti_take_values *take,
                     void *arg);

#endif
