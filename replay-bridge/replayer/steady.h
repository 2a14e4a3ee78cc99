/*
 * Leaving out what is steady (--steady): trips of a loop that do what those before them did, in the
 * same time.
 *
 * Where every rank is in a loop whose trips are alike, each rank notes the simulated time of the
 * begin of each trip.  When these times have converged (converge.h), all ranks leave out the same
 * number of trips, each at the begin of its next one.  The time of these trips is added to the
 * clock that is reported.  No rank sleeps, so what is under way stays under way.
 *
 * Trips that differ, but come again in the same order, are noted and left out in periods of
 * several.  All that is said of a trip is then true of such a period.
 *
 * The replay with trips left out is that of a trace whose loop has fewer trips.  This trace is
 * sound, because each trip is closed: over one trip of each rank, all that is sent on a channel is
 * received on it, all members of a communicator call its collectives equally often, and each rank
 * has the same requests at the end as at the begin.  It does not matter that ranks are at different
 * trips, or begin them at different places of the program.  Whatever else a trip does, such as
 * making a communicator, keeps it from being left out.
 *
 * All ranks of a simulation are in one process and share one decision.  All functions do nothing if
 * p->steady is NULL: without --steady, and in a live run.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_STEADY_H
#define TI_REPLAY_BRIDGE_REPLAYER_STEADY_H

#include "replay-bridge/replayer/profile/partners.h"
#include "replay-bridge/replayer/replayer.h"

/* Makes p->steady if setup->steady is set.  Call it after ti_engine_start(). */
void ti_steady_start(struct ti_replayer *p);

/* The rank has ended.  If `last` is true, it was the last one, at `end` on the clock that is
 * reported: writes setup->steady_file, unless it is NULL. */
void ti_steady_end(struct ti_replayer *p, bool last, double end);

/* Call before each event is read; p->r and p->index go on if trips are left out. */
void ti_steady_trip(struct ti_replayer *p);

/* ---- actions of the rank ---- */

/* The rank begins the current event. */
void ti_steady_event(struct ti_replayer *p);

/* The rank sends, or receives, a message. */
void ti_steady_message(struct ti_replayer *p, const struct ti_message_key *key, bool sends);

/* The rank receives a message of which the sender or the tag is not known. */
void ti_steady_wild(struct ti_replayer *p);

/* The rank, which is member `own` of `members` in communicator `comm`, calls a collective. */
void ti_steady_collective(struct ti_replayer *p, uint64_t comm, uint32_t op, int64_t own,
                          int64_t members);

/* ---- results ---- */

/* For how many trips the current event stands in a profile: more than 1 for a trip that also stands
 * for those that were left out. */
uint64_t ti_steady_weight(const struct ti_replayer *p);

/* Simulated seconds that were left out so far. */
double ti_steady_left_out_s(const struct ti_replay_setup *setup);

#endif
