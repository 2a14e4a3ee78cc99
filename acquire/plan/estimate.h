/*
 * How long a run will take, from a former one of the same program (--like).
 *
 * Folded, the ranks of a core take turns, and what a rank computes does not
 * depend on where: the time of the application grows with the ranks on the fullest
 * core, as "Assessing the performance of MPI applications through time-independent
 * trace replay" found, where folding goes with the memory that is taken. Of a problem
 * that is divided among ranks, each of np has 1/np:
 *
 *   seconds = former seconds x (fold / np) / (former fold / former np)
 *
 * with folds of 1 at least: an idle core is no help. That is of cores as fast,
 * the same counter and the same arguments, and leaves out what waits for networks.
 */
#ifndef TI_ESTIMATE_H
#define TI_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_former {
    int64_t np, fold; /* ranks on the fullest core */
    double seconds;   /* of the application */
    char backend[32]; /* what counted; "" */
    char command[256];
};

/* What a bundle or run directory tells of its run; false when it does not tell all that an
 * estimate needs.  TI_ERR_IO or TI_ERR_INPUT when it is neither or damaged. */
ti_status ti_former_read(const char *path, struct ti_former *out, bool *told, struct ti_err *err);

/* The same from MANIFEST.json or RUN.json. */
bool ti_former_of(const json_t *manifest, struct ti_former *out);

double ti_estimate_seconds(const struct ti_former *former, int64_t np, int64_t fold);

/*
 * "about 12 min: 'lu.64.tib' took 45.3 s with 32 ranks a core; here 512" into buf; with what
 * differs in command (NULL: not known) or counter.  Returns buf.
 */
char *ti_estimate_text(const struct ti_former *former, const char *path, int64_t np, int64_t fold,
                       const char *command, const char *backend, char *buf, int buf_bytes);

/* The plan's line, "  time      ..."; nothing when `path` is NULL. */
void ti_estimate_print(const char *path, int64_t np, int64_t fold, const char *command,
                       const char *backend, FILE *out);

/* A line about the start-up, of so many seconds (acquire/plan/plan.h), where it takes a minute or more. */
void ti_estimate_start_print(double seconds, FILE *out);

#endif
