/*
 * Bursts: how much a burst of a trace is to a replay.
 */
#ifndef TI_BURSTS_H
#define TI_BURSTS_H

#include "formats/source.h"

/* The replay of bursts. */
struct ti_bursts {
    enum {
        TI_BURSTS_VOLUME,  /* the volume */
        TI_BURSTS_THREADS, /* a volume of all threads, on `cores` cores: its share of a core, or
                            * what the busiest thread did (TI_EXTRA_LONGEST) where that is more */
        TI_BURSTS_TIMES,   /* as long as they were measured, on any host (TI_EXTRA_BURST) */
        TI_BURSTS_NOTHING  /* no time at all: infinitely fast processors */
    } as;
    int64_t cores;
};

/* Checks that every rank of `s` has the column that `bursts` needs.  TI_ERR_INPUT names a rank
 * that lacks it.  (A column that ends in the middle of a trace is found by ti_bursts_take().) */
ti_status ti_bursts_check(struct ti_source *s, const struct ti_bursts *bursts, struct ti_err *err);

/* The column of `r` that `bursts` needs, for ti_bursts_take(); has it read, too.  To be called
 * before the first event is read. */
int ti_bursts_column(struct ti_reader *r, const struct ti_bursts *bursts);

/* The burst before `ev`, which is event `index` of `rank` in `s`: instructions, or nanoseconds with
 * TI_BURSTS_TIMES.  TI_ERR_INPUT if the trace does not say. */
ti_status ti_bursts_take(const struct ti_bursts *bursts, int column, const struct ti_event *ev,
                         const struct ti_source *s, int64_t rank, uint64_t index, uint64_t *out,
                         struct ti_err *err);

#endif
