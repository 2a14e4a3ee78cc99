/*
 * Topologies of communicators: the neighbours that are the partners of neighbour collectives.
 */
#ifndef TI_SOUND_NEIGHBOURS_H
#define TI_SOUND_NEIGHBOURS_H

#include "sound/comms.h"

struct ti_neighbours {
    int64_t ndims; /* Cartesian grids only, whose sources and destinations are equal */
    int64_t *dims, *periods;
    int64_t nsources, ndestinations;
    int64_t *source, *destination; /* ranks, in the topology's order; -1: no neighbour there */
};

/* A rank's topologies, by communicator. */
struct ti_neighbourhoods {
    struct ti_map known;          /* (communicator's number at the rank) -> which */
    struct ti_neighbours **which; /* copies of a communicator share one */
    size_t which_cap;
    struct ti_neighbours **list;
    size_t n, cap;
    int64_t entries;
    bool no_memory; /* memory was short; no result since is valid */
};

/* `ev` made communicator `made`, which has number `index` on the rank: remember its topology, if it
 * has one.  Invalid topologies are ignored.  When memory is short, t->no_memory is set. */
void ti_neighbours_learn(struct ti_neighbourhoods *t, const struct ti_event *ev, int64_t index,
                         const struct ti_local_comm *made);

/* The topology of communicator `index`; NULL if it has none. */
const struct ti_neighbours *ti_neighbours_of(const struct ti_neighbourhoods *t, int64_t index);

void ti_neighbourhoods_free(struct ti_neighbourhoods *t);

#endif
