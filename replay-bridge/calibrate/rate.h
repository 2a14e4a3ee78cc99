/*
 * How many instructions a second a core executes, and how long a program takes untraced.
 */
#ifndef TI_RATE_H
#define TI_RATE_H

#include "replay-bridge/calibrate/samples.h"
#include "replay-bridge/calibrate/trial.h"

/*
 * The rate of a program: what its bursts execute, counted once by `counter`, divided by the CPU
 * time of its bursts, in `runs` runs with a core a rank and as many, by turns, with all ranks on
 * one core.  Fills c->host.  TI_ERR_INPUT if the counter does not count instructions.
 */
ti_status ti_rate_of_program(const struct ti_launcher *r, const struct ti_trial *program,
                             int64_t runs, struct ti_calibration *c, struct ti_err *err);

/* The same from the bursts that ti-calibrate-mpi executed: as samples have them, and now, with
 * `repeats`, on one core. */
ti_status ti_rate_of_burst(const struct ti_launcher *r, const struct ti_samples *s, int64_t repeats,
                           struct ti_calibration *c, struct ti_err *err);

/*
 * Run it `runs` times, untraced, and write how long it took from MPI_Init to MPI_Finalize into a
 * JSON file for ti-replay --against.  Each run's time goes to stdout, unless `quiet`; with `json`
 * what the file has.
 */
ti_status ti_rate_measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                          const char *path, bool quiet, bool json, struct ti_err *err);

#endif
