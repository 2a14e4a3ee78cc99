/*
 * Parts of the options of ti-replay, for options.c only: checks (options_check.c), noise and many
 * replays (options_runs.c).
 */
#ifndef TI_REPLAY_BRIDGE_OPTIONS_INTERNAL_H
#define TI_REPLAY_BRIDGE_OPTIONS_INTERNAL_H

#include "replay-bridge/options.h"

/* Checks for options that conflict.  TI_CLI_END, or the exit status after an error, which has been
 * printed. */
int ti__replay_check_options(const struct ti_replay_options *o);

/* Adds a --sweep, after checking that the option accepts each value. */
ti_opt_fn ti__replay_parse_sweep;

/* Adds a --tolerance. */
ti_opt_fn ti__replay_parse_tolerance;

/* Reads the value of --scaling. */
ti_opt_fn ti__replay_parse_scaling;

/* Adds the seeds of --runs, if given, as the last choice of the sweep.  Returns as above. */
int ti__replay_add_runs(struct ti_replay_options *o);

/* Takes the noise that no number of --noise gives from the calibration that was read.  TI_ERR_INPUT
 * if it has none. */
ti_status ti__replay_calibrate_noise(struct ti_replay_options *o, struct ti_err *err);

#endif
