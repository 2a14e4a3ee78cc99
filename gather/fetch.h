/*
 * Traces that are still on the nodes where they were written (gather/nodes.h): fetched into
 * the run directory, from all nodes at once, through a tree (gather/tree.h) of ways
 * (gather/conn.h).  All that is known of it is known here; a relay that fails loses nothing
 * but time, because who was reached through it is then reached through its own parent, at
 * last from here, and sends what is not here yet.
 *
 * A rank's file appears under its name when it is whole and its checksum agrees; until then
 * it is RANKFILE.part, with which a later ti_fetch() goes on.  A file that is here is not
 * fetched again.  Of a rank that several nodes have, one file is taken if all are alike, and
 * none if they are not; one that was here before is never removed.
 */
#ifndef TI_FETCH_H
#define TI_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "gather/nodes.h"
#include "gather/run.h"
#include "gather/tree.h"
#include "remote/remote.h"

struct ti_fetch;

struct ti_fetch_settings {
    enum ti_transport transport;
    const char *ssh_config;            /* as ssh -F; NULL */
    double timeout_s;                  /* a node that says nothing for so long is given up */
    int arity;                         /* as in struct ti_tree_in */
    const struct ti_tree_costs *costs; /* NULL: ti_tree_costs_default() */
    bool forward_agent;                /* as in struct ti_conns_config */
    bool trust;                        /* execute whatever RUN.json names */
    const struct ti_fetch *before;     /* of the same RUN.json: what it learnt of sites; NULL */

    /* Either may be NULL.  progress: some ten times a second while anything goes on, and once
     * in the end.  arrived: a rank's file has its name. */
    void (*progress)(const struct ti_fetch *f, void *arg);
    void (*arrived)(int64_t rank, void *arg);
    void *arg;
};

/* X(name, text) */
#define TI_FETCH_STATES(X)                                                                         \
    X(NOTHING, "has nothing to send") /* not in the tree */                                        \
    X(WAITING, "waits for who connects it")                                                        \
    X(CONNECTING, "is being connected")                                                            \
    X(READY, "is connected") /* and waits for its turn, or for others to be done */                \
    X(SENDING, "is sending")                                                                       \
    X(DONE, "is done")                                                                             \
    X(FAILED, "was given up")

#define TI_FETCH_STATE_ENUM(name, text) TI_FETCH_##name,
enum ti_fetch_state { TI_FETCH_STATES(TI_FETCH_STATE_ENUM) TI_FETCH_STATE_COUNT };

const char *ti_fetch_state_text(enum ti_fetch_state state);

/* A node of RUN.json.  Times are seconds since the fetch began, 0: it did not come to that. */
struct ti_fetch_node {
    char *name, *site;
    int site_number; /* from 0 */
    enum ti_fetch_state state;
    int64_t parent;        /* by whom it is reached, last of all: index of a node; -1: from here */
    int64_t first_parent;  /* as the tree has it */
    int depth;             /* hops from here; 0: not in the tree */
    int64_t wanted, ranks; /* that it is to send, as far as is known; that came from it */
    int64_t missing;       /* that could not be had, for which it is to blame; in the end */
    int64_t wanted_bytes;  /* of these, less what was here of them; 0 before it was asked,
                            * in a plan what RUN.json says */
    int64_t bytes;         /* of traces, that came from it */
    int64_t sent;          /* that came from it, frames and what came twice included */
    int64_t link;          /* that came over its connection: its own and its children's */
    double ready_s, done_s;
    const char *transport; /* of its last connection: "libssh2", "OpenSSH", "relay"...; NULL */
    int retries;           /* connections to it after the first */
    char *why, *hint;      /* it was given up, or could not send all; NULL */
    json_t *not_compared;  /* ranks that others have too: whether alike could not be known; NULL */
};

/* Ranks that could not be had. */
struct ti_fetch_failure {
    char *node;           /* NULL: it is no one node's fault */
    char *site, *through; /* its site; the node it was reached through last, NULL: from here */
    json_t *ranks;        /* [[FIRST, LAST]...]; empty in ti_fetch_remove() where unknown */
    char *why, *hint;     /* without the node's name; hint may be NULL */
    bool gone;            /* the nodes answered, and have them no more */
};

/* What is known so far; all of it in the end. */
struct ti_fetch {
    int64_t nodes;   /* with ranks to fetch, or that may have some */
    int64_t wanted;  /* ranks that were not here */
    json_t *away;    /* these, [[FIRST, LAST]...], where none of them is fetched; NULL */
    int64_t fetched; /* ranks */
    int64_t bytes;   /* of traces, that came */
    int64_t total;   /* that are to come in all; 0: not known yet */
    int64_t resumed; /* bytes that were here, in .part files, and were gone on with */
    double seconds;

    struct ti_fetch_node *node; /* all of RUN.json */
    int64_t nnodes;
    int nsites;
    bool *closed;             /* of each site: its nodes cannot log in to each other */
    int arity;                /* TI_ARITY_STAR, or K */
    struct ti_tree_cost cost; /* as the model has it, before */
    /* since the beginning: all nodes were connected, or given up; what they have was known;
     * the last byte of a trace came */
    double connected_s, listed_s, transferred_s;
    int64_t lost;    /* relays that ended before all that they passed on had come */
    int64_t adopted; /* nodes that were reached by another way after theirs had ended */
    int64_t again;   /* ranks that came damaged, or not whole, and were asked for once more */
    int64_t shared;  /* ranks whose one file several nodes see */
    int64_t alike;   /* ranks of which several nodes have the same */
    int64_t conflicts;                 /* ranks that were here, of which a node has another trace */
    int64_t memory_bytes, descriptors; /* of this process, at most */

    struct ti_fetch_failure *failure;
    int nfailures;
    ti_status worst; /* TI_OK, TI_ERR_PARTIAL: something is missing */
};

/*
 * Fetch what is not here.  TI_OK whatever could not be had, which `f` tells; TI_ERR_IO when
 * nothing more can be written here, TI_ERR_INPUT for what RUN.json says.  With `look` nothing
 * is connected to: `f` tells what would be fetched, by which tree.
 */
ti_status ti_fetch(const struct ti_nodes *nodes, const struct ti_fetch_settings *s, bool look,
                   struct ti_fetch *f, struct ti_err *err);

/* Remove on the nodes what is complete in `run`, which was gathered and compared: *removed. */
ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_nodes *nodes,
                          const struct ti_fetch_settings *s, int64_t *removed, struct ti_fetch *f,
                          struct ti_err *err);

/* Remove parts that an interrupted fetch left of traces that are whole by now: how many. */
int64_t ti_fetch_tidy(const struct ti_run *run);

void ti_fetch_free(struct ti_fetch *f);

/* "node 'n3' of site1, ranks 8-11: why", a line for each cause through ti_warn(), and how
 * many others it has. */
void ti_fetch_report(const struct ti_fetch *f);

/* Whether something is missing, and all of it is gone: fetching again cannot help. */
bool ti_fetch_all_gone(const struct ti_fetch *f);

/* [{"node", "site", "through", "ranks", "error"}...]; NULL when memory is short. */
json_t *ti_fetch_json(const struct ti_fetch *f);

#endif
