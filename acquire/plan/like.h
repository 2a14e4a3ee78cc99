/*
 * --like: the communication graph of a former run of the same program.  An edge weighs what two
 * ranks exchanged:
 *
 *   messages             to their receivers; also puts, gets and the like
 *   neighbour and vector collectives (neighbor_*, alltoallv, alltoallw)
 *                        each block to the rank that receives it
 *   alltoall             on a communicator with fewer than all ranks: each block likewise
 *   other collectives    on such a communicator: what a rank gives, to the next member, as if the
 *                        members formed a chain
 *   collectives of all   nothing: in any order of ranks they cross all nodes
 *
 * A weight is the recorded size in bytes plus TI_MESSAGE_BYTES for each message.
 */
#ifndef TI_ACQUIRE_PLAN_LIKE_H
#define TI_ACQUIRE_PLAN_LIKE_H

#include "acquire/plan/order.h"
#include "acquire/plan/place.h"

struct ti_like {
    struct ti_graph graph;
    uint64_t messages, calls; /* that were counted */
    int64_t missing;          /* ranks whose trace is missing or incomplete */
    char *application;        /* by the manifest; NULL: unknown */
};

/*
 * Read a bundle or run directory.  TI_ERR_INPUT when `path` is neither, is damaged, or has not np
 * ranks.  Release with ti_like_free().
 */
ti_status ti_like_read(const char *path, int64_t np, struct ti_like *out, struct ti_err *err);
void ti_like_free(struct ti_like *like);

/* Order the ranks of a placement on the nodes of `sites`. */
ti_status ti_like_order(const struct ti_like *like, const struct ti_sites *sites,
                        const struct ti_rank_placement *place, struct ti_order *out,
                        struct ti_err *err);

#endif
