/*
 * A pilot: a run of the program for a few seconds, untraced and with few ranks, that measures the
 * memory of a rank.  Its output is dropped.
 *
 * Measured is what a rank has for itself: anonymous memory and its share of memory shared by
 * ranks (PSS).  Code and libraries, which all ranks share, do not count.  Peaks between two
 * samples are taken from the kernel's own peak.  The result is that of the largest rank, as far
 * as the run got.
 */
#ifndef TI_ACQUIRE_RUN_PILOT_H
#define TI_ACQUIRE_RUN_PILOT_H

#include <stdbool.h>
#include <stdint.h>

#include "acquire/run/mpirun.h"
#include "common/err.h"
#include "node/launch.h"

#define TI_PILOT_NP_MAX 64

/* The longest time of a pilot: until the ranks appear, and then for the run. */
#define TI_PILOT_SECONDS (20.0 + 20.0)

/* Parse "4,8,16": one to TI_MEMORY_POINTS_MAX different numbers of ranks up to TI_PILOT_NP_MAX,
 * into np[], ascending.  TI_ERR_USAGE. */
ti_status ti_pilot_list(const char *list, int64_t *np, int *n, struct ti_err *err);

#define TI_PILOT_SAID 4096

struct ti_pilot {
    int64_t rank_bytes; /* of the largest rank; 0: not measured */
    bool growing;       /* memory still grew at the end of the pilot */
    bool ended;         /* the program ended by itself */
    int wait_status;    /* if ended */
    double seconds;
    int signal;               /* that interrupted the pilot; 0: none */
    int left;                 /* processes that could not be ended */
    char said[TI_PILOT_SAID]; /* the end of its standard error output */
};

/* The rank that failed first according to mpirun's messages; -1: unknown. */
int64_t ti_pilot_failed_rank(const char *said);

/*
 * Run a pilot of `job`.  Its np is at most TI_PILOT_NP_MAX; its environment must have
 * TIARA_RUN_ID=run_id.  Standard input is read from `stdin_path`.  With `overlay`
 * (node/overlay.h) changes to the working directory are dropped.
 */
ti_status ti_pilot_run(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                       const struct ti_plan *plan, const char *run_id, const char *stdin_path,
                       const cpu_set_t *pin, bool overlay, struct ti_pilot *out,
                       struct ti_err *err);

#endif
