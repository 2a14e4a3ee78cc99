/*
 * A trial: one run of a program by ti-acquire, and the totals of its trace.  ti-acquire finds the
 * nodes and starts mpirun.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_TRIAL_H
#define TI_REPLAY_BRIDGE_CALIBRATE_TRIAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/args.h"
#include "common/err.h"
#include "config/calibration.h"
#include "replay-bridge/calibrate/align.h"

#define TI_TRIAL_RANKS_MAX 4096

/* How trials are started. */
struct ti_launcher {
    char acquire[PATH_MAX]; /* path of ti-acquire */
    char helper[PATH_MAX];  /* path of ti-calibrate-mpi */
    struct ti_args where;   /* options of ti-acquire for nodes and environment; owned */
    bool verbose;           /* show the messages of ti-acquire */
};

struct ti_trial {
    const char *label; /* for the progress line */
    char *const *program;
    int words; /* number of words in `program`, arguments included */
    int64_t np;
    const char *counter;
    bool whole; /* record no events: only time and volume from MPI_Init to MPI_Finalize */
    int64_t
        cores; /* all ranks on the first so many cores of this machine; 0: ti-acquire's choice */
    int64_t nth, nruns; /* of several trials with this label: those before this one, and all; the
                           caller ends the step of progress.  0: one trial */
};

/* The totals of a trial's trace. */
struct ti_trial_result {
    double volume;                                /* of all bursts of all ranks */
    double longest;                               /* the most seconds of a rank */
    double start_skew;                            /* result of ti_rank_spans_align() */
    bool instructions;                            /* volumes are instructions */
    struct ti_rank_span span[TI_TRIAL_RANKS_MAX]; /* aligned if `start_skew` is not -1 */
    char counter[32];
};

/* Find ti-acquire and the helper.  TI_ERR_IO. */
ti_status ti_launcher_find(struct ti_launcher *r, struct ti_err *err);

/* Cores of this machine that this process may use. */
int64_t ti_trial_cores(void);

/* Whether the trial failed with `st` because its cores cannot be chosen: ti-acquire can choose
 * those of this machine only. */
bool ti_trial_not_pinned(const struct ti_trial *run, ti_status st);

/*
 * Run a trial.  Its trace is in the scratch file TI_TRIAL_TRACE, until the next trial.  If
 * ti-acquire fails, the result is its exit status or TI_ERR_APP, and `err` has its first error
 * message.
 */
#define TI_TRIAL_TRACE "trace.tib"
ti_status ti_trial_run(const struct ti_launcher *r, const struct ti_trial *run,
                       struct ti_trial_result *out, struct ti_err *err);

/* Open what the last trial printed.  TI_ERR_IO. */
ti_status ti_trial_output(FILE **out, struct ti_err *err);

/* Fill c->calibration and c->network.within from the trace of the last trial. */
ti_status ti_trial_about(struct ti_calibration *c, struct ti_err *err);

#endif
