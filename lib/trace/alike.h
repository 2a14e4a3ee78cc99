/*
 * Summing up a trace without reading all trips of its loops.
 *
 * A caller reads the events of a rank one by one and keeps sums.  Before each event, it calls
 * ti_alike_leave_out().  Where trips of a loop are alike (fold/trips.h), one of them is read.  If
 * it left the caller's state as it was, except for the sums, then the other trips would do the
 * same, so the caller repeats the sums instead.  Where trips differ but come again in the same
 * order, this is done with periods of several trips.  Loops may be nested.  A trip that changes the
 * state is followed by a few others that are tried; then the loop is read trip by trip, and so are
 * trips that are not alike.
 */
#ifndef TI_TRACE_ALIKE_H
#define TI_TRACE_ALIKE_H

#include <stdbool.h>

#include "common/err.h"
#include "trace/reader.h"

/* The functions of a caller.  A mark is the state that the caller remembers at the begin of a trip;
 * there is one mark for each depth of loops. */
struct ti_alike_user {
    /* How much a mark has to remember: a trip of fewer events is not worth a mark. */
    size_t (*extent)(void *arg);

    /* Remember the state.  False when memory is short. */
    bool (*remember)(void *arg, uint32_t depth);

    /* Whether the state is that of the mark, except for sums. */
    bool (*steady)(void *arg, uint32_t depth);

    /* Add `times` times what was counted since the mark, which is *p, and let the reader leave out
     * so many: ti_reader_leave_out().  False if the record is malformed, or memory is short (errno
     * is ENOMEM). */
    bool (*repeat)(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p);
};

struct ti_alike {
    const struct ti_alike_user *user;
    void *arg;
    /* of a caller that reads a second trace at the same time, event by event, with the same loops
     * (ti_shape_same_loops()): trips are alike if they are so in both */
    struct ti_reader *twin;
    bool volumes;                 /* volumes must be alike, too */
    struct ti_alike_level *level; /* by depth */
    size_t n, cap;
    uint64_t wait;     /* trips before another search for a period */
    uint64_t left_out; /* events */
};

/* Before the next event of `r`.  TI_ERR_INPUT if the record is malformed, TI_ERR_IO when memory is
 * short. */
ti_status ti_alike_leave_out(struct ti_alike *a, struct ti_reader *r, struct ti_err *err);

/* Whether there is a mark; forget all of them, because the caller did. */
bool ti_alike_marked(const struct ti_alike *a);
void ti_alike_forget(struct ti_alike *a);
void ti_alike_free(struct ti_alike *a);

#endif
