/*
 * What ti-replay prints at its end.
 */
#ifndef TI_REPLAY_REPORT_H
#define TI_REPLAY_REPORT_H

#include "replay-bridge/options.h"
#include "replay-bridge/result.h"

/* Prints the result, or why there is none, as the options ask.  Returns `st`, or TI_ERR_IO if
 * stdout cannot be written. */
ti_status ti_replay_report(const struct ti_replay_options *o, const struct ti_replay_result *res,
                           ti_status st, const struct ti_err *err);

/* Seconds, with all digits that are known. */
double ti_replay_simulated_time(const struct ti_replay_result *res);

/* Prints `j` on stdout, and releases it. */
void ti_replay_print_json(json_t *j);

#endif
