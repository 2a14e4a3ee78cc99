/*
 * Causes (--causes): the critical path of a simulation, what its time consists of, how the
 * simulated time depends on the platform, and what would help most.
 *
 * Without an activity of T seconds on the critical path, the rest of the path remains, so the
 * simulation cannot be more than T seconds shorter.  It may be less: then another path is critical.
 */
#ifndef TI_REPLAY_BRIDGE_CAUSES_H
#define TI_REPLAY_BRIDGE_CAUSES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "callsite/symbolizer.h"

/*
 * Analyses a profile, which has "path" (replayer/critical.h), "ranks" and "loops"
 * (with names, see call_sites.h).
 *
 *   scales    bursts take less time on faster hosts
 *   balances  all ranks are of one job, so work can move between them
 *
 * Returns a new object:
 *
 *   time_s, last_rank  the end of the path
 *   path               computing_s, latency_s, bandwidth_s, overhead_s, contention_s and start_s,
 *                      whose sum is time_s; collective_s, which of latency_s and bandwidth_s is
 *                      estimated
 *   ranks, sites       lists with the same members, by rank, and by operation and call site
 *   loops              a list with the same members and time_s, their sum, of each loop that the
 *                      path comes through, with depth, name, operation and site (of its first
 *                      call) and ranks (of the path in it).  A loop stands before those in it,
 *                      whose times it includes and whose depth is larger.  An entry without a name
 *                      is what is in no loop: those of depth 0 add up to the path.  Loops of the
 *                      same name within the same loop are one, whatever their ranks, if their call
 *                      sites are known.  Empty if the traces have no loops
 *   sensitivities      speed_s, latency_s, bandwidth_s: derivatives of the time with respect to the
 *                      logarithm of each, so 1 % more changes the time by 0.01 of it
 *   helps              ten objects at most, the best first: what, at_most_s, at_most (share of the
 *                      time); for a call site also operation, site and ranks (ranges)
 */
json_t *ti_causes(const json_t *profile, bool scales, bool balances);

/* Prints the result.  Call sites are named by `z`.  `width`: see common/table.h. */
void ti_causes_print(const json_t *causes, struct ti_symbolizer *z, int width, FILE *f);

/* Prints who waits for whom: the ten longest kinds of waiting in `waits`
 * (replayer/profile/waiting.h), each with its ranks.  On a terminal
 * the matrix of all `np` ranks is drawn. */
void ti_waits_print(const json_t *waits, int64_t np, struct ti_symbolizer *z, int width, FILE *f);

#endif
