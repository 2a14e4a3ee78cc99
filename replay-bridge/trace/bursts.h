/*
 * Bursts: how much a burst of a trace is to a replay.
 *
 * A rank's bursts are taken one by one, in the order of its events: ti_bursts_begin() with the
 * rank's reader, ti_bursts_take() for each event, ti_bursts_end().
 */
#ifndef TI_BURSTS_H
#define TI_BURSTS_H

#include "formats/rates.h"
#include "formats/source.h"

/* The replay of bursts. */
struct ti_bursts {
    enum {
        TI_BURSTS_VOLUME,  /* the volume */
        TI_BURSTS_THREADS, /* a volume of all threads, on `cores` cores: its share of a core, or
                            * what the busiest thread did (TI_EXTRA_LONGEST) where that is more */
        TI_BURSTS_TIMES,   /* as long as they were measured, on any host (TI_EXTRA_BURST) */
        TI_BURSTS_RATES,   /* the volume, scaled so that it takes volume / rate seconds on a host
                            * of the reference speed of `rates` */
        TI_BURSTS_NOTHING  /* no time at all: infinitely fast processors */
    } as;
    int64_t cores;
    const struct ti_rates *rates; /* of TI_BURSTS_RATES; the caller's, as is `rates_path` */
    const char *rates_path;       /* its file, for messages */
};

/* Checks that `s` can be replayed so: every rank has the column that `bursts` needs, and the unit
 * of volumes that the rates are of, where both are known.  TI_ERR_INPUT names a rank that has not.
 * (A column that ends in the middle of a trace is found by ti_bursts_take().) */
ti_status ti_bursts_check(struct ti_source *s, const struct ti_bursts *bursts, struct ti_err *err);

/* The bursts of one rank.  Private to bursts.c. */
struct ti_burst_taker {
    const struct ti_bursts *bursts;
    const struct ti_source *s;
    int64_t rank;
    const struct ti_reader *r;
    int column;        /* of `r` that `bursts` needs; -1: none */
    double *site_rate; /* by the number of a site; 0: not looked up, -1: it has no rate */
    size_t sites_room;
    double rest; /* of a burst's scaled volume, which is no whole number */
};

/* Begins with `rank` of `s`, before the first event of its reader `r` is read; has the column read
 * that `bursts` needs.  `bursts`, `s` and `r` must outlive `t`. */
void ti_bursts_begin(struct ti_burst_taker *t, const struct ti_bursts *bursts,
                     const struct ti_source *s, int64_t rank, struct ti_reader *r);

/*
 * The burst before `ev`, which is event `index` of the rank and the last that its reader gave:
 * instructions, or nanoseconds with TI_BURSTS_TIMES.  With TI_BURSTS_RATES, what is rounded off
 * one burst is added to the next, so that the sum of a rank's bursts is right.
 * TI_ERR_INPUT if the trace does not say, or the burst is more than 64 bits count.
 */
ti_status ti_bursts_take(struct ti_burst_taker *t, const struct ti_event *ev, uint64_t index,
                         uint64_t *out, struct ti_err *err);

/* Frees what a taker keeps, which is nothing but with TI_BURSTS_RATES. */
void ti_bursts_end(struct ti_burst_taker *t);

#endif
