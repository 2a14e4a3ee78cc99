/*
 * The pilot: what a rank of the program takes in memory, by running it for a
 * few seconds, untraced and with few ranks.  Its output is dropped.
 *
 * Measured is what is a rank's own: anonymous memory and its share of what
 * ranks share (PSS); code and libraries, which all ranks share, are left out.
 * What a rank took between two looks is added from the kernel's own peak.
 * The figure is of the rank that takes most, so far as the run got.
 */
#ifndef TI_PILOT_H
#define TI_PILOT_H

#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/memory_model.h"
#include "acquire/run/mpirun.h"
#include "common/err.h"
#include "node/launch.h"

#define TI_PILOT_NP_MAX 64

/* The longest that one takes: for the ranks to appear, and to run. */
#define TI_PILOT_SECONDS (20.0 + 20.0)

/* "4,8,16": one to TI_MEMORY_POINTS_MAX different numbers of ranks up to TI_PILOT_NP_MAX into
 * np[], ascending.  TI_ERR_USAGE else. */
ti_status ti_pilot_list(const char *list, int64_t *np, int *n, struct ti_err *err);

#define TI_PILOT_SAID 4096

struct ti_pilot {
    int64_t rank_bytes; /* 0: nothing could be seen */
    bool growing;       /* it still grew when we had seen enough */
    bool ended;         /* by itself, within the time */
    int wait_status;    /* then */
    double seconds;
    int signal; /* that interrupted it; 0 */
    int left;   /* processes that could not be ended */
    char said[TI_PILOT_SAID]; /* the end of what it wrote to standard error */
};

/* The rank that failed first, by what mpirun says of it; -1: it does not say. */
int64_t ti_pilot_failed_rank(const char *said);

/*
 * Run job (its np is at most TI_PILOT_NP_MAX; its environment must hold
 * TIARA_RUN_ID=run_id).  Standard input is opened from `stdin_path` again.  What it writes
 * into the working directory is dropped where `overlay` (node/overlay.h).
 */
ti_status ti_pilot_run(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                       const struct ti_plan *plan, const char *run_id, const char *stdin_path,
                       const cpu_set_t *pin, bool overlay, struct ti_pilot *out, struct ti_err *err);

#endif
