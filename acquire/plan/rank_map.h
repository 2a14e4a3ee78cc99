/* Which node has which ranks: a placement, and the order of its ranks if they have one. */
#ifndef TI_ACQUIRE_PLAN_RANK_MAP_H
#define TI_ACQUIRE_PLAN_RANK_MAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/order.h"
#include "acquire/plan/place.h"
#include "common/err.h"
#include "common/ranges.h"
#include "config/sites.h"

/* All pointers are borrowed from the placement and the order. */
struct ti_rank_map {
    int64_t np, nnodes;
    const int64_t *first; /* per node: its first rank, if the ranks follow the order of nodes */
    const int64_t *ranks; /* per node: how many it has */
    const int32_t *node;  /* per rank: its node; NULL: the ranks follow the order of nodes */
    const bool *undotted; /* per node: '-' stands for '.' of its name in hostfiles; NULL: no node */
};

/* `order` is NULL or empty if there is none. */
struct ti_rank_map ti_rank_map_of(const struct ti_rank_placement *place,
                                  const struct ti_order *order);

/* The node of a rank; -1 if there is no such rank. */
int64_t ti_rank_map_node_of(const struct ti_rank_map *m, int64_t rank);

/*
 * Which nodes need another name in a hostfile for PRRTE, which takes nodes for one if their names
 * are equal up to the first dot, whatever prte_keep_fqdn_hostnames says (3.0.8, Open MPI 5.0.7).
 * `local` says per node whether it is this machine, whose name mpirun must know.  Returns an array
 * for m->undotted; free() it.  NULL: no node needs one, or memory is short.
 */
bool *ti_rank_map_undot(const struct ti_rank_map *m, const struct ti_sites *sites,
                        const bool *local);

/* The ranks of a node; release them with ti_ranges_free().  And the same as JSON, a new array. */
struct ti_ranges ti_rank_map_ranges(const struct ti_rank_map *m, int64_t node);
json_t *ti_rank_map_json(const struct ti_rank_map *m, int64_t node);

/*
 * Write an Open MPI hostfile to `path`; "-" is standard output.  It has "NAME slots=N" for each
 * node that has ranks; or, if the ranks do not follow the order of nodes, the name of the node of
 * each rank, for "mpirun --map-by seq", and a comment says so.  TI_ERR_IO.
 */
ti_status ti_rank_map_hostfile(const struct ti_rank_map *m, const struct ti_sites *sites,
                               const char *path, struct ti_err *err);

/* Write an Open MPI hostfile with "NAME slots=N" for each node that has ranks, in any order of
 * ranks.  And the rank file of PRRTE, the launcher of Open MPI 5 and newer, that says the order. */
ti_status ti_rank_map_slots(const struct ti_rank_map *m, const struct ti_sites *sites,
                            const char *path, struct ti_err *err);
ti_status ti_rank_map_rankfile(const struct ti_rank_map *m, const struct ti_sites *sites,
                               const char *path, struct ti_err *err);

/* Write a host file of Hydra, MPICH's launcher: "NAME:N" for N successive ranks on a node, in the
 * order of ranks. */
ti_status ti_rank_map_hydra(const struct ti_rank_map *m, const struct ti_sites *sites,
                            const char *path, struct ti_err *err);

/* Write a hostfile for mpirun --map-by seq: a line for each of the `n` ranks from `first` on. */
ti_status ti_rank_map_list(const struct ti_rank_map *m, const struct ti_sites *sites, int64_t first,
                           int64_t n, const char *path, struct ti_err *err);

#endif
