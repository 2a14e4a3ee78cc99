/*
 * Where the traces of a run are, as "nodes" of RUN.json says:
 *
 *     "name":      what the node is called
 *     "site":      where it is; nodes of one site reach each other; null: unknown
 *     "host":      [USER@]HOST[:PORT] for SSH, or for "via"; null: its name for "via", else this
 *                  machine
 *     "gateway":   as ti_remote_run() has it; null
 *     "via":       [COMMAND...] instead of SSH, as in struct ti_remote_config, the same for
 *                  all nodes that have a host; null
 *     "tiara":     where Tiara is installed there; null: it is sent
 *     "directory": where the traces are
 *     "ranks":     [[FIRST, LAST]...]; null: what is there
 *     "bytes":     of their traces, for a plan; null: not known
 *
 * and "transport" how the run was started: "libssh2", "openssh" or neither.  Without "nodes", or
 * where its directory is the run directory itself, there is nothing to fetch.
 */
#ifndef TI_NODES_H
#define TI_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "formats/ranges.h"
#include "formats/trace.h"
#include "remote/remote.h"

/* What to do about a RUN.json that cannot be used, for any error that is its fault. */
#define TI_NODES_HINT                                                                              \
    "nothing was changed: mend it, or move it away, then the traces that are here are gathered "   \
    "without it, and none are fetched from nodes"

struct ti_source_node {
    const char *name, *host, *gateway, *tiara, *directory; /* of RUN.json */
    int site;            /* number of its site, from 0: nodes without one count by their gateway */
    bool local;          /* on this machine */
    const json_t *ranks; /* NULL: not known */
    int64_t bytes;       /* of all its traces, as they were at the end of the run; 0: not known */
};

struct ti_nodes {
    const char *path; /* the run directory's; the caller's */
    int dir;          /* open on it; -1 */
    json_t *run;      /* RUN.json; NULL: there is none, and no nodes */
    char run_id[2 * TI_RUN_ID_BYTES + 1];
    struct ti_source_node *node;
    int64_t n;
    int nsites;
    const char **site;           /* their names; a gateway's, or "" */
    const char **via;            /* NULL */
    enum ti_transport transport; /* as the run was started */
    bool others;                 /* others could have written RUN.json */
    const char *tiara;           /* a folder of Tiara on some node, to be executed; NULL: none */
};

/* TI_ERR_INPUT, naming file and node, for what makes no sense; release it in any case. */
ti_status ti_nodes_read(const char *path, struct ti_nodes *out, struct ti_err *err);
void ti_nodes_free(struct ti_nodes *n);

/* The same directory, seen by this machine. */
bool ti_node_is_here(const struct ti_nodes *n, const struct ti_source_node *node);

#endif
