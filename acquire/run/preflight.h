/*
 * The checks before a run: program, counter, mpirun, machine, and the names of the results. Nothing
 * of the user's is run.
 */
#ifndef TI_ACQUIRE_RUN_PREFLIGHT_H
#define TI_ACQUIRE_RUN_PREFLIGHT_H

#include "acquire/run/acquisition.h"

/* After the program was found: name the run directory and the bundle.  TI_ERR_USAGE. */
ti_status ti_preflight_names(struct ti_acquisition *a, struct ti_err *err);

/* ti_preflight_names(); also find our own files and mpirun, and examine this machine. */
ti_status ti_preflight_machine(struct ti_acquisition *a, struct ti_err *err);

/* All that a run on this machine needs: the program, ti_preflight_machine(), and a counter that
 * works here. */
ti_status ti_preflight_here(struct ti_acquisition *a, struct ti_err *err);

/* The bundle must not exist yet (a dry run only warns) and its directory must be writable. */
ti_status ti_preflight_output(const struct ti_acquisition *a, struct ti_err *err);

/* All programs must have one MPI, which can do what the options demand.  TI_ERR_INPUT,
 * TI_ERR_USAGE. */
ti_status ti_preflight_mpi(const struct ti_acquisition *a, struct ti_err *err);

/* Take over the answer of ti-node-counter, as JSON; NULL: nothing is known. */
void ti_preflight_take_counter(struct ti_acquisition *a, const json_t *counter);

/* Say which counter was chosen, and why; warn if the program may leave no trace or does not fit the
 * counter. */
void ti_preflight_say_counter(const struct ti_acquisition *a);
void ti_preflight_warn(const struct ti_acquisition *a);

#endif
