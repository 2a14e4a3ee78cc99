/*
 * Runs of a program by ti-acquire, which knows nodes and mpirun, and what its traces say.
 */
#ifndef TI_TRIAL_H
#define TI_TRIAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "formats/calibration.h"

#define TI_TRIAL_RANKS_MAX 4096

struct ti_launcher {
    char acquire[PATH_MAX]; /* ti-acquire */
    char helper[PATH_MAX];  /* ti-calibrate-mpi */
    struct ti_args where;   /* its options for nodes, mpirun and environment */
    bool verbose;           /* show what it says */
};

struct ti_trial {
    const char *label; /* for the progress line */
    char *const *program;
    int words; /* of `program`, its arguments among them */
    int64_t np;
    const char *counter;
    bool whole;  /* only time and volume from MPI_Init to MPI_Finalize, no events */
    bool folded; /* all ranks on one core */
};

/* What one run's traces say. */
struct ti_trial_result {
    double volume;                    /* of all bursts of all ranks */
    double seconds[TI_TRIAL_RANKS_MAX]; /* of each rank, from MPI_Init to MPI_Finalize */
    double longest;                   /* of these */
    bool instructions;                /* that is what volumes are */
    char counter[32];
};

/* Where ti-acquire and the helper are: TI_ERR_IO. */
ti_status ti_launcher_find(struct ti_launcher *r, struct ti_err *err);

/* Whether `st` says that ranks cannot be folded where the run is: ti-acquire puts all ranks on one
 * core of this machine, not of other nodes. */
bool ti_trial_not_folded(const struct ti_trial *run, ti_status st);

/*
 * Run it.  What it prints is in the scratch file TI_TRIAL_OUTPUT, its trace in TI_TRIAL_TRACE,
 * until the next run.  TI_ERR_APP, or what ti-acquire ended with, with the last line that it said.
 */
#define TI_TRIAL_OUTPUT "output"
#define TI_TRIAL_TRACE  "trace.tib"
ti_status ti_trial_run(const struct ti_launcher *r, const struct ti_trial *run,
                       struct ti_trial_result *out, struct ti_err *err);

/* Fill c->calibration, and c->network.within, from the last run's trace. */
ti_status ti_trial_about(struct ti_calibration *c, struct ti_err *err);

#endif
