/* Cut a set of ranks in two of given sizes, so that little weight is between them. */
#ifndef TI_BISECT_H
#define TI_BISECT_H

#include "acquire/plan/order.h"

struct ti_bisect;

/* Room for any set of the graph's ranks; NULL when memory is short. */
struct ti_bisect *ti_bisect_new(const struct ti_graph *g);
void ti_bisect_free(struct ti_bisect *b); /* NULL is fine */

/* Reorder rank[0] ... rank[n - 1] so that the first `left` and the others are the two
 * sets; within each they stay in their order.  Never worse than as it was. */
void ti_bisect(struct ti_bisect *b, int32_t *rank, int64_t n, int64_t left);

#endif
