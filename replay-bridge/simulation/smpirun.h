/*
 * Common parts of the engines on SimGrid's smpirun: the run itself, and the programs that it needs.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_SMPIRUN_H
#define TI_REPLAY_BRIDGE_SIMULATION_SMPIRUN_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/*
 * Makes `path` a single word of a command.  smpirun is a shell script that expands its arguments
 * again: blanks split them, * and ? match files, quotes are kept.  So a path with such a character
 * is replaced by a symbolic link `link` in the scratch directory, where smpirun runs.
 */
ti_status ti_smpirun_word(const char *path, const char *link, char out[PATH_MAX],
                          struct ti_err *err);

/* Sets the error for a program that is missing, of which `what` tells; returns TI_ERR_IO. */
ti_status ti_smpirun_missing(const char *what, const char *program, struct ti_err *err);

/* Whether the simulation shall find out the energy of hosts. */
bool ti_energy_asked(const struct ti_replay_result *res);

/* For struct ti_engine.  ti_smpirun_prepare() chooses the settings for SimGrid.  If res->replayer
 * has words, smpirun runs these, else SimGrid's replay of TI_SIM_TRACES. */
ti_status ti_smpirun_available(const struct ti_replay_options *o, struct ti_err *err);
ti_status ti_smpirun_prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                             struct ti_err *err);
ti_status ti_smpirun_run(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err);

#endif
