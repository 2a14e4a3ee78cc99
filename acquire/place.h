/*
 * Where ranks go: np ranks over the nodes of clusters at sites.  Pure
 * computation, deterministic: the same input, the same placement.
 *
 * The paper's notation: R regular, at most one rank a core, one site; F-x folded, x
 * ranks a core; C-y composite, over y sites; CF-(y,x) both.  Where x differs
 * between clusters it stays the letter, and the table has the numbers.
 */
#ifndef TI_PLACE_H
#define TI_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "formats/sites.h"

/* X(name, text): --policy */
#define TI_POLICIES(X)                                                                             \
    X(MEMORY, "memory")   /* in proportion to memory: every node equally full; the paper's */      \
    X(SPEED, "speed")     /* least time: in proportion to cores and their speed, as memory lets */ \
    X(COMPACT, "compact") /* fewest nodes */
#define TI_POLICY_ENUM(name, text) TI_POLICY_##name,
enum ti_policy { TI_POLICIES(TI_POLICY_ENUM) TI_POLICY_COUNT };

struct ti_place_in {
    const struct ti_sites *sites; /* nodes that may be used; all of them */
    const int64_t *memory_bytes;  /* per node, available as probed; NULL: as the sites say */
    const int *cores;             /* per node, as probed; NULL: as the sites say */
    int64_t np;
    int64_t rank_bytes;    /* of a rank, tracing included; 0: not known, memory does not matter */
    int64_t reserve_bytes; /* per node, where the cluster says nothing */
    enum ti_policy policy;
    int64_t fold;       /* exactly so many ranks a core where used; 0: as needed */
    int64_t max_fold;   /* at most so many; 0: no limit */
    int sites_wanted;   /* y: so many sites exactly; 0: as needed */
    bool regular;       /* at most one rank a core */
    const char *family; /* only clusters of this family; NULL: all must be of one */
};

struct ti_place {
    int64_t np;
    int64_t nnodes;               /* as in sites */
    int64_t *ranks;               /* per node; 0: not used */
    int64_t *first;               /* its first rank; contiguous on node, cluster, site */
    int64_t *capacity;            /* how many would fit; INT64_MAX: no limit known */
    char mode[64];                /* "R", "F-4", "C-2", "CF-(2,4)", "CF-(2,x)" */
    double fold_least, fold_most; /* folding factors of used nodes: ranks / cores */
    int64_t used_nodes;
    int used_clusters, used_sites;
    int64_t largest_np; /* under the same conditions; INT64_MAX: no limit known */
};

/*
 * TI_OK; TI_ERR_INPUT when it cannot be done: what is missing, and the largest np
 * that fits, or which clusters are of which family.  Release with ti_place_free().
 */
ti_status ti_place_make(const struct ti_place_in *in, struct ti_place *out, struct ti_err *err);
void ti_place_free(struct ti_place *p);

/* Which node rank `rank` is on, by bisection. */
int64_t ti_place_node_of(const struct ti_place *p, int64_t rank);

/* The table, in the paper's notation: per site and cluster nodes, ranks a node,
 * folding factor, memory used of what there is. */
void ti_place_print(const struct ti_place_in *in, const struct ti_place *p, FILE *out);

/* A new object: mode, per cluster and per node; NULL when out of memory. */
json_t *ti_place_json(const struct ti_place_in *in, const struct ti_place *p);

/* An Open MPI hostfile: "NAME slots=N" per node that is used, in rank order. */
void ti_place_hostfile(const struct ti_place_in *in, const struct ti_place *p, FILE *out);

#endif
