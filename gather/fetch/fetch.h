/*
 * Fetches traces from the nodes where they were written (gather/fetch/nodes.h) into the run
 * directory: from all nodes at once, over a tree (gather/fetch/tree.h) of connections
 * (session/conn.h).
 *
 * All state is kept here, none in relays, so a failing relay costs only time.  Nodes behind it are
 * adopted: connected through the relay's own parent, at last from here, and asked for what is
 * missing.
 *
 * A rank's file gets its name once it is complete and its checksum agrees.  Until then it is
 * RANKFILE.part, which a later ti_fetch() resumes.  A file that is here is not fetched again.  If
 * several nodes have a rank's trace, one copy is fetched if all are equal, and none if they
 * differ.  A file that was here before is never removed.
 */
#ifndef TI_GATHER_FETCH_FETCH_H
#define TI_GATHER_FETCH_FETCH_H

#include "bundle/run.h"
#include "gather/fetch/nodes.h"
#include "gather/fetch/result.h"
#include "gather/fetch/settings.h"

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

#endif
