/*
 * Collectives as messages, for targets that have none: one algorithm each.
 *
 *   barrier                    dissemination
 *   bcast, reduce              binomial tree
 *   allreduce                  recursive doubling; ranks beyond a power of two by a partner
 *   gather, scatter            directly from, or to, the root, in the order of ranks
 *   allgather                  ring
 *   alltoall, reduce_scatter   pairwise exchange: rank + 1 and rank - 1, then 2, ...
 *   scan, exscan               chain
 *
 * The v and w forms are as those without.  Blocks to oneself and the arithmetic of reductions
 * take nothing.
 */
#ifndef TI_COLLECTIVES_AS_MESSAGES_H
#define TI_COLLECTIVES_AS_MESSAGES_H

#include "formats/event.h"

/* One rank's part. */
struct ti_expansion {
    const struct ti_event *ev; /* of a collective within one group, not of neighbours */
    int64_t me, n;             /* rank in it, and its ranks */

    /* A message to rank `to`, one from rank `from` (-1: none), at once; the next call begins when
     * both are through. */
    void (*exchange)(void *arg, int64_t to, int64_t bytes, int64_t from, int64_t bytes_from);
    void *arg;
};

void ti_expand(const struct ti_expansion *p);

#endif
