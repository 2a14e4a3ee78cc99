/*
 * The surroundings of the program in each rank: variables, settings of the library, the command in
 * front of it, standard input.
 */
#ifndef TI_ACQUIRE_RUN_ENVIRONMENT_H
#define TI_ACQUIRE_RUN_ENVIRONMENT_H

#include "acquire/run/acquisition.h"
#include "program/container.h"

/* Whether volumes sum up all threads.  Only for programs with OpenMP threads: MPI has threads of
 * its own, whose instruction counts vary from run to run.  `blocks` cannot sum. */
bool ti_environment_sums(const struct ti_acquisition *a);

/* Whether the ranks are OpenMP programs that were not told to have one thread. */
bool ti_environment_threads(const struct ti_acquisition *a);

/* The environment of ranks on this machine, as arguments of mpirun's -x: the user's variables,
 * changed in two ways.  Our library is appended to LD_PRELOAD, and our tunables to GLIBC_TUNABLES,
 * where the last value counts. */
void ti_environment_here(const struct ti_acquisition *a, struct ti_args *env);

/* The environment of each of `ranks` ranks on another node: the user's variables with their
 * values, and the settings of the library. */
void ti_environment_there(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env);

/* The container of the ranks, as far as it is known; false: they are in none. */
bool ti_environment_container(const struct ti_acquisition *a, struct ti_container *c);

/* The command in front of the program, in its container if it has one. */
void ti_environment_wrapper(const struct ti_acquisition *a, struct ti_args *w);

/* The path from which each of several runs reads standard input from its start: the file that it
 * is, else /dev/null. */
const char *ti_environment_input(void);

#endif
