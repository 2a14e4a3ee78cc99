/* The bundle of an acquisition. */
#ifndef TI_ACQUIRE_RUN_RESULT_H
#define TI_ACQUIRE_RUN_RESULT_H

#include "acquire/run/acquisition.h"

/* How ti-gather, which is quiet, shows progress: as we do. */
enum ti_progress_form ti_result_progress(const struct ti_options *o);

/* Let ti-gather make it, or do the same over the connections of the run; the traces are removed unless they are incomplete or --keep was given.
 * Sets a->bundled.  TI_ERR_PARTIAL when the bundle is incomplete. */
ti_status ti_result_gather(struct ti_acquisition *a, struct ti_err *err);

/* Run ti-replay --lint on the bundle, print whether it can be replayed and why not, and add
 * "replay": {"can", "problems", "why"} for --json.  It reads all events; for very many of them only
 * the command is printed. */
void ti_result_say_replayable(struct ti_acquisition *a);

#endif
