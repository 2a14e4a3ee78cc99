/* How to fetch. */
#ifndef TI_GATHER_FETCH_SETTINGS_H
#define TI_GATHER_FETCH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "gather/fetch/tree.h"
#include "remote/remote.h"

struct ti_fetch;
struct ti_kept;
struct ti_node_traces;

struct ti_fetch_settings {
    enum ti_transport transport;
    const char *ssh_config;            /* as ssh -F; NULL */
    int64_t timeout_s;                 /* a connection that is silent for so long is lost */
    int arity;                         /* as in struct ti_tree_in */
    const struct ti_tree_costs *costs; /* NULL: ti_tree_costs_default() */
    bool forward_agent;                /* as in struct ti_conns_config */
    bool trust;                        /* execute whatever RUN.json names */
    struct ti_node_traces
        *from_nodes; /* nodes merge their ranks, which go here; NULL: they do not */
    struct ti_kept *kept;              /* connections that outlive the fetch; NULL: none do */
    const struct ti_fetch *before;     /* of the same RUN.json: its `closed` is reused; NULL */

    /* Callbacks, either may be NULL.  progress: about ten times a second, and once at the end.
     * arrived: a rank's file is complete and has its name, or the rank is in `from_nodes`. */
    void (*progress)(const struct ti_fetch *f, void *arg);
    void (*arrived)(int64_t rank, void *arg);
    void *arg;
};

#endif
