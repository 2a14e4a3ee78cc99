/*
 * Runs of a program by ti-acquire, which knows nodes and mpirun, and what its traces say.
 */
#ifndef TI_RUNS_H
#define TI_RUNS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "formats/calibration.h"

#define TI_RUN_RANKS_MAX 4096

struct ti_runs {
    char acquire[PATH_MAX]; /* ti-acquire */
    char helper[PATH_MAX];  /* ti-calibrate-mpi */
    struct ti_args where;   /* its options for nodes, mpirun and environment */
    bool verbose;           /* show what it says */
};

struct ti_run {
    const char *label; /* for the progress line */
    char *const *program;
    int words; /* of `program`, its arguments among them */
    int64_t np;
    const char *counter;
    bool whole;  /* only time and volume from MPI_Init to MPI_Finalize, no events */
    bool folded; /* all ranks on one core */
};

/* What one run's traces say. */
struct ti_ran {
    double volume;                    /* of all bursts of all ranks */
    double seconds[TI_RUN_RANKS_MAX]; /* of each rank, from MPI_Init to MPI_Finalize */
    double longest;                   /* of these */
    bool instructions;                /* that is what volumes are */
    char counter[32];
};

/* Where ti-acquire and the helper are: TI_ERR_IO. */
ti_status ti_runs_find(struct ti_runs *r, struct ti_err *err);

/* Whether `st` says that ranks cannot be folded where the run is: ti-acquire puts all ranks on one
 * core of this machine, not of other nodes. */
bool ti_run_not_folded(const struct ti_run *run, ti_status st);

/*
 * Run it.  What it prints is in the scratch file TI_RUN_OUTPUT, its trace in TI_RUN_TRACE, until
 * the next run.  TI_ERR_APP, or what ti-acquire ended with, with the last line that it said.
 */
#define TI_RUN_OUTPUT "output"
#define TI_RUN_TRACE  "trace.tib"
ti_status ti_run(const struct ti_runs *r, const struct ti_run *run, struct ti_ran *out,
                 struct ti_err *err);

/* Fill c->calibration, and c->network.within, from the last run's trace. */
ti_status ti_run_about(struct ti_calibration *c, struct ti_err *err);

#endif
