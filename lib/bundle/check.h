/* The check of a run directory. */
#ifndef TI_BUNDLE_CHECK_H
#define TI_BUNDLE_CHECK_H

#include "bundle/run.h"

/*
 * Checks the run directory `path`, whose RUN.json is `json` (NULL: none): scans every trace,
 * several at a time.  Traces that `scanner` has scanned are not read again; NULL: none.  *out is
 * set on success only; release it with ti_run_free().  Returns TI_OK whatever the state of the
 * ranks, TI_ERR_IO, or TI_ERR_INPUT if no trace can be gathered.
 */
ti_status ti_run_check(const char *path, json_t *json, struct ti_scanner *scanner,
                       struct ti_run **out, struct ti_err *err);
void ti_run_free(struct ti_run *run); /* NULL is fine */

#endif
