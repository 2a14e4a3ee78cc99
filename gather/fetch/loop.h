/* The main loop of a fetch, or of a removal. */
#ifndef TI_GATHER_FETCH_LOOP_H
#define TI_GATHER_FETCH_LOOP_H

#include "gather/fetch/job.h"

/*
 * Connects the nodes and carries out the job.  Ranks that are missing in the end are asked for once
 * more.  Returns TI_OK even if ranks or nodes failed, TI_ERR_IO when a write failed here or the
 * user interrupted.
 */
ti_status ti__run_job(struct ti__job *job, struct ti_err *err);

#endif
