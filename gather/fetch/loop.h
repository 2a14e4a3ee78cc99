/* The main loop of a fetch, or of a removal. */
#ifndef TI_GATHER_FETCH_LOOP_H
#define TI_GATHER_FETCH_LOOP_H

#include "gather/fetch/gathering.h"

/*
 * Connects the nodes and gathers.  Ranks that are missing in the end are asked for once
 * more.  Returns TI_OK even if ranks or nodes failed, TI_ERR_IO when a write failed here or the
 * user interrupted.
 */
ti_status ti__run_gathering(struct ti__gathering *g, struct ti_err *err);

#endif
