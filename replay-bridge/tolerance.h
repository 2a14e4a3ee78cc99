/*
 * The command ti-replay --tolerance: at which value of an option a program is slower by a given
 * share.
 */
#ifndef TI_REPLAY_BRIDGE_TOLERANCE_H
#define TI_REPLAY_BRIDGE_TOLERANCE_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/*
 * After ti_replay_plan_many().  Searches the value for each share of each --tolerance, by replays
 * that are child processes: at most ten for each share.  Prints a table, or JSON.  TI_ERR_USAGE:
 * the option has no value from which the search can begin.  The status and the error of a replay
 * that fails with the option as it is; if a later one fails, the result says so.
 */
ti_status ti_tolerance_command(const struct ti_replay_options *o,
                               const struct ti_replay_result *res, struct ti_err *err);

#endif
