/* Bisect a set of ranks into two sets of given sizes, so that the weight of the pairs between
 * them is small. */
#ifndef TI_ACQUIRE_PLAN_BISECT_H
#define TI_ACQUIRE_PLAN_BISECT_H

#include "acquire/plan/order.h"

struct ti_bisect;

/* Workspace for any subset of the graph's ranks; NULL when out of memory. */
struct ti_bisect *ti_bisect_new(const struct ti_graph *g);
void ti_bisect_free(struct ti_bisect *b); /* NULL is fine */

/* Reorder rank[0] ... rank[n - 1] so that the first `left` are one set and the rest the other;
 * within a set the order is kept.  The cut is never larger than before. */
void ti_bisect(struct ti_bisect *b, int32_t *rank, int64_t n, int64_t left);

#endif
