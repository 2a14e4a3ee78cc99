/*
 * An estimate of the run time, from a former run of the same program (--like).
 *
 * The ranks of a core take turns, and what a rank computes does not depend on its node.  So the
 * time of the application is proportional to the ranks on the fullest core, as "Assessing the
 * performance of MPI applications through time-independent trace replay" found.  A problem that
 * is divided among np ranks gives each 1/np of the work:
 *
 *   seconds = former seconds x (fold / np) / (former fold / former np)
 *
 * Folds count as at least 1, because an idle core does not help.  The estimate assumes equally
 * fast cores, the same counter and the same arguments; it ignores time spent waiting for
 * networks.
 */
#ifndef TI_ACQUIRE_PLAN_ESTIMATE_H
#define TI_ACQUIRE_PLAN_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_former {
    int64_t np, fold; /* fold: ranks on the fullest core */
    int64_t bytes;    /* of the traces as the ranks wrote them; 0: not known */
    double seconds;   /* of the step "application" */
    char backend[32]; /* of the counter; "" if unknown */
    char command[256];
};

/* The same from MANIFEST.json or RUN.json. */
bool ti_former_of(const json_t *manifest, struct ti_former *out);

/*
 * The latest run of a program with the same command, counter and number of ranks, by the bundles
 * and run directories in the folder of `path` whose names begin with `application`.  `command` as
 * in RUN.json.  False if there is none.
 */
bool ti_former_find(const char *path, const char *application, int64_t np, const char *command,
                    const char *backend, struct ti_former *out);

double ti_estimate_seconds(const struct ti_former *former, int64_t np, int64_t fold);

/*
 * "about 12 min: 'lu.64.tib' took 45.3 s with 32 ranks a core; here 512" into buf, and whether
 * command (NULL: unknown) or counter differ.  Returns buf.
 */
char *ti_estimate_text(const struct ti_former *former, const char *path, int64_t np, int64_t fold,
                       const char *command, const char *backend, char *buf, int buf_bytes);

/* Print the plan's line "  time      ..."; nothing when `path` is NULL. */
void ti_estimate_print(const char *path, int64_t np, int64_t fold, const char *command,
                       const char *backend, FILE *out);

#define TI_ESTIMATE_LOGIN_S 0.4 /* 19 round trips of 20 ms */

/* Nodes that are logged in to, each for itself. */
struct ti_estimate_logins {
    int64_t nodes, busiest;    /* in all; behind the gateway that has most, 0: there is none */
    int at_a_time, by_gateway; /* logins in progress: in all, and by one gateway */
};

/* Print the plan's line about the time until all are connected, if that is 10 s or more.  Less if
 * a node of each site passes Tiara's files on, and logs in to the others. */
void ti_estimate_connect_print(const struct ti_estimate_logins *logins, FILE *out);

/* Print the plan's line about the start-up if that takes a minute or more; `seconds` is
 * ti_plan_start_seconds(). */
void ti_estimate_start_print(double seconds, FILE *out);

#endif
