/*
 * Measurements of a program: the rate at which a core executes its instructions, and the time of
 * untraced runs.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_RATE_H
#define TI_REPLAY_BRIDGE_CALIBRATE_RATE_H

#include <jansson.h>

#include "replay-bridge/calibrate/samples.h"
#include "replay-bridge/calibrate/trial.h"

/*
 * Measure the rate of a program: the instructions of its bursts, divided by their CPU time.  One
 * trial with program->counter counts the instructions.  `runs` trials each with a core per rank,
 * and with all ranks on one core, two, four, ... cores, in turn, take the time.  With `measured`,
 * a JSON array, a run as by ti_rate_measure() follows in each turn, so that what changes the speed
 * of the machine meanwhile changes rate and runs alike.  Fills c->host.  TI_ERR_INPUT if the
 * counter does not count instructions; errors of ti_trial_run().
 */
ti_status ti_rate_of_program(const struct ti_launcher *r, const struct ti_trial *program,
                             int64_t runs, json_t *measured, struct ti_calibration *c,
                             struct ti_err *err);

/* The same for the loop of ti-calibrate-mpi.  The times with a core per rank are those in `s`; a
 * trial with `repeats` repetitions measures the times on one core. */
ti_status ti_rate_of_burst(const struct ti_launcher *r, const struct ti_samples *s, int64_t repeats,
                           struct ti_calibration *c, struct ti_err *err);

/* Run the program `runs` times without recording events, and append the times from MPI_Init to
 * MPI_Finalize to `measured`, a JSON array.  Print the time of each run unless `quiet`. */
ti_status ti_rate_measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                          bool quiet, json_t *measured, struct ti_err *err);

/* Write the runs of `measured` into the JSON file `path`, for ti-replay --against; with `json`
 * print them as well.  TI_ERR_IO. */
ti_status ti_rate_write(const char *path, const struct ti_trial *program, json_t *measured,
                        bool json, struct ti_err *err);

#endif
