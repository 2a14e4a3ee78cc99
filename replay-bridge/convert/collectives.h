/*
 * Collectives as point-to-point messages, for a target without collectives (GOAL).  Each collective
 * has one algorithm:
 *
 *   barrier                    dissemination
 *   bcast, reduce              binomial tree
 *   allreduce                  recursive doubling; ranks beyond a power of two through a partner
 *   gather, scatter            directly to, or from, the root, in the order of ranks
 *   allgather                  ring
 *   alltoall, reduce_scatter   pairwise exchange: rank + 1 and rank - 1, then 2, ...
 *   scan, exscan               chain
 *
 * The v and w forms use the same algorithms.  A rank's block for itself and the arithmetic of
 * reductions cost nothing.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_COLLECTIVES_H
#define TI_REPLAY_BRIDGE_CONVERT_COLLECTIVES_H

#include "event/event.h"

/* One rank's share of a collective call. */
struct ti_expansion {
    const struct ti_event *ev; /* a collective of one group; no neighbourhood collective */
    int64_t me, n;             /* this rank's number in the group, and the size of the group */

    /* Send to rank `to` of the group and receive from rank `from`, both at the same time; -1: no
     * such message.  Both messages complete before the next exchange begins. */
    void (*exchange)(void *arg, int64_t to, int64_t bytes, int64_t from, int64_t bytes_from);
    void *arg;
};

/* Call p->exchange() for each step of the rank's share, in order. */
void ti_expand(const struct ti_expansion *p);

#endif
