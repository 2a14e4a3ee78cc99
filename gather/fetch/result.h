/* The result of a fetch: nodes, counts, and failures. */
#ifndef TI_GATHER_FETCH_RESULT_H
#define TI_GATHER_FETCH_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/ranges.h"
#include "gather/fetch/tree.h"

/* X(name): state of a node. */
#define TI_FETCH_STATES(X)                                                                         \
    X(NOTHING)    /* has nothing to send, and is not in the tree */                                \
    X(WAITING)    /* for the node that connects it */                                              \
    X(CONNECTING) /* is being connected */                                                         \
    X(READY)      /* is connected, and waits for its turn, or for others to be done */             \
    X(SENDING)                                                                                     \
    X(DONE)                                                                                        \
    X(FAILED) /* was abandoned */

#define TI_FETCH_STATE_ENUM(name) TI_FETCH_##name,
enum ti_fetch_state { TI_FETCH_STATES(TI_FETCH_STATE_ENUM) TI_FETCH_STATE_COUNT };

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
    struct ti_ranges
        not_compared; /* ranks that others have too, where its copy could not be checked */
};

/* Ranks that could not be fetched. */
struct ti_fetch_failure {
    char *node;           /* NULL: not the fault of one node */
    char *site, *through; /* its site; the relay it was connected through last, NULL: none */
    struct ti_ranges ranks; /* empty in ti_fetch_remove() where unknown */
    char *why, *hint;     /* without the node's name; hint may be NULL */
    bool gone;            /* the nodes answered that they do not have them */
};

/* Result of a fetch; partial while it runs. */
struct ti_fetch {
    int64_t nodes;   /* that have ranks to fetch, or may have some */
    int64_t wanted;  /* ranks that were not here */
    struct ti_ranges away; /* these, of a plan; else none */
    int64_t fetched; /* ranks */
    int64_t merged, merged_bytes; /* of these: ranks that came merged, bytes of their files */
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
    int64_t kept;      /* nodes that were connected before the fetch began */
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
