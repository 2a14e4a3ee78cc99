/*
 * Traces that are still on the nodes where they were written: fetched into the run
 * directory, from all nodes at once, through one channel to each (node/messages.h).
 *
 * RUN.json says where, in "nodes": [{
 *     "name":      what the node is called
 *     "host":      [USER@]HOST[:PORT] for SSH, or for "via"; null: its name for "via", else this
 *                  machine
 *     "gateway":   as ti_remote_run() has it; null
 *     "via":       [COMMAND...] instead of SSH, as in struct ti_remote_config, the same for
 *                  all nodes that have a host; null
 *     "tiara":     where Tiara is installed there; null: it is sent
 *     "directory": where the traces are
 *     "ranks":     [[FIRST, LAST]...]
 * }...], and "transport" how the run was started: "libssh2", "openssh" or neither.  Without
 * "nodes", or where its directory is the run directory itself, there is nothing to fetch.
 */
#ifndef TI_FETCH_H
#define TI_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "gather/run.h"
#include "remote/remote.h"

struct ti_fetch_settings {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL */
    double timeout_s;       /* a node that says nothing for so long is given up */
};

/* A node some of whose ranks could not be had. */
struct ti_fetch_failure {
    char *node;
    json_t *ranks; /* [[FIRST, LAST]...] */
    char *why, *hint;
};

struct ti_fetch {
    int64_t nodes;  /* with ranks to fetch */
    int64_t wanted; /* ranks that were not here */
    int64_t fetched;
    int64_t bytes;
    double seconds;
    struct ti_fetch_failure *failure;
    int nfailures;
    ti_status worst; /* TI_OK, TI_ERR_PARTIAL: something is missing */
};

/*
 * Fetch what is not here.  A rank's file appears under its name when it is whole and its
 * checksum agrees; until then it is RANKFILE.part, and one that is here is not fetched again.
 * TI_OK whatever could not be had, which `f` tells; TI_ERR_IO when nothing more can be
 * written here, TI_ERR_INPUT for what RUN.json says.  With `look` only counts what would
 * be fetched.
 */
ti_status ti_fetch(const char *run, const struct ti_fetch_settings *s, bool look,
                   struct ti_fetch *f, struct ti_err *err);

/* Remove on the nodes what is complete in `run`, which was gathered and compared: *removed. */
ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_fetch_settings *s,
                          int64_t *removed, struct ti_fetch *f, struct ti_err *err);

void ti_fetch_free(struct ti_fetch *f);

/* "node 'n3', ranks 8-11: why", a line for each through ti_warn(), most of those that
 * failed alike on one. */
void ti_fetch_report(const struct ti_fetch *f);

/* [{"node", "ranks", "error"}...]; NULL when memory is short. */
json_t *ti_fetch_json(const struct ti_fetch *f);

#endif
