/*
 * Messages of ti-gather: progress, ranks in trouble, summary.
 */
#ifndef TI_GATHER_REPORT_H
#define TI_GATHER_REPORT_H

#include "bundle/run.h"
#include "common/talk.h"
#include "gather/fetch/fetch.h"
#include "gather/options.h"

/* Bytes at two earlier times, for a rate; starts zeroed. */
struct ti_report_rate {
    struct {
        double at;
        int64_t bytes;
    } old, recent;
};

/*
 * Sets *out, with a note such as "11.2 MiB/s, 45 of 64 ranks, 3 of 8 nodes done, slowest: n3 +2",
 * where n3 is connected directly and two unfinished nodes are behind it.  `now` in seconds.  The
 * note is cut to `room`.
 */
void ti_report_progress(struct ti_report_rate *rate, const struct ti_fetch *f, double now,
                        struct ti_progress *out, char *note, size_t room);

/* Shows that; `arg` is a struct ti_report_rate. */
void ti_report_tick(const struct ti_fetch *f, void *arg);

/* Prints ranks in trouble, ignored files and differences between ranks; with `verbose` all ranks.
 */
void ti_report_ranks(const struct ti_run *run, bool verbose);

/* Prints what was fetched, and how long each phase took. */
void ti_report_fetched(const struct ti_fetch *f, const struct ti_tree_cost *predicted,
                       bool verbose);

/* Prints on stdout what the bundle holds, as a line or as JSON.  `tree` is taken over; may be NULL.
 * `run` is NULL if no trace is here: in a plan, or because none could be fetched.  `seconds`: since
 * ti-gather was started. */
void ti_report_summary(const struct ti_run *run, const struct ti_gather_options *o, int64_t bytes,
                       int64_t removed, double seconds, const struct ti_fetch *f, json_t *tree);

#endif
