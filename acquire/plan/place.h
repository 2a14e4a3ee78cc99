/*
 * Where ranks go: np ranks over the nodes of clusters at sites.  Pure
 * computation in integers, deterministic: the same input, the same placement.
 *
 * Notation, of Desprez, Markomanolis, Quinson and Suter ("Assessing the
 * performance of MPI applications through time-independent trace replay"): R
 * regular, at most one rank a core, one site; F-x folded, x ranks a core; C-y
 * composite, over y sites; CF-(y,x) both.  Where x, ranks on the fullest core of a
 * node, differs between nodes it stays the letter, and the table has the numbers.
 *
 * Folding factor of a node: its ranks / its cores; its capacity, how many ranks it
 * can hold at all, is the least of
 *   what its memory allows    (memory - reserve) / rank_bytes, rounded down
 *   cores x max_fold          if there is such a limit
 *   cores                     if the run is to be regular
 * The paper sets the folding factor of a cluster to the first of these, as its runs
 * were as large as memory let them be.  Here np is given, and each policy says
 * which share of it a node has:
 *
 *   memory   n such that the largest n / (ranks that its memory allows) is least:
 *            all nodes are equally full.  Nodes of one cluster whose memory
 *            differs by less than an eighth count as the smallest of them, so that
 *            they carry the same number up to one, until a larger total needs what
 *            the others have more.  With rank_bytes unknown, memory itself is the
 *            measure; with the memory of any node unknown, cores are.
 *   speed    n such that the largest n / (cores x speed) is least: ranks wait for
 *            the slowest.  A speed that is not known counts as the slowest that is.
 *   compact  the fewest nodes that can hold np, those of the largest capacity;
 *            equally full among themselves, as with memory.  A node that nothing
 *            limits has as many ranks a core as np needs when all nodes are used.
 *
 * "Least" is exact, up to six digits of a speed.  Both measures are those of
 * d'Hondt's apportionment: one more rank takes none from any node.  What is
 * left open, equal nodes, goes by the order of the file.
 *
 * fold: every node that is used has exactly fold x cores ranks, and can hold them,
 * but the one that takes what remains of np (the others of y sites asked for, when np
 * is too small to fill a node at each, have one).  The policy orders the nodes:
 * memory takes those that are least full first, speed the fastest, compact the
 * largest.
 *
 * sites_wanted: y sites, each with a rank; those for which the policy's measure is
 * best: fewest nodes, or least n / measure.  (compact tries all choices of y sites as
 * long as choices x nodes are below 20 million, else takes the sites that can hold most.)
 *
 * slots (a hostfile's): nodes that have some are filled with them in their order,
 * as mpirun does; policies rule over what is left, and over nodes without.
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

extern const char *const ti_policy_names[TI_POLICY_COUNT];

/*
 * What is left for the system on a node where neither its cluster nor the command line
 * says so.  A sites file has all of a node's memory, of which firmware and kernel
 * take some 2 percent and a system without users half a gibibyte: a sixteenth is left, and
 * no less than 256 MiB.  Of what a probe found to be available, or a scheduler granted, 256 MiB.
 */
#define TI_RESERVE_MIN_BYTES INT64_C(268435456)
#define TI_RESERVE_DIVISOR   16

struct ti_place_request {
    const struct ti_sites *sites;
    const bool *use;             /* per node: may be used; NULL: all */
    const int64_t *memory_bytes; /* per node, available as probed, 0: not; NULL: as the sites say */
    const int *cores;            /* per node, as probed, 0: not; NULL: as the sites say */
    int64_t np;
    int64_t rank_bytes;    /* of a rank, tracing included; 0: not known, memory is no limit */
    int64_t reserve_bytes; /* per node, where the cluster says nothing; -1: as above */
    enum ti_policy policy;
    int64_t fold;     /* exactly so many ranks a core where used; 0: as needed */
    int64_t max_fold; /* at most so many; 0: no limit */
    int sites_wanted; /* y: so many sites exactly; 0: as needed */
    bool regular;     /* at most one rank a core */
    int64_t group; /* so many successive ranks, from a multiple of it on, share a node: those of
                    * a node of the target; 0: no such wish */
    const char
        *family; /* only clusters of this family, or of none known; NULL: all must be of one */
};

struct ti_rank_placement {
    int64_t np;
    int64_t nnodes;               /* as in sites */
    int64_t *ranks;               /* per node; 0: not used */
    int64_t *first;               /* its first rank; contiguous on node, cluster, site */
    int64_t *capacity;            /* how many would fit; INT64_MAX: no limit known */
    char mode[64];                /* "R", "F-4", "C-2", "CF-(2,4)", "CF-(2,x)" */
    double fold_min, fold_max;    /* folding factors of used nodes: ranks / cores */
    int64_t fold_full;            /* ranks on the fullest core */
    int64_t used_nodes, used_cores;
    int used_clusters, used_sites;
    int64_t largest_np; /* under the same conditions; INT64_MAX: no limit known */
};

/* What counts of a node. */
struct ti_node_resources {
    bool usable; /* by `use` and `family` */
    int cores;   /* 1 or more; what is not known counts as one */
    bool cores_known;
    int64_t memory_bytes; /* 0: not known */
    int64_t reserve_bytes;
    int64_t available_bytes; /* memory less reserve, 0 or more */
};
struct ti_node_resources ti_node_resources(const struct ti_place_request *in, int64_t node);

/*
 * TI_OK; TI_ERR_INPUT when it cannot be done: what is missing, and the largest np
 * that fits, or which clusters are of which family; TI_ERR_USAGE for wishes that
 * contradict each other.  Release with ti_rank_placement_free(), also after TI_ERR_INPUT, when
 * largest_np and capacity are set unless families are mixed.
 */
ti_status ti_place_ranks(const struct ti_place_request *in, struct ti_rank_placement *out,
                         struct ti_err *err);
void ti_rank_placement_free(struct ti_rank_placement *p);

/* ti_plan_start_seconds() of the node that takes longest. */
double ti_rank_placement_start_seconds(const struct ti_place_request *in,
                                       const struct ti_rank_placement *p, bool valgrind);

/* Which node rank `rank` is on, by bisection; -1 for one that there is not. */
int64_t ti_rank_placement_node_of(const struct ti_rank_placement *p, int64_t rank);

/* The table, in the paper's notation: per site and cluster nodes, ranks a node,
 * folding factor, memory used of what there is.  Nothing in it but ASCII, at most
 * 80 columns with names of up to ten characters. */
void ti_rank_placement_print(const struct ti_place_request *in, const struct ti_rank_placement *p,
                             FILE *out);

/* A new object: mode, per site and cluster, and per node; NULL when out of memory. */
json_t *ti_rank_placement_json(const struct ti_place_request *in,
                               const struct ti_rank_placement *p);

/* An Open MPI hostfile: "NAME slots=N" per node that is used, in rank order. */
void ti_rank_placement_hostfile(const struct ti_place_request *in,
                                const struct ti_rank_placement *p, FILE *out);

/* --- from the command line ----------------------------------------------- */

struct ti_options;
struct ti_plan;

/* What is known of nodes and ranks beyond the sites; all of it may be absent. */
struct ti_place_facts {
    const bool *use; /* per node: not dead, not left out; NULL: all */
    const int64_t *memory_bytes;
    const int *cores;
    int64_t rank_bytes; /* of a rank, tracing included (acquire/run/measure.h); 0: --mem-per-rank */
    bool valgrind;      /* the counter is valgrind; matters with --mem-per-rank */
};

/*
 * From options (--np, --policy, --mode, --fold, --max-fold, --family, --mem-per-rank,
 * --reserve) and facts (NULL: none) to `in`, which points into all three.  What
 * --exclude names is no longer in the sites (acquire/where/where.h).  TI_ERR_USAGE.
 */
ti_status ti_place_request_from_options(const struct ti_options *o, const struct ti_sites *sites,
                                        const struct ti_place_facts *facts,
                                        struct ti_place_request *in, struct ti_err *err);

/* Whether what --mode, --fold, --max-fold, --policy and --family ask for can be had on this
 * machine alone, which has `cores`.  TI_ERR_USAGE, TI_ERR_INPUT. */
ti_status ti_place_check_local(const struct ti_options *o, const char *host, int cores,
                               struct ti_err *err);

/* --mode: "R", "F-4", "C-2", "CF-(2,4)"; x in place of a number of ranks: as needed.  Sets
 * regular, fold and sites_wanted; TI_ERR_USAGE. */
ti_status ti_place_parse_mode(const char *text, struct ti_place_request *in, struct ti_err *err);

/* What mpirun's command needs of it (acquire/run/mpirun.h): np, cores, mode, and the
 * settings that folding asks for. */
void ti_rank_placement_settings(const struct ti_place_request *in,
                                const struct ti_rank_placement *p, struct ti_plan *plan);

#endif
