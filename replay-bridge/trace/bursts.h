/*
 * Bursts: the amount that a replay computes, or the time that it waits, for each burst of a trace.
 *
 * Use, for one rank: ti_bursts_begin() with the rank's reader, with noise ti_bursts_place(),
 * ti_bursts_next() for each event in the order of the trace, ti_bursts_end().
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_BURSTS_H
#define TI_REPLAY_BRIDGE_TRACE_BURSTS_H

#include "bundle/source.h"
#include "config/rates.h"
#include "replay-bridge/trace/noise.h"

/* How bursts are replayed. */
struct ti_bursts {
    enum {
        TI_BURSTS_VOLUME,  /* the volume */
        TI_BURSTS_THREADS, /* for a volume of all threads: the larger of volume / `cores` and the
                            * volume of the busiest thread (TI_EXTRA_LONGEST) */
        TI_BURSTS_TIMES,   /* the measured duration, on any host (TI_EXTRA_BURST) */
        TI_BURSTS_RATES,   /* the volume, scaled so that it takes volume / rate seconds on a host
                            * of the reference speed of `rates` */
        TI_BURSTS_NOTHING  /* no time at all: infinitely fast processors */
    } as;
    int64_t cores;
    const struct ti_rates *rates; /* for TI_BURSTS_RATES; owned by the caller, like `rates_path` */
    const char *rates_path;       /* file of `rates`, for messages */
    struct ti_noise noise;        /* of amounts; not for TI_BURSTS_TIMES and TI_BURSTS_NOTHING */
    const char *const *host;      /* of each rank, for ti_lower() with noise; else NULL */
};

/* Checks that the bursts of `s` can be replayed as `bursts` says.  Every rank must have the column
 * that is needed.  With rates, the unit of its volumes must be that of the rates, where both are
 * known.  TI_ERR_INPUT names the first rank that fails.  A column that ends in the middle of a
 * trace is only found by ti_bursts_next(). */
ti_status ti_bursts_check(struct ti_source *s, const struct ti_bursts *bursts, struct ti_err *err);

/* The bursts of one rank.  Private to bursts.c. */
struct ti_burst_taker {
    const struct ti_bursts *bursts;
    const struct ti_source *s;
    int64_t rank;
    const struct ti_reader *r;
    int column;        /* extra column of `r` that `bursts` needs; -1: none */
    const struct ti_rate **site_rate; /* indexed by site number; NULL: not looked up yet; an entry
                                         without a rate: the site has none */
    size_t sites_room;
    double rest;    /* rounding remainder of the last scaled amount, added to the next */
    bool noisy;     /* ti_bursts_place() was called */
    int64_t core;   /* rank of the simulation */
    double lasting; /* factor of this rank */
};

/* Prepares `t` for `rank` of `s`, and makes the reader `r` read the column that `bursts` needs.
 * Call this before the first event of `r` is read.  `bursts`, `s` and `r` must outlive `t`. */
void ti_bursts_begin(struct ti_burst_taker *t, const struct ti_bursts *bursts,
                     const struct ti_source *s, int64_t rank, struct ti_reader *r);

/* Applies the noise of `bursts` to a rank that is rank `core` of the simulation, on the host
 * `host`.  Call this after ti_bursts_begin(); without it there is no noise. */
void ti_bursts_place(struct ti_burst_taker *t, int64_t core, const char *host);

/*
 * The burst before `ev`, in *out: the amount in the counter's unit, or nanoseconds with
 * TI_BURSTS_TIMES.  `ev` must be the last event that the reader returned; `index` is its number.
 * With TI_BURSTS_RATES or noise, the rounding remainder of a burst is added to the next one, so
 * that the sum over a rank is exact.  TI_ERR_INPUT if the trace lacks the value, or it exceeds 64
 * bits.
 */
ti_status ti_bursts_next(struct ti_burst_taker *t, const struct ti_event *ev, uint64_t index,
                         uint64_t *out, struct ti_err *err);

/* The number of cores that compute in the burst before `ev`, on average: more than 1 only with
 * TI_BURSTS_THREADS, of a burst that several threads share. */
double ti_bursts_cores(const struct ti_burst_taker *t, const struct ti_event *ev);

/* Frees the memory of a taker; only TI_BURSTS_RATES allocates any. */
void ti_bursts_end(struct ti_burst_taker *t);

#endif
