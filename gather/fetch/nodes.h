/*
 * The nodes that have traces of a run, read from "nodes" of RUN.json:
 *
 *     "name":      name of the node
 *     "site":      its site, whose nodes can reach each other; null: unknown
 *     "host":      [USER@]HOST[:PORT] for SSH, or for "via"; null: its name for "via", else this
 *                  machine
 *     "gateway":   as ti_remote_run() has it; null
 *     "via":       [COMMAND...] instead of SSH, as in struct ti_remote_config, the same for
 *                  all nodes that have a host; null
 *     "tiara":     folder in which Tiara is installed there; null: we send it
 *     "directory": the directory of the traces
 *     "ranks":     [[FIRST, LAST]...]; null: not known, the directory is listed
 *     "bytes":     length of these traces, for a plan; null: not known
 *
 * "transport" is how the run was started: "libssh2", "openssh" or neither.  There is nothing to
 * fetch without "nodes", or where the directory is the run directory itself.
 */
#ifndef TI_GATHER_FETCH_NODES_H
#define TI_GATHER_FETCH_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/ranges.h"
#include "remote/remote.h"
#include "trace/trace.h"

struct ti_source_node {
    const char *name, *host, *gateway, *tiara, *directory; /* of RUN.json */
    int site;            /* index of its site; nodes without a site are grouped by gateway */
    bool local;          /* on this machine */
    bool ranks_known;
    struct ti_ranges ranks;
    int64_t bytes;       /* of all its traces, at the end of the run; 0: not known */
};

struct ti_nodes {
    const char *path; /* the run directory's; the caller's */
    int dir;          /* open on it; -1 */
    json_t *run;      /* RUN.json; NULL: there is none, and no nodes */
    char run_id[TI_RUN_ID_TEXT];
    struct ti_source_node *node;
    int64_t n;
    int nsites;
    const char **site;           /* their names; a gateway's, or "" */
    const char **via;            /* NULL */
    enum ti_transport transport; /* as the run was started */
    bool others;                 /* other users could have written RUN.json */
    const char *tiara; /* the "tiara" of some node, from which we execute programs; NULL */
};

/* Reads RUN.json of the run directory `path`; without one, `out` has no nodes.  Returns
 * TI_ERR_INPUT, naming file and node, for bad values.  Release `out` in any case. */
ti_status ti_nodes_read(const char *path, struct ti_nodes *out, struct ti_err *err);
void ti_nodes_free(struct ti_nodes *n);

/* True if the node's directory is the run directory, on this machine. */
bool ti_node_is_here(const struct ti_nodes *n, const struct ti_source_node *node);

#endif
