/*
 * Shared by the files of a placement (place.h is the interface).
 *
 *   place.c           the steps in order: limits, slots, policy, groups, sums
 *   place_capacity.c  the capacity of a node, and of all nodes together
 *   place_family.c    the rule that all nodes are of one processor family
 *   place_policy.c    memory, speed, compact
 *   place_refuse.c    requests that contradict themselves or cannot be met
 *   place_options.c   the request from the options of the command line
 *   place_print.c     the plan as a table
 */
#ifndef TI_ACQUIRE_PLAN_PLACE_INTERNAL_H
#define TI_ACQUIRE_PLAN_PLACE_INTERNAL_H

#include "acquire/plan/place.h"

#define TI__UNLIMITED INT64_MAX

/*
 * The load of a node is its ranks / its weight, in units of 2^-90; every policy keeps the
 * highest load low.  Ratios of numbers of ranks below 2^24 and weights up to 2^41 differ by at
 * least 2^-82.  So different ratios remain different loads, and from one load to the next a node
 * gains at most one rank.
 */
__extension__ typedef unsigned __int128 ti__load;
#define TI__LOAD_BITS  90
#define TI__WEIGHT_MAX (INT64_C(1) << 41)

/* A node that may get ranks. */
struct ti__candidate {
    int64_t node; /* index in the sites */
    int site;
    int64_t max_ranks;  /* that it can hold, at most np; with `fold`: exactly what it has if used */
    int64_t capacity;   /* ranks that it could hold, whatever np is */
    int64_t weight;     /* of the policy; 0 with `fold`: the node gets max_ranks or none */
    ti__load full_load; /* the load at which it has max_ranks */
    int64_t min_ranks;  /* that it has at any load: 1 where its site must have a rank */
    int64_t ranks;      /* the result */
};

/* The candidates, in the order of the sites file, and scratch memory per site. */
struct ti__pool {
    struct ti__candidate *candidate;
    int64_t n;
    int64_t np; /* ranks that the candidates are to get */
    int nsites;
    int wanted;   /* exactly so many sites; 0: any number */
    int64_t *sum; /* per site: ranks */
    int *order;   /* sites by descending sum; ties in the order of the file */
    bool *chosen; /* per site */
};

static inline int64_t ti__place_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- place_capacity.c --- */

/* Sum, TI__UNLIMITED when it overflows. */
int64_t ti__place_add(int64_t a, int64_t b);

int ti__place_site_of(const struct ti_sites *s, int64_t node);
bool ti__place_has_slots(const struct ti_place_request *in);
int64_t ti__place_usable_nodes(const struct ti_place_request *in);

/* Ranks that the memory of a node allows; TI__UNLIMITED when it is no limit. */
int64_t ti__place_memory_ranks(const struct ti_place_request *in,
                               const struct ti_node_resources *res);

/* Ranks that a node can hold under all conditions of the request; 0 if it cannot be used. */
int64_t ti__place_node_capacity(const struct ti_place_request *in, int64_t node);

/* Total of pool->sum over the `wanted` sites with the largest sums, or over all sites.  0 if
 * fewer than `wanted` sites have any. */
int64_t ti__place_sum_sites(struct ti__pool *pool);

/* The ranks that nodes without slots can hold under the conditions of the request.  `capacity`,
 * per node, may be NULL: it is computed then. */
int64_t ti__place_largest_np(const struct ti_place_request *in, struct ti__pool *pool,
                             const int64_t *capacity);

/* The smallest limit of ranks a core (max_fold) with which np ranks fit, if neither `fold` nor
 * `regular` were asked for; 0: they never fit. */
int64_t ti__place_smallest_fold(const struct ti_place_request *in, struct ti__pool *pool);

/* --- place_family.c --- */

/* TI_ERR_INPUT when usable nodes are of several families and the request names none. */
ti_status ti__place_check_family(const struct ti_place_request *in, struct ti_err *err);

/* --- place_policy.c --- */

/* Give pool->np ranks to the candidates by the policy; false when out of memory.  The pool can
 * hold them.  Candidates that get none may be dropped from the pool. */
bool ti__place_by_policy(const struct ti_place_request *in, struct ti__pool *pool);

/* --- place_refuse.c: each sets `err` --- */

/* TI_OK, or TI_ERR_USAGE for conditions that contradict each other, TI_ERR_INPUT when no node can
 * be used. */
ti_status ti__place_check_request(const struct ti_place_request *in, struct ti_err *err);

/* np is more than `largest`. */
ti_status ti__place_refuse_np(const struct ti_place_request *in, struct ti__pool *pool,
                              int64_t largest, struct ti_err *err);

/* The hostfile gives `node` more slots than it can hold. */
ti_status ti__place_refuse_slots(const struct ti_place_request *in,
                                 const struct ti_rank_placement *p, int64_t node,
                                 struct ti_err *err);

/* Only `have` sites have usable nodes. */
ti_status ti__place_refuse_sites(const struct ti_place_request *in, int have, struct ti_err *err);

#endif
