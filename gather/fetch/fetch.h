/*
 * Fetches traces from the nodes where they were written (gather/fetch/nodes.h) into the run
 * directory: from all nodes at once, over a tree (gather/fetch/tree.h) of connections
 * (session/conn.h).
 *
 * All state is kept here, none in relays, so a failing relay costs only time.  Nodes behind it are
 * adopted: connected through its parent, at last from here, and asked for what is missing.
 *
 * A rank's file gets its name once it is complete and its checksum agrees.  Until then it is
 * RANKFILE.part, which a later ti_fetch() resumes.  A file that is here is not fetched again.  If
 * several nodes have a rank's trace, one copy is fetched if all are equal, and none if they
 * differ.  A file that was here before is never removed.
 */
#ifndef TI_FETCH_H
#define TI_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "gather/bundle/run.h"
#include "gather/fetch/nodes.h"
#include "gather/fetch/tree.h"
#include "remote/remote.h"

struct ti_fetch;

struct ti_fetch_settings {
    enum ti_transport transport;
    const char *ssh_config;            /* as ssh -F; NULL */
    double timeout_s;                  /* a node that is silent for so long is abandoned */
    int arity;                         /* as in struct ti_tree_in */
    const struct ti_tree_costs *costs; /* NULL: ti_tree_costs_default() */
    bool forward_agent;                /* as in struct ti_conns_config */
    bool trust;                        /* execute whatever RUN.json names */
    const struct ti_fetch *before;     /* of the same RUN.json: its `closed` is reused; NULL */

    /* Callbacks, either may be NULL.  progress: about ten times a second, and once at the end.
     * arrived: a rank's file is complete and has its name. */
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

/* A node of RUN.json.  Times are seconds since the fetch began; 0: not reached. */
struct ti_fetch_node {
    char *name, *site;
    int site_number; /* from 0 */
    enum ti_fetch_state state;
    int64_t parent;        /* node through which it was connected last, an index; -1: from here */
    int64_t first_parent;  /* the same, as planned */
    int depth;             /* hops from here; 0: not in the tree */
    int64_t wanted, ranks; /* ranks it is to send, as far as known; ranks received from it */
    int64_t missing;       /* ranks that failed because of it; set at the end */
    int64_t wanted_bytes;  /* of the wanted ranks, less what was here; 0 before it was asked,
                            * in a plan what RUN.json says */
    int64_t bytes;         /* of traces, received from it */
    int64_t sent;          /* received from it, with frames and what came twice */
    int64_t link;          /* received over its connection: its own and its children's */
    double ready_s, done_s;
    const char *transport; /* of its last connection: "libssh2", "OpenSSH", "relay"...; NULL */
    int retries;           /* connections to it after the first */
    char *why, *hint;      /* if it was abandoned, or could not send all; NULL */
    json_t
        *not_compared; /* ranks that others have too, where its copy could not be checked; NULL */
};

/* Ranks that could not be fetched. */
struct ti_fetch_failure {
    char *node;           /* NULL: not the fault of one node */
    char *site, *through; /* its site; the relay it was connected through last, NULL: none */
    json_t *ranks;        /* [[FIRST, LAST]...]; empty in ti_fetch_remove() where unknown */
    char *why, *hint;     /* without the node's name; hint may be NULL */
    bool gone;            /* the nodes answered that they do not have them */
};

/* Result of a fetch; partial while it runs. */
struct ti_fetch {
    int64_t nodes;   /* that have ranks to fetch, or may have some */
    int64_t wanted;  /* ranks that were not here */
    json_t *away;    /* these, [[FIRST, LAST]...], of a plan; else NULL */
    int64_t fetched; /* ranks */
    int64_t bytes;   /* of traces, received */
    int64_t total;   /* to be received in all; 0: not known yet */
    int64_t resumed; /* bytes that were here in .part files and did not have to be sent again */
    double seconds;

    struct ti_fetch_node *node; /* all of RUN.json */
    int64_t nnodes;
    int nsites;
    bool *closed;             /* of each site: its nodes cannot log in to each other */
    int arity;                /* TI_ARITY_STAR, or K */
    struct ti_tree_cost cost; /* predicted */
    /* since the beginning: all nodes were connected, or abandoned; all listings were known; the
     * last byte of a trace came */
    double connected_s, listed_s, transferred_s;
    int64_t lost;      /* relays that ended while nodes behind them were not done */
    int64_t adopted;   /* nodes that were reconnected through another parent */
    int64_t again;     /* ranks that arrived damaged or incomplete and were requested again */
    int64_t shared;    /* ranks whose single file several nodes see (a shared file system) */
    int64_t alike;     /* ranks with equal copies on several nodes */
    int64_t conflicts; /* ranks that were here before and differ from a node's trace */
    int64_t memory_bytes, descriptors; /* of this process, at most */

    struct ti_fetch_failure *failure;
    int nfailures;
    size_t failure_room;
    ti_status worst; /* TI_OK, TI_ERR_PARTIAL: something is missing */
};

/*
 * Fetches the traces that are not here.  With `plan_only`, connects to no node: `f` then has what
 * would be fetched, and the tree.  Returns TI_OK even if traces are missing (see f->failure),
 * TI_ERR_IO when a write fails here, TI_ERR_INPUT for a bad RUN.json.  Release `f` with
 * ti_fetch_free() in any case.
 */
ti_status ti_fetch(const struct ti_nodes *nodes, const struct ti_fetch_settings *s, bool plan_only,
                   struct ti_fetch *f, struct ti_err *err);

/* Removes from the nodes the traces that are complete in `run`, if their checksums agree.  `run`
 * was bundled before.  *removed is their number. */
ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_nodes *nodes,
                          const struct ti_fetch_settings *s, int64_t *removed, struct ti_fetch *f,
                          struct ti_err *err);

/* Removes .part files of ranks whose trace is complete by now.  Returns how many. */
int64_t ti_fetch_tidy(const struct ti_run *run);

void ti_fetch_free(struct ti_fetch *f);

/* Prints the failures through ti_warn(), one line for each cause: "node 'n3' of site1, ranks
 * 8-11: why". */
void ti_fetch_report(const struct ti_fetch *f);

/* True if ranks are missing and no node has them: fetching again cannot help. */
bool ti_fetch_all_gone(const struct ti_fetch *f);

/* The failures as [{"node", "site", "through", "ranks", "error"}...]; NULL when memory is
 * short. */
json_t *ti_fetch_json(const struct ti_fetch *f);

#endif
