/*
 * Plans the tree of a fetch: a K-nomial tree over the nodes of each site, and its predicted cost.
 * Pure computation.
 *
 * Behind a gateway, one node of a site, its head, is reached from here, and the others through
 * it.  Without a gateway, this machine is the head.  The n participants of a site, head included,
 * are numbered from 0 in the order of their nodes.  The parent of i is i with its last nonzero
 * digit in base K + 1 set to 0.  So a head has K children for each of the ceil(log_(K+1) n) rounds
 * of a gather that proceeds in rounds; here all nodes send at once.
 *
 * A tree saves connect time, processor time and descriptors on this machine, and connections per
 * site.  It does not add bandwidth: all data passes this machine's link in the end.
 */
#ifndef TI_GATHER_FETCH_TREE_H
#define TI_GATHER_FETCH_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_ARITY_STAR    0 /* all nodes are reached from here, through their gateway if any */
#define TI_ARITY_AUTO    (-1)
#define TI_ARITY_DEFAULT 4
#define TI_ARITY_MAX     64

struct ti_tree_in {
    int64_t n; /* nodes */
    int nsites;
    const int *site;      /* of each node */
    const bool *gateway;  /* of each site: it has one */
    const bool *direct;   /* of each node: reached from here only (local, or "via"); NULL: none */
    const int64_t *bytes; /* of each node's traces; NULL: not known */
    int arity;
};

/* Parameters of the cost model; see ti_tree_costs_default() and --assume. */
struct ti_tree_costs {
    double rtt_s;       /* between here and a site */
    double inner_rtt_s; /* between nodes of a site */
    double rate;        /* bytes/s of this machine's link */
    double site_rate;   /* of a site's link */
    double node_rate;   /* of a node's link, and of its CPU as a relay */
    double headers;     /* overhead of headers on each link, as a fraction */
    double login_cpu_s; /* CPU here, or on a relay, for one new connection */
    double login_rtts;  /* round trips until ti-node says HELLO */
    double start_s;     /* other delay until then */
    int most_new;       /* connections opened at a time by a relay, or through a gateway; this
                           machine opens 8 times as many in all */
};

struct ti_tree_cost {
    int rounds;       /* as above, of the largest site; a star: 1 */
    int depth;        /* hops to the deepest node */
    int64_t here;     /* connections of this machine */
    int64_t most;     /* children of the relay with the most */
    double connect_s; /* until the last node is connected */
    double bound_s;   /* lower bound: bytes without headers over the busiest link */
    double total_s;   /* until the last byte is here */
};

struct ti_tree {
    int64_t n;
    int arity;       /* TI_ARITY_STAR, or K; never AUTO */
    int64_t *parent; /* of each node: a node, or -1: this machine */
    int *depth;      /* hops from here: 1 and more */
    struct ti_tree_cost cost;
};

void ti_tree_costs_default(struct ti_tree_costs *c);

/* Sets the parameters named in `text`, such as "rtt=20ms,rate=100mbit".  Returns TI_ERR_USAGE,
 * naming the bad word, and leaves *c unchanged. */
ti_status ti_tree_costs_parse(const char *text, struct ti_tree_costs *c, struct ti_err *err);

/* Formats all parameters in that form.  220 bytes are enough.  Returns buf. */
char *ti_tree_costs_text(const struct ti_tree_costs *c, char *buf, size_t room);

/* TI_ARITY_AUTO takes the cheapest of a star and K = 1 to 16, the star in case of a tie. */
ti_status ti_tree_make(const struct ti_tree_in *in, const struct ti_tree_costs *costs,
                       struct ti_tree *out, struct ti_err *err);
void ti_tree_free(struct ti_tree *t);

/*
 * Predicts the cost of tree `t` of these nodes.  A parent connects children with large subtrees
 * first, as soon as we know that the parent is connected.  A node sends as soon as it is connected.
 * Each link passes queued data, plus headers, at its rate.  Times are infinite when memory is
 * short.
 */
struct ti_tree_cost ti_tree_cost(const struct ti_tree_in *in, const struct ti_tree *t,
                                 const struct ti_tree_costs *costs);

#endif
