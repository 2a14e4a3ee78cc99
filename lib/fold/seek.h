/*
 * Seeking in a folded trace: to an event by its number, or by what was spent up to it.
 *
 * Nothing before the event is decoded.  The way down the shape takes, for each loop, a binary
 * search over its trips; each step adds up columns by runs (ti_column_sum()).  So the cost depends
 * on the record, and on the logarithm of the trip counts.
 *
 * Where values are drawn from histograms (event/quality.h), those before the event are taken to
 * be spread evenly over the trace, and those after it are others than sequential reading gives.
 */
#ifndef TI_FOLD_SEEK_H
#define TI_FOLD_SEEK_H

#include "fold/decode.h"
#include "fold/record_layout.h"

/* A place in a trace: just before an event. */
struct ti_place {
    uint64_t event; /* its number, from 0 */
    /* sums over all events before it, modulo 2^64: volume, then extra columns */
    uint64_t before[1 + TI_EXTRAS_MAX];
    /* the loops around it, from the outermost to the innermost */
    uint32_t depth;
    struct ti_trip {
        uint32_t loop;        /* node of the shape (shape.h) */
        uint64_t trip, trips; /* from 1; of this pass of the loop */
    } loop[TI_SHAPE_DEPTH];
};

/*
 * Go to an event, so that ti_folded_next() gives it.
 *
 *   _event  its number
 *   _sum    the first event with which the sum of these columns, over all events up to it, reaches
 *           `value`.  Bit 0 of `columns` is the volume, bit 1 + i extra column i
 *
 * Returns 1; 0 if the trace ends before, and its place is as it was; -1 if the record is malformed,
 * memory is short, values are negative or add up to more than 2^62, or far more would have to be
 * read than a real trace needs.  After -1, the trace can only be closed.
 */
int ti_folded_seek_event(struct ti_folded *f, uint64_t event, struct ti_place *out);
int ti_folded_seek_sum(struct ti_folded *f, uint32_t columns, uint64_t value, struct ti_place *out);

#endif
