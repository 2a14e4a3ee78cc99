/*
 * Connections that outlive a fetch.  A fetch uses those that there are instead of new ones, and
 * keeps its own for the next fetch of the same RUN.json.  So a gather after a run uses the
 * connections of the run, and a removal those of the fetch before it.
 */
#ifndef TI_GATHER_FETCH_KEPT_H
#define TI_GATHER_FETCH_KEPT_H

#include "session/conn.h"

/* All 0: nothing is kept yet. */
struct ti_kept {
    struct ti_conns *conns; /* NULL: the first fetch makes them */
    bool borrowed;          /* `conns` belongs to the caller, who frees it */

    /* Hands over the connection to the node of that name; NULL: there is none.  May be NULL. */
    struct ti_conn *(*take)(const char *node, void *arg);
    /* A connection to the node of that name ended before its time.  May be NULL. */
    void (*lost)(const char *node, void *arg);
    void *arg;

    struct ti_conn **conn; /* of a former fetch, of each node; NULL: none */
};

struct ti__gathering;

/* In a fetch: uses what is kept, and keeps what it has at its end. */
void ti__use_kept(struct ti__gathering *g, struct ti_kept *k);
void ti__keep(struct ti__gathering *g, struct ti_kept *k);

/* No fetch follows: lets the ti-nodes exit, unless they are the caller's. */
void ti_kept_hang_up(struct ti_kept *k);

void ti_kept_free(struct ti_kept *k);

#endif
