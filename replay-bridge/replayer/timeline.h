/*
 * Timelines of a simulation: what each rank does when, for viewers (Paje's format) or for
 * programs (CSV).
 *
 * Paje: pajeng, vite and others show it.  A container for each rank, whose state is "computing" or
 * the text of an operation.  Its lines are in the order of time, as the format wants it.
 *
 * CSV: a line of titles, then one for each burst and each call, in the order in which they end:
 * rank, event in the trace, start and end in seconds, "computing" or the operation, seconds of it
 * in which the rank waited for a partner, call site.
 */
#ifndef TI_TIMELINE_H
#define TI_TIMELINE_H

#include <stdint.h>

#include "common/err.h"

struct ti_timeline;

/* TI_ERR_USAGE unless the name ends with .paje, .trace or .csv, which is what is written. */
ti_status ti_timeline_check(const char *path, struct ti_err *err);

/* A new file for `np` ranks.  TI_ERR_IO. */
ti_status ti_timeline_open(const char *path, int64_t np, struct ti_timeline **out,
                           struct ti_err *err);

/* A rank begins with its first event; in Paje's format, it has no state before. */
void ti_timeline_rank_starts(struct ti_timeline *t, int64_t rank, double now);

/* It has computed from `start` to `end`, in front of event `index`, a call from `site`. */
void ti_timeline_computes(struct ti_timeline *t, int64_t rank, double start, double end,
                          uint64_t index, const char *site);

/* It enters a call now, and has left it. */
void ti_timeline_enters(struct ti_timeline *t, int64_t rank, double now, uint32_t op);
void ti_timeline_leaves(struct ti_timeline *t, int64_t rank, double start, double end,
                        double waiting, uint32_t op, uint64_t index, const char *site);
void ti_timeline_rank_ends(struct ti_timeline *t, int64_t rank, double now);

/* Ends and releases it.  TI_ERR_IO if anything could not be written. */
ti_status ti_timeline_close(struct ti_timeline *t, struct ti_err *err);

#endif
