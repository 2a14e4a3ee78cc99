/*
 * The critical path of a simulation: which rank the end of the simulation waits for, backwards to
 * the beginning, and what its time consists of.  profile/path.h has the paths; this file follows
 * each rank, and decides at the end of a call whether the path goes on along the rank or to a
 * partner.
 *
 * - A message that the call waited for leads to its sender, at the time at which it handed the
 *   message to the network, or, if the receive was posted later, to the point where that was done.
 *   Messages below smpi/async-small-thresh do not need the receive, so they lead to the sender.
 * - A collective leads to the last rank that came among those that the rank depends on by operation
 *   and root: the root, where it sends to all; on the root, all ranks, where all send to it; else
 *   all ranks.  Messages within collectives are not followed.
 * - If the call completes several messages, the last one that it really waited for counts.
 *
 * At the end SimGrid is asked how long each kind of message takes alone, and how that depends on
 * bandwidth.  The rest of its time on the path is contention.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_CRITICAL_H
#define TI_REPLAY_BRIDGE_REPLAYER_CRITICAL_H

#include "replay-bridge/replayer/profile/partners.h"
#include "replay-bridge/replayer/profile/waiting.h"

struct ti_critical;

/* For `np` ranks.  `receive_overhead` is the text of SMPI's setting smpi/or, or NULL for none. Ends
 * the program if out of memory, as all functions here do. */
struct ti_critical *ti_critical_new(int64_t np, const char *receive_overhead);
void ti_critical_free(struct ti_critical *c); /* NULL is fine */

struct ti_path_set *ti_critical_paths(struct ti_critical *c);

/* Rank `rank`, which runs on `host` (ti_engine_host()), starts its first event. */
void ti_critical_starts(struct ti_critical *c, int64_t rank, void *host, double now);

/* The rank of the place has done `what` (profile/path.h) there until now. */
void ti_critical_goes(struct ti_critical *c, const struct ti_path_place *at, int32_t what,
                      double now);

/* The path of the rank to this point within a call: a new reference. */
struct ti_path *ti_critical_here(struct ti_critical *c, const struct ti_path_place *at, double now);

/* The rank's call completes a message or a collective.  Takes the references in `came`. */
void ti_critical_came(struct ti_critical *c, int64_t rank, const struct ti_came *came);

/* The rank's probe has found a message of the sender with `path`, which is borrowed. */
void ti_critical_probed(struct ti_critical *c, int64_t rank, struct ti_path *path);

/* The rank's call, which began at `call`, ends now. */
void ti_critical_leaves(struct ti_critical *c, const struct ti_path_place *at, double call,
                        double now);

/* The rank ends. */
void ti_critical_ends(struct ti_critical *c, int64_t rank, double now);

/* After all ranks have ended: the path to the latest end, as an object with time_s, rank (the one
 * that ended last) and parts, a list with rank, operation, site, loop (its number, if it is in
 * one), computing_s, latency_s, bandwidth_s, overhead_s, contention_s, start_s (before the start of
 * the job) and collective_s (which part of latency_s and bandwidth_s is of collectives).  Spends
 * simulated time.  A new reference. */
json_t *ti_critical_json(struct ti_critical *c, const struct ti_call_site *site);

#endif
