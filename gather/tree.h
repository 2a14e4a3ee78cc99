/*
 * Who sends to whom: a K-nomial tree over the nodes of each site, and what it will cost.
 * Pure computation, nothing is connected to.
 *
 * Behind a gateway, one node of a site, its head, is reached from here, and the others
 * through it; where there is no gateway, this machine is the head.  The n participants of a
 * site, head included, are numbered from 0 in the order of their nodes; the parent of i is i
 * with its last digit that is not 0, in base K + 1, made 0.  So a head has K children for
 * each of the ceil(log_(K+1) n) rounds in which a gather that went round by round would
 * end; here all send at once.
 *
 * A node's own memory, and what it opens, grow with its children; bandwidth is won
 * nowhere: all goes through this machine's link in the end.  What is won is the time to
 * connect, work and descriptors here, and one connection a site.
 */
#ifndef TI_TREE_H
#define TI_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_ARITY_STAR    0 /* all nodes from here, through the gateway if there is one */
#define TI_ARITY_AUTO    (-1)
#define TI_ARITY_DEFAULT 4
#define TI_ARITY_MAX     64

struct ti_tree_in {
    int64_t n;
    int nsites;
    const int *site;      /* of each node */
    const bool *gateway;  /* of each site: it has one */
    const bool *direct;   /* of each node: only from here (this machine, "via"); NULL: none */
    const int64_t *bytes; /* of each node's traces; NULL: not known */
    int arity;
};

/* What things cost.  Starts from ti_tree_costs_default(); a former gather's manifest, or the
 * user, knows better. */
struct ti_tree_costs {
    double rtt_s;       /* between here and a site */
    double inner_rtt_s; /* between nodes of a site */
    double rate;        /* bytes/s of this machine's link */
    double site_rate;   /* of a site's link */
    double node_rate;   /* of a node's, and what its CPU can relay */
    double headers;     /* what a byte of a trace has of headers on each link: a share of it */
    double login_cpu_s; /* CPU here, or on a relay, for one new connection */
    double login_rtts;  /* round trips until ti-node there says HELLO */
    double start_s;     /* and what else passes until then */
    int most_new;       /* connections being opened at a time by a relay, or through a gateway;
                           here 8 times as many in all */
};

struct ti_tree_cost {
    int rounds;       /* as above, of the largest site; a star: 1 */
    int depth;        /* hops of the deepest node */
    int64_t here;     /* connections this machine has */
    int64_t most;     /* children of the relay with the most */
    double connect_s; /* until the last node is there */
    double bound_s;   /* bytes, without headers, over the slowest link they must pass */
    double total_s;
};

struct ti_tree {
    int64_t n;
    int arity;       /* TI_ARITY_STAR, or K; AUTO has been decided */
    int64_t *parent; /* of each node: a node, or -1: this machine */
    int *depth;      /* hops from here: 1 and more */
    struct ti_tree_cost cost;
};

void ti_tree_costs_default(struct ti_tree_costs *c);

/* "rtt=20ms,rate=100mbit,site-rate=50mbit" over what is in *c; TI_ERR_USAGE names the word. */
ti_status ti_tree_costs_parse(const char *text, struct ti_tree_costs *c, struct ti_err *err);

/* The same form, of all of them; returns buf, in which 220 bytes are enough. */
char *ti_tree_costs_text(const struct ti_tree_costs *c, char *buf, size_t room);

/* AUTO takes what costs least, of a star and of K = 1 to 16, and the star if it is as good. */
ti_status ti_tree_make(const struct ti_tree_in *in, const struct ti_tree_costs *costs,
                       struct ti_tree *out, struct ti_err *err);
void ti_tree_free(struct ti_tree *t);

/*
 * What this tree, or another one of these nodes, costs by the model.  Who has several children
 * begins with the largest subtrees; a child is logged in to as soon as its parent is known
 * here to be there, and sends as soon as it was asked to.  Until the last byte is here, each
 * link passes what there is, and its headers, at its rate.  Infinite when memory is short.
 */
struct ti_tree_cost ti_tree_cost(const struct ti_tree_in *in, const struct ti_tree *t,
                                 const struct ti_tree_costs *costs);

#endif
