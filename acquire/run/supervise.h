/* The run itself: mpirun is started, watched, and ended if need be. */
#ifndef TI_ACQUIRE_RUN_SUPERVISE_H
#define TI_ACQUIRE_RUN_SUPERVISE_H

#include "acquire/run/acquisition.h"

/*
 * Start mpirun and wait until it has ended, or until the run has to be ended: a signal came, the
 * time of --timeout is up, memory runs out, or a node was lost.  a->outcome says which.
 *
 * Returns an error if mpirun was not started (outcome.launched is 0), or if a node was lost.
 */
ti_status ti_supervise(struct ti_acquisition *a, struct ti_err *err);

/* Update the progress line; for a back end that waits. */
void ti_supervise_show(struct ti_acquisition *a, const char *what);

#endif
