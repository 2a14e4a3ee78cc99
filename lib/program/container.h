/*
 * Ranks in containers (--container): the command that starts a program in an image, by Podman or by
 * Apptainer.  mpirun starts that command once for each rank, in place of the program.
 *
 * The program sees this machine's network, processes, shared memory and user, the working
 * directory, and the folders of the run, all under the names that they have here.  Our own files
 * are below
 * /.tiara, and valgrind, if it is installed here, is where it is here.
 */
#ifndef TI_PROGRAM_CONTAINER_H
#define TI_PROGRAM_CONTAINER_H

#include <jansson.h>
#include <stdbool.h>

#include "common/args.h"
#include "program/program.h"
#include "session/paths.h"

#define TI_CONTAINER_LIBRARY "/.tiara/lib/libminitrace.so"

/* All pointers are borrowed. */
struct ti_container {
    const char *image; /* a path, or NAME.sif, is Apptainer's; else a name for Podman */
    const struct ti_paths *paths;
    const char *folder[2]; /* of the run; "" or NULL: none */
    bool valgrind;         /* the program may run under valgrind */
    bool perf;             /* it may open hardware counters */
};

/* The program that runs the image: "podman", "apptainer" or "singularity".  TI_ERR_INPUT: it is not
 * installed. */
ti_status ti_container_engine(const char *image, const char **name, struct ti_err *err);

/*
 * Make the command, up to the name of the image; the program and its arguments follow.
 *
 *   env   variables for the program, VAR or VAR=VALUE: the command must have them in its
 *         environment.  LD_PRELOAD is taken out of the list, and becomes part of the command, since
 *         only the program shall see it.
 *
 * TI_ERR_INPUT if a folder cannot be shared, or there is no Podman or Apptainer.
 */
ti_status ti_container_words(const struct ti_container *c, struct ti_args *env, struct ti_args *out,
                             struct ti_err *err);

/*
 * Whether the image is here already: a missing one would be pulled, by each node alone.
 *
 *   id   what tells images of one name apart, of at least TI_CONTAINER_ID bytes; "" for Apptainer
 *
 * TI_ERR_INPUT if it is not, or cannot be asked for.
 */
#define TI_CONTAINER_ID 96
ti_status ti_container_present(const char *image, char *id, struct ti_err *err);

/* Look at a program in the image, as ti_program_find() does here. */
ti_status ti_container_find(const struct ti_container *c, const char *given, struct ti_program *p,
                            struct ti_err *err);

/* Try a counter in the image.  *out, for json_decref(), is what ti_json_lines() makes of the answer
 * of ti-node-counter.  Other arguments as for ti_counter_choose() and ti_counter_check_also(). */
ti_status ti_container_counter(const struct ti_container *c, const char *wanted, bool sum,
                               const char *program, const char *also, json_t **out,
                               struct ti_err *err);

#endif
