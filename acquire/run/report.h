/*
 * The outcome of a run, and what the ends of the traces say of each rank: messages and
 * errors.
 */
#ifndef TI_ACQUIRE_RUN_REPORT_H
#define TI_ACQUIRE_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "node/launch.h"
#include "node/ranks.h"

/* Print "rank 3: the process ended without MPI_Finalize" and the like, one line per kind of
 * incomplete end, through ti_say(). */
void ti_ranks_say(const struct ti_ranks *r);

/* How a run ended. */
struct ti_outcome {
    int signal; /* that interrupted us; 0: none */
    bool timed_out;
    bool out_of_memory; /* memory was nearly exhausted, so we ended the run */
    bool hung; /* all traces had ended, and MPI_Finalize hung, so we ended the run: no error */
    bool not_started; /* mpirun never started the program */
    bool user_args;   /* mpirun had arguments of the user's */
    bool no_try;      /* do not say how to run the program without us */
    int wait_status;  /* of mpirun */
    int swept;        /* processes that outlived mpirun and were ended */
    int left;         /* processes that could not be ended */
    int64_t not_told; /* nodes that could not be told to end the run */
    double launched, started,
        ended; /* seconds since the epoch; started 0: some rank never started */
};

/* The outcome as text: "complete", "incomplete", "failed", "interrupted", "timed out" or "out of
 * memory". */
const char *ti_outcome_word(const struct ti_outcome *o, const struct ti_ranks *r);

/* The outcome as an error: TI_OK if the application ended well. */
ti_status ti_outcome_check(const struct ti_outcome *o, const struct ti_ranks *r,
                           const struct ti_args *program, bool valgrind, struct ti_err *err);

/* Print steps and times, events, bytes and volume through ti_say(). */
void ti_outcome_say(const struct ti_outcome *o, const struct ti_ranks *r);

/* Print the calls that were not traced, if any, through ti_say(). */
void ti_untraced_say(const struct ti_ranks *r);

/* Warn if so many bursts were too short for the counter that volumes are doubtful. */
void ti_negative_say(const struct ti_ranks *r);

/* Warn of what the traces do not contain (trace/caveats.h). */
void ti_caveats_say(const struct ti_ranks *r);

/* Seconds from the launch until all ranks had started, 0 if some never did; and from then on, or
 * from the launch, until the end. */
double ti_outcome_start_seconds(const struct ti_outcome *o);
double ti_outcome_app_seconds(const struct ti_outcome *o);

#endif
