/*
 * Timelines of a simulation: the activity of each rank over time, in Paje's format or as CSV.
 *
 * Paje: for viewers such as pajeng and vite.  Each rank is a container, whose state is "computing"
 * or the name of an operation.  Lines are in the order of time, as the format demands.
 *
 * CSV: a header, then a line for each burst and each call, in the order in which they end: rank,
 * event number, start and end in seconds, "computing" or the operation, seconds spent waiting for
 * partners, call site.  ti-replay adds the source line of the call site (call_sites.h).
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_TIMELINE_H
#define TI_REPLAY_BRIDGE_REPLAYER_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_timeline;

/* Checks the name of the file, whose ending selects the format: .paje, .trace or .csv.
 * TI_ERR_USAGE. */
ti_status ti_timeline_check(const char *path, struct ti_err *err);

/* Whether a timeline of this name, which was checked, has call sites: it is CSV. */
bool ti_timeline_has_sites(const char *path);

/* Writes a text as a value of CSV, in quotes where it needs them. */
void ti_timeline_put_text(FILE *f, const char *text);

/* Creates the file for `np` ranks.  TI_ERR_IO. */
ti_status ti_timeline_open(const char *path, int64_t np, struct ti_timeline **out,
                           struct ti_err *err);

/* A rank starts its first event at time `now`, in seconds as all times here.  In Paje's format it
 * has no state before. */
void ti_timeline_rank_starts(struct ti_timeline *t, int64_t rank, double now);

/* The rank has computed from `start` to `end`, before event `index`, a call from `site`. */
void ti_timeline_computes(struct ti_timeline *t, int64_t rank, double start, double end,
                          uint64_t index, const char *site);

/* The rank enters a call of operation `op` now; the rank has left it, after `waiting` seconds of
 * waiting. */
void ti_timeline_enters(struct ti_timeline *t, int64_t rank, double now, uint32_t op);
void ti_timeline_leaves(struct ti_timeline *t, int64_t rank, double start, double end,
                        double waiting, uint32_t op, uint64_t index, const char *site);
void ti_timeline_rank_ends(struct ti_timeline *t, int64_t rank, double now);

/* Completes the file and frees `t`.  TI_ERR_IO if anything could not be written. */
ti_status ti_timeline_close(struct ti_timeline *t, struct ti_err *err);

#endif
