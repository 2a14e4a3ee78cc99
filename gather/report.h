/*
 * What ti-gather says: while it fetches, of ranks in trouble, and in the end.
 */
#ifndef TI_REPORT_H
#define TI_REPORT_H

#include "gather/fetch.h"
#include "gather/options.h"
#include "gather/run.h"

/* The bytes of a while ago, so that there is a rate; starts zeroed. */
struct ti_report_rate {
    struct {
        double at;
        int64_t bytes;
    } old, recent;
};

/*
 * "12.3 of 64.0 MiB, 11.2 MiB/s, 45 of 64 ranks, 3 of 8 nodes done, 5 s left, slowest: n3 +2",
 * where n3 is reached from here and two others through it.  What does not fit in `columns`
 * is left out.  `now` in seconds.  Returns buf.
 */
char *ti_report_progress(struct ti_report_rate *rate, const struct ti_fetch *f, double now,
                         int columns, char *buf, size_t room);

/* For struct ti_fetch_settings: the same as a progress line; `arg` is a struct ti_report_rate. */
void ti_report_tick(const struct ti_fetch *f, void *arg);

/* Ranks: each of them if `verbose`; those in trouble, files that were ignored, and what differs. */
void ti_report_ranks(const struct ti_run *run, bool verbose);

/* What was fetched, and how long each part of it took. */
void ti_report_fetched(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                       bool verbose);

/* On stdout: what the bundle holds, as a line or as JSON.  `tree` is taken over; NULL.  `run`
 * is NULL where no trace is here: in a plan, or because none could be had.  seconds: since
 * ti-gather was started. */
void ti_report_summary(const struct ti_run *run, const struct ti_gather_options *o, int64_t bytes,
                       int64_t removed, double seconds, const struct ti_fetch *f, json_t *tree);

#endif
