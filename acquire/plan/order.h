/*
 * Rank order: which ranks share a node, when it is known who talks to whom.
 *
 * A placement says how many ranks each node takes.  In contiguous order the first
 * node has the first ranks, and so on.  Here ranks that exchange much are put on one
 * node, and on nodes of one site, so that few bytes cross: first between sites,
 * then between nodes.  Ranks keep their numbers; only the node they run on changes, and so
 * the traces are the same.
 *
 * Recursive bisection of the nodes, sites first: ranks are grown from several seeds
 * and from the contiguous order, then improved by exchanging pairs
 * (Fiduccia-Mattheyses with both sides' sizes kept).  The partitioning libraries
 * that there are (METIS, Scotch) balance to within a tolerance; a node's number of
 * ranks comes from its memory and is exact, so that the exchanging would be
 * needed behind them as well.
 */
#ifndef TI_ORDER_H
#define TI_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* Each message counts as this many bytes more than it has: headers, and the wait. */
#define TI_MESSAGE_BYTES 64

/* Who talks to whom, both ways together: neighbours of v are to[start[v]] up to
 * to[start[v + 1] - 1], in ascending order, each once. */
struct ti_graph {
    int64_t np;
    int64_t *start;
    int32_t *to;
    int64_t *weight;
    int64_t total; /* of all weights, each pair counted once */
};

/* Pairs as they are met, in any order and number. */
struct ti_pair_list {
    struct ti_pair_weight {
        int32_t a, b;
        int64_t weight;
    } * pair;
    size_t n, cap;
    bool failed; /* for want of memory; then nothing more is added */
};

void ti_pair_add(struct ti_pair_list *l, int64_t a, int64_t b, int64_t weight);

/* What a == b is left out.  Empties the list, in any case.  TI_ERR_IO when memory is short. */
ti_status ti_graph_make(struct ti_pair_list *l, int64_t np, struct ti_graph *out,
                        struct ti_err *err);
void ti_graph_free(struct ti_graph *g);

struct ti_order_in {
    const struct ti_graph *graph;
    int64_t nnodes;
    const int64_t *ranks; /* per node, 0: not used; np of the graph in all */
    const int *site;      /* per node; nodes of one site stand together */
};

struct ti_cut {
    int64_t sites, nodes; /* weight of pairs on different sites; on different nodes */
};

struct ti_order {
    int64_t np;
    int32_t *node; /* per rank */
    bool kept;     /* nothing better than the contiguous order was found */
    int64_t total;
    struct ti_cut before, after; /* contiguous; as ordered: neither is more than before */
};

/* TI_ERR_INPUT when the ranks of the nodes are not the graph's; TI_ERR_IO when
 * memory is short.  Deterministic.  Release with ti_order_free(). */
ti_status ti_order_make(const struct ti_order_in *in, struct ti_order *out, struct ti_err *err);
void ti_order_free(struct ti_order *o);

/* What crosses when rank r is on node[r]. */
struct ti_cut ti_order_cut(const struct ti_graph *g, const int32_t *node, const int *site);

/* For "mpirun --map-by seq --hostfile": the node of each rank, one a line. */
void ti_order_hostfile(const struct ti_order *o, const char *const *name, FILE *out);

/* "keeps 3.1 GiB of 4.0 GiB on their node (contiguous: 2.2 GiB); ..." into buf; returns buf. */
char *ti_order_text(const struct ti_order *o, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_order_json(const struct ti_order *o);

/* Ranks that a node takes in an order, ascending, as [[FIRST, LAST], ...]: what "open" of
 * node/messages.h wants.  A new object; NULL when out of memory. */
json_t *ti_order_ranks_json(const struct ti_order *o, int64_t node);

#endif
