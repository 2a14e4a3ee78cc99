/*
 * --like: a former run of the same program, and who talked to whom in it.
 *
 *   messages             to their receivers; so are puts, gets and their like
 *   neighbour and vector collectives (neighbor_*, alltoallv, alltoallw)
 *                        each block to the rank it is for
 *   alltoall             on a communicator that is not of all ranks: likewise
 *   other collectives    there: what a rank gives goes to the next member, which
 *                        is how it would if all stood in a row
 *   collectives of all   nothing: whatever the order, they cross
 *
 * Sizes are those recorded, and TI_MESSAGE_BYTES for each message.
 */
#ifndef TI_LIKE_H
#define TI_LIKE_H

#include "acquire/plan/order.h"
#include "acquire/plan/place.h"

struct ti_like {
    struct ti_graph graph;
    uint64_t messages, calls; /* that it is made of */
    int64_t missing;          /* ranks whose trace is not there, or not whole */
    char *application;        /* as its manifest says; NULL */
};

/*
 * Read the bundle, or run directory, `path`.  TI_ERR_INPUT when it is none, is
 * damaged, or is not of np ranks.  Release with ti_like_free().
 */
ti_status ti_like_read(const char *path, int64_t np, struct ti_like *out, struct ti_err *err);
void ti_like_free(struct ti_like *like);

/* The order for a placement on the nodes of `sites`. */
ti_status ti_like_order(const struct ti_like *like, const struct ti_sites *sites,
                        const struct ti_rank_placement *place, struct ti_order *out,
                        struct ti_err *err);

#endif
