/*
 * Options of ti-smpi-replay and of ti-live-replay.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_OPTIONS_H
#define TI_REPLAY_BRIDGE_REPLAYER_OPTIONS_H

#include "common/cli.h"
#include "replay-bridge/replayer/replayer.h"

extern const struct ti_cli ti_replayer_cli;

/* Parses the command line into `setup`, which must be zeroed, with a job for each trace.
 * TI_CLI_END: continue.  Any other value is the exit status; errors have been printed. */
int ti_replayer_parse(struct ti_replay_setup *setup, int argc, char **argv);

#endif
