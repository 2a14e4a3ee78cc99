/*
 * The acquisition as a whole: check, plan, launch, watch, collect, conclude.  It is the same on
 * this machine and on nodes; see struct ti_backend for what differs.
 */
#ifndef TI_PIPELINE_H
#define TI_PIPELINE_H

#include "acquire/run/acquisition.h"

/* Run the acquisition `a`, of which `o`, `sites` and `backend` are set.  With --dry-run it ends
 * with the plan. */
ti_status ti_pipeline_run(struct ti_acquisition *a, struct ti_err *err);

/* For several runs with the same checks: open the run directory; and one try, without the bundle.
 * The back end's close() is the caller's. */
ti_status ti_pipeline_open(struct ti_acquisition *a, struct ti_err *err);
ti_status ti_pipeline_try(struct ti_acquisition *a, struct ti_err *err);

#endif
