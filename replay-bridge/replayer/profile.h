/*
 * Profile of a simulation: the times that each rank spends computing, communicating and waiting,
 * also by operation and call site, and who waits for whom.  The times of each event are written
 * here too (timeline/intervals.h), and the critical path is followed (critical.h).
 *
 * All functions do nothing if p->profile is NULL: without --profile and --intervals, and in a live
 * run, whose ranks are separate processes.  The actions of the rank are passed on to steady.h.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_H

#include "replay-bridge/replayer/replayer.h"

/* Makes p->profile if the options ask for it.  Call it after ti_engine_start(). */
void ti_profile_start(struct ti_replayer *p);
void ti_profile_free(struct ti_replayer *p);

/* ---- the loop: the current event begins, its burst has ended, its call has ended ---- */

void ti_profile_event(struct ti_replayer *p);
void ti_profile_burst(struct ti_replayer *p);
void ti_profile_call(struct ti_replayer *p);

/* The rank has ended.  If `last` is true, it was the last one, and the file of --profile is
 * written. */
void ti_profile_end(struct ti_replayer *p, bool last);

/* ---- actions of the rank: called before the MPI function, unless stated otherwise ---- */

/* Gives communicator `c`, described by `made`, a number that is the same on all its ranks. */
void ti_profile_comm(struct ti_replayer *p, struct ti_replay_comm *c, const struct ti_comm *made);

/* The same for a window; w->of must be a copy of its communicator. */
void ti_profile_window(struct ti_replayer *p, struct ti_replay_window *w);

/* The rank sends a message of `bytes`; `waits`: the send waits for its receiver.  `peer` and `tag`
 * are the arguments of the MPI function. */
void ti_profile_send(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag,
                     size_t bytes, bool waits);
/* Whether a send of `bytes` by operation `op` waits for its receiver. */
bool ti_profile_waits(const struct ti_replayer *p, uint32_t op, size_t bytes);
void ti_profile_receive(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag);
void ti_profile_probed(struct ti_replayer *p, const struct ti_replay_comm *c, int peer,
                       int tag); /* called after the probe */
/* `bytes`: what the rank sends or receives, the larger. */
void ti_profile_collective(struct ti_replayer *p, struct ti_replay_comm *c,
                           const struct ti_event *ev, int64_t bytes);

/* Moves the messages and collectives registered since the current event began to request `q`: the
 * rank waits for these partners only when the request completes. */
void ti_profile_posted(struct ti_replayer *p, struct ti_replay_request *q);
void ti_profile_completed(struct ti_replayer *p, struct ti_replay_request *q);

/* Whether ti_profile_done() shall be called: for each request, when it is complete. */
bool ti_profile_wants_done(const struct ti_replayer *p);
void ti_profile_done(struct ti_replayer *p, struct ti_replay_request *q);

#endif
