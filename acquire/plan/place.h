/*
 * Placement: how many of np ranks each node gets.  Pure computation in integers, and
 * deterministic: equal input gives an equal placement.
 *
 * Modes, in the notation of Desprez, Markomanolis, Quinson and Suter ("Assessing the performance
 * of MPI applications through time-independent trace replay"):
 *   R         regular: one site, at most one rank a core
 *   F-x       folded: x ranks a core
 *   C-y       composite: over y sites
 *   CF-(y,x)  both
 * x is the number of ranks on the fullest core.  The mode says 'x' where it differs between
 * nodes; the table has the numbers.
 *
 * The folding factor of a node is its ranks / its cores.  The capacity of a node is the number
 * of ranks that it can hold, the minimum of
 *   (memory - reserve) / rank_bytes, rounded down
 *   cores x max_fold          if there is such a limit
 *   cores                     if the run is to be regular
 * The paper fills each cluster to its capacity.  Here np is given, and the policy decides which
 * share of it a node gets:
 *
 *   memory   Minimize the largest (ranks / ranks that memory allows): all nodes are equally full.
 *            Nodes of one cluster whose memory differs by less than an eighth count as the
 *            smallest of them, so that they get equally many ranks up to one; only a larger np
 *            uses the difference.  If rank_bytes is unknown, memory is the measure; if the memory
 *            of any node is unknown, cores are.
 *   speed    Minimize the largest ranks / (cores x speed): ranks wait for the slowest node.
 *            Unknown speeds count as the slowest known one.
 *   compact  Use the fewest nodes that can hold np, those with the largest capacity.  Among
 *            themselves they are equally full, as with memory.  A node that nothing limits counts
 *            with the ranks a core that np needs when all nodes are used.
 *
 * The minimum is exact, with speeds rounded to six decimal digits.  Both measures are those of
 * d'Hondt's apportionment: a larger np takes no rank away from any node.  Ties are broken by the
 * order of the file.
 *
 * fold: each used node has exactly fold x cores ranks and can hold them.  One node may have fewer,
 * the remainder of np.  If np is too small to fill a node at each wanted site, several have
 * fewer.  The policy orders the nodes: memory takes the least full first, speed the fastest,
 * compact the largest.
 *
 * sites_wanted: exactly so many sites, each with a rank.  The policy chooses them by its own
 * measure.  (compact tries all choices of sites while choices x nodes are at most 20 million;
 * beyond that it takes the sites with the largest capacity.)
 *
 * slots of a hostfile: nodes with slots are filled first, in their order, as mpirun does.  The
 * policy distributes what is left over the nodes without slots.
 */
#ifndef TI_ACQUIRE_PLAN_PLACE_H
#define TI_ACQUIRE_PLAN_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "config/sites.h"

/* X(name, text): --policy */
#define TI_POLICIES(X)                                                                             \
    X(MEMORY, "memory", "all nodes equally full")                 /* the paper's */                \
    X(SPEED, "speed", "the least time, by cores and their speed") /* as far as memory allows */    \
    X(COMPACT, "compact", "the fewest nodes")
#define TI_POLICY_ENUM(name, text, meaning) TI_POLICY_##name,
enum ti_policy { TI_POLICIES(TI_POLICY_ENUM) TI_POLICY_COUNT };

extern const char *const ti_policy_names[TI_POLICY_COUNT];

/*
 * Memory reserved for the system on a node, unless its cluster or the command line says otherwise.
 * A sites file has the installed memory; firmware and kernel take about 2 percent of it and an
 * idle system half a gibibyte.  So a sixteenth is reserved, and at least 256 MiB.  If memory was
 * reported as available by the node, or granted by a scheduler, only 256 MiB are reserved.
 */
#define TI_RESERVE_MIN_BYTES INT64_C(268435456)
#define TI_RESERVE_DIVISOR   16

/* The input of a placement.  Pointers are borrowed. */
struct ti_place_request {
    const struct ti_sites *sites;
    const bool *use;             /* per node: may be used; NULL: all */
    const int64_t *memory_bytes; /* per node, available by the survey, 0: unknown; NULL: all */
    const int *cores;            /* per node, by the survey, 0: unknown; NULL: all */
    int64_t np;
    int64_t rank_bytes;    /* memory of a rank with tracing; 0: unknown, memory is no limit */
    int64_t reserve_bytes; /* per node, where the cluster says nothing; -1: as above */
    enum ti_policy policy;
    int64_t fold;     /* exactly so many ranks a core on used nodes; 0: as needed */
    int64_t max_fold; /* at most so many; 0: no limit */
    int sites_wanted; /* exactly so many sites; 0: as needed */
    bool regular;     /* at most one rank a core */
    int64_t group; /* ranks of one node of the target: each group of so many successive ranks, from
                    * a multiple of it on, shares a node; 0: no such condition */
    const char *family; /* only clusters of this processor family or of an unknown one; NULL: all
                         * known families must be the same */
};

/* The result. */
struct ti_rank_placement {
    int64_t np;
    int64_t nnodes;            /* as in sites */
    int64_t *ranks;            /* per node; 0: not used */
    int64_t *first;            /* per node, its first rank: ranks follow the order of nodes */
    int64_t *capacity;         /* per node; INT64_MAX: no limit known */
    char mode[64];             /* "R", "F-4", "C-2", "CF-(2,4)", "CF-(2,x)" */
    double fold_min, fold_max; /* folding factors of used nodes: ranks / cores */
    int64_t fold_full;         /* ranks on the fullest core */
    int64_t used_nodes, used_cores;
    int used_clusters, used_sites;
    int64_t largest_np; /* that fits under the same conditions; INT64_MAX: no limit known */
};

/* The resources of a node: by the survey, else by the sites. */
struct ti_node_resources {
    bool usable; /* by `use` and `family` */
    int cores;   /* at least 1, also if unknown */
    bool cores_known;
    int64_t memory_bytes; /* 0: unknown */
    int64_t reserve_bytes;
    int64_t available_bytes; /* memory - reserve, not negative */
};
struct ti_node_resources ti_node_resources(const struct ti_place_request *in, int64_t node);

/*
 * Place the ranks.  TI_ERR_INPUT: it cannot be done; the message has what is missing and the
 * largest np that fits, or the families of the clusters.  TI_ERR_USAGE: conditions contradict each
 * other.  TI_ERR_IO: out of memory.
 *
 * Release with ti_rank_placement_free(), also after an error.  After TI_ERR_INPUT largest_np and
 * capacity are set, unless families are mixed.
 */
ti_status ti_place_ranks(const struct ti_place_request *in, struct ti_rank_placement *out,
                         struct ti_err *err);
void ti_rank_placement_free(struct ti_rank_placement *p);

/* Print the plan's table: per cluster its nodes, ranks a node, folding factor, memory used and
 * available.  ASCII; at most 80 columns if names have up to ten characters. */
void ti_rank_placement_print(const struct ti_place_request *in, const struct ti_rank_placement *p,
                             FILE *out);

/* A new object: mode, clusters, nodes; NULL when out of memory. */
json_t *ti_rank_placement_json(const struct ti_place_request *in,
                               const struct ti_rank_placement *p);

/* --- from the command line ----------------------------------------------- */

struct ti_options;
struct ti_plan;

/*
 * Fill a request from --np, --policy, --mode, --fold, --max-fold, --family, --mem-per-rank and
 * --reserve.  It borrows from options and sites.  `valgrind`: the counter adds to the memory of a
 * rank.  What a survey found is the caller's to add.  Nodes of --exclude are no longer in the sites
 * (acquire/where/where.h).  TI_ERR_USAGE.
 */
ti_status ti_place_request_from_options(const struct ti_options *o, const struct ti_sites *sites,
                                        bool valgrind, struct ti_place_request *in,
                                        struct ti_err *err);

/* Check that this machine alone, with so many cores, can satisfy --mode, --fold, --max-fold,
 * --policy and --family.  TI_ERR_USAGE, TI_ERR_INPUT. */
ti_status ti_place_check_local(const struct ti_options *o, const char *host, int cores,
                               struct ti_err *err);

/* Parse --mode: "R", "F-4", "C-2", "CF-(2,4)"; the letter x instead of a number of ranks: as
 * needed.  Sets regular, fold and sites_wanted.  TI_ERR_USAGE. */
ti_status ti_place_parse_mode(const char *text, struct ti_place_request *in, struct ti_err *err);

/* Fill what mpirun's command needs (acquire/run/mpirun.h): np, cores, mode, and the settings for
 * this folding; and the seconds of the start, with or without valgrind. */
void ti_rank_placement_settings(const struct ti_place_request *in,
                                const struct ti_rank_placement *p, bool valgrind,
                                struct ti_plan *plan);

#endif
