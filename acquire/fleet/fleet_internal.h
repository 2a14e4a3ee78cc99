/*
 * Shared by the files of a fleet:
 *
 *   fleet.c        connecting the nodes, losing them, the poll loop
 *   fleet_ask.c    requests and answers
 *   fleet_names.c  nodes by their names, for messages
 *   fleet_sites.c  progress by site, and the slowest nodes
 */
#ifndef TI_ACQUIRE_FLEET_FLEET_INTERNAL_H
#define TI_ACQUIRE_FLEET_FLEET_INTERNAL_H

#include "acquire/fleet/fleet.h"
#include "session/conn.h"

#define TI__FLEET_POLL_MS 250

/* A request without an answer so far. */
struct ti__request;

struct ti_fleet_node_priv {
    struct ti_fleet *fleet;
    int64_t node;
    struct ti_conn *conn; /* NULL: none yet, or it has ended */
    struct ti__request *pending;
    int64_t
        scout;    /* the node that is connected first, and may be the relay to this one; -1: none */
    bool relayed; /* the connection goes through the scout */
};

static inline const struct ti_cluster *ti__cluster_of(const struct ti_fleet *f, int64_t node)
{
    return &f->sites->cluster[f->sites->node[node].cluster];
}

static inline const struct ti_site *ti__site_of(const struct ti_fleet *f, int64_t node)
{
    return &f->sites->site[ti__cluster_of(f, node)->site];
}

/* fleet_sites.c: "to come: nancy 116, lyon 4": the nodes that wait, at the sites with most of them;
 * "" where none waits or there is one site. */
const char *ti__fleet_waiting_text(const struct ti_fleet *f,
                                   bool (*waits)(const struct ti_fleet *f, int64_t node,
                                                 const void *arg),
                                   const void *arg, char *text, size_t bytes);

/* fleet_ask.c: a message came; and the node is lost, so no answer will come. */
void ti__fleet_message(struct ti_fleet *f, int64_t node, const json_t *message);
void ti__fleet_no_answers(struct ti_fleet *f, int64_t node);

#endif
