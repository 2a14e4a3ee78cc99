/*
 * Profile of a simulation: how long each rank computes, communicates and waits, and the same for
 * each operation and call site; and the timeline, which has each of these times by itself.
 *
 * The functions here do nothing where p->profile is NULL: without --profile and --timeline, and in
 * a live run, whose ranks are processes that do not know of each other.
 */
#ifndef TI_PROFILE_H
#define TI_PROFILE_H

#include "replay-bridge/replayer/replayer.h"

/* Makes p->profile if the options want it.  `p` must have been started. */
void ti_profile_start(struct ti_replayer *p);
void ti_profile_free(struct ti_replayer *p);

/* ---- the loop: the current event begins, its burst has ended, its call has ended ---- */

void ti_profile_event(struct ti_replayer *p);
void ti_profile_burst(struct ti_replayer *p);
void ti_profile_call(struct ti_replayer *p);

/* The rank has ended.  On the last one, which `last` tells, the file of --profile is written. */
void ti_profile_end(struct ti_replayer *p, bool last);

/* ---- what the rank does: called before the MPI function, unless said otherwise ---- */

/* Numbers the communicator that `made` describes alike on all of its ranks. */
void ti_profile_comm(struct ti_replayer *p, struct ti_replay_comm *c, const struct ti_comm *made);

/* The same for a window, whose `of` is a copy of its communicator. */
void ti_profile_window(struct ti_replayer *p, struct ti_replay_window *w);

/* Sends a message; `waits`: not before its receiver is there.  `peer` and `tag` are as the MPI
 * function is given them. */
void ti_profile_send(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag,
                     bool waits);
/* Whether a send of `bytes` by operation `op` waits for its receiver. */
bool ti_profile_waits(const struct ti_replayer *p, uint32_t op, size_t bytes);
void ti_profile_receive(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag);
void ti_profile_probed(struct ti_replayer *p, const struct ti_replay_comm *c, int peer,
                       int tag); /* after it */
void ti_profile_collective(struct ti_replayer *p, struct ti_replay_comm *c,
                           const struct ti_event *ev);

/* What the rank did since the current event began is what the request stands for: nobody is waited
 * for before it completes. */
void ti_profile_posted(struct ti_replayer *p, struct ti_replay_request *q);
void ti_profile_completed(struct ti_replayer *p, struct ti_replay_request *q);

#endif
