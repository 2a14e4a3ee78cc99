/*
 * Rank order: which ranks share a node, by the communication graph.
 *
 * A placement says how many ranks each node gets.  In contiguous order the first node has the
 * first ranks, and so on.  An order instead puts ranks that exchange much on one node and on
 * nodes of one site, so that few bytes cross between sites, and then between nodes.  Ranks keep
 * their numbers; only their node changes, and so traces are the same.
 *
 * The algorithm is recursive bisection of the nodes, sites first.  A part is grown from several
 * seeds and from the contiguous order, then improved by exchanging pairs (Fiduccia-Mattheyses
 * with fixed sizes).  Partitioning libraries such as METIS and Scotch balance to within a
 * tolerance.  Here the number of ranks of a node is exact, as it comes from its memory; the
 * exchange would be needed after these libraries, too.
 */
#ifndef TI_ACQUIRE_PLAN_ORDER_H
#define TI_ACQUIRE_PLAN_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Bytes added to the size of each message, for headers and latency. */
#define TI_MESSAGE_BYTES 64

/* The communication graph, undirected.  The neighbours of v are to[start[v]] up to to[start[v +
 * 1] - 1], ascending, each once. */
struct ti_graph {
    int64_t np;
    int64_t *start;
    int32_t *to;
    int64_t *weight;
    int64_t total; /* sum of weights, each pair counted once */
};

/* The input of a graph: pairs in any order; a pair may occur several times. */
struct ti_pair_list {
    struct ti_pair_weight {
        int32_t a, b;
        int64_t weight;
    } * pair;
    size_t n, cap;
};

void ti_pair_add(struct ti_pair_list *l, int64_t a, int64_t b, int64_t weight);

/* Make the graph; pairs with a == b are ignored.  Empties the list in any case.  TI_ERR_IO when
 * out of memory. */
ti_status ti_graph_make(struct ti_pair_list *l, int64_t np, struct ti_graph *out,
                        struct ti_err *err);
void ti_graph_free(struct ti_graph *g);

struct ti_order_in {
    const struct ti_graph *graph;
    int64_t nnodes;
    const int64_t *ranks; /* per node, 0: not used; their sum is the graph's np */
    const int *site;      /* per node; nodes of one site are contiguous */
};

struct ti_cut {
    int64_t sites, nodes; /* weight of pairs on different sites, on different nodes */
};

struct ti_order {
    int64_t np;
    int32_t *node; /* per rank */
    bool kept;     /* it is the contiguous order: none better was found */
    int64_t total;
    struct ti_cut before,
        after; /* of the contiguous order, of this one; no cut is larger than before */
};

/* Find an order.  Deterministic.  TI_ERR_INPUT when the nodes' ranks do not add up to the
 * graph's; TI_ERR_IO when out of memory.  Release with ti_order_free(). */
ti_status ti_order_make(const struct ti_order_in *in, struct ti_order *out, struct ti_err *err);
void ti_order_free(struct ti_order *o);

/* The cuts when rank r is on node[r]. */
struct ti_cut ti_order_cut(const struct ti_graph *g, const int32_t *node, const int *site);

/* "keeps 3.1 GiB of 4.0 GiB on their node (contiguous: 2.2 GiB); ..." into buf; returns buf. */
char *ti_order_text(const struct ti_order *o, char *buf, int buf_bytes);

/* A new object; NULL when out of memory. */
json_t *ti_order_json(const struct ti_order *o);

#endif
