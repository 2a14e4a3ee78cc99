/*
 * The acquisition as a whole: check, plan, launch, watch, collect, conclude.  It is the same on
 * this machine and on nodes; see struct ti_backend for what differs.
 */
#ifndef TI_ACQUIRE_RUN_PIPELINE_H
#define TI_ACQUIRE_RUN_PIPELINE_H

#include "acquire/run/acquisition.h"

/* Run the acquisition `a`, of which `o`, `sites` and `backend` are set.  With --dry-run it ends
 * with the plan. */
ti_status ti_pipeline_run(struct ti_acquisition *a, struct ti_err *err);

/* The two following are for ti-skew, which runs a program several times after one check. */

/* Open the run directory. */
ti_status ti_pipeline_open(struct ti_acquisition *a, struct ti_err *err);

/* Run the program once, and make no bundle.  The caller calls the back end's close(). */
ti_status ti_pipeline_try(struct ti_acquisition *a, struct ti_err *err);

#endif
