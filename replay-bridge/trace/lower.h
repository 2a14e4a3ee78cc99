/*
 * Lowering: writes a rank's events as the text actions of SimGrid's stock replay.
 *
 * A stock "wait source destination tag" must find exactly one request.  So every message gets a tag
 * that no other outstanding request between its two ranks has (see lint.h), and partners are world
 * ranks.  A burst becomes "compute" with the volume as flops, or "sleep" (struct ti_bursts). Bursts
 * of consecutive events without an action are added up.  Integers are printed in full.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_LOWER_H
#define TI_REPLAY_BRIDGE_TRACE_LOWER_H

#include <stdio.h>

#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/lint.h"

/* The target of stock replay: which steps it can express exactly. */
extern const struct ti_target ti_lower_target;

/* Appends the actions of `rank` to `out`, and adds their number to *actions. */
ti_status ti_lower_rank(struct ti_source *s, struct ti_lint *lint, int64_t rank,
                        const struct ti_bursts *bursts, FILE *out, uint64_t *actions,
                        struct ti_err *err);

/*
 * Writes the action files of all ranks, and the list of these files (TI_SIM_TRACES), into the
 * scratch directory.  With `merged`, a single file holds slices of all ranks in turn: for the case
 * that a process cannot open one file for each rank (ti_sim_can_open()).
 */
ti_status ti_lower(struct ti_source *s, struct ti_lint *lint, const struct ti_bursts *bursts,
                   bool merged, uint64_t *actions, struct ti_err *err);

#endif
