/* From a run directory to a bundle: what ti-gather does, and ti-acquire after a run on nodes. */
#ifndef TI_GATHER_GATHER_H
#define TI_GATHER_GATHER_H

#include "gather/fetch/kept.h"
#include "gather/options.h"

/*
 * Fetches the traces that are not in the run directory, over the connections in `kept` as far as
 * there are any, checks all, writes the bundle, and prints what came of it.  ti_gather_stop ends it
 * early.  Returns TI_ERR_PARTIAL if the bundle is incomplete, and other errors with `err`.
 */
ti_status ti_gather(const struct ti_gather_options *o, struct ti_kept *kept, struct ti_err *err);

#endif
