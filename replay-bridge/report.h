/*
 * The report of ti-replay: prints the result of a replay, as text or JSON.
 */
#ifndef TI_REPLAY_BRIDGE_REPORT_H
#define TI_REPLAY_BRIDGE_REPORT_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Prints the result in the form that the options select; where `st` is an error, prints `err`.
 * Returns `st`, or TI_ERR_IO if stdout cannot be written. */
ti_status ti_replay_report(const struct ti_replay_options *o, const struct ti_replay_result *res,
                           ti_status st, const struct ti_err *err);

/* Prints `j` on stdout, and drops the reference. */
void ti_replay_print_json(json_t *j);

#endif
