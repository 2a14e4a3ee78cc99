/*
 * Measurements of a program: the rate at which a core executes its instructions, and the time of
 * untraced runs.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_RATE_H
#define TI_REPLAY_BRIDGE_CALIBRATE_RATE_H

#include "replay-bridge/calibrate/samples.h"
#include "replay-bridge/calibrate/trial.h"

/*
 * Measure the rate of a program: the instructions of its bursts, divided by their CPU time.  One
 * trial with program->counter counts the instructions.  `runs` trials each with a core per rank,
 * and with all ranks on one core, two, four, ... cores, in turn, take the time.  Fills c->host.
 * TI_ERR_INPUT if the counter does not count instructions; errors of ti_trial_run().
 */
ti_status ti_rate_of_program(const struct ti_launcher *r, const struct ti_trial *program,
                             int64_t runs, struct ti_calibration *c, struct ti_err *err);

/* The same for the loop of ti-calibrate-mpi.  The times with a core per rank are those in `s`; a
 * trial with `repeats` repetitions measures the times on one core. */
ti_status ti_rate_of_burst(const struct ti_launcher *r, const struct ti_samples *s, int64_t repeats,
                           struct ti_calibration *c, struct ti_err *err);

/*
 * Run the program `runs` times without recording events.  Write the times from MPI_Init to
 * MPI_Finalize into the JSON file `path`, for ti-replay --against.  Print the time of each run
 * unless `quiet`; with `json` print the content of the file.
 */
ti_status ti_rate_measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                          const char *path, bool quiet, bool json, struct ti_err *err);

#endif
