/*
 * What a run left, rank by rank, read from the traces' ends, and what became
 * of the run as a whole.
 */
#ifndef TI_REPORT_H
#define TI_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "node/launch.h"
#include "node/ranks.h"

/* "rank 3: the process ended without MPI_Finalize" per kind of end but complete,
 * through ti_say(). */
void ti_ranks_say(const struct ti_ranks *r);

/* What became of a run. */
struct ti_outcome {
    int signal; /* that interrupted us; 0 */
    bool timed_out;
    bool out_of_memory;              /* so nearly that we ended it */
    bool not_started;                /* mpirun never started the program */
    bool user_args;                  /* mpirun had arguments of the user's */
    int wait_status;                 /* of mpirun */
    int swept;                       /* processes that outlived mpirun */
    int left;                        /* that could not be ended */
    double launched, started, ended; /* seconds since the epoch; started 0: some rank never did */
};

/* One word: "complete", "incomplete", "failed", "interrupted", "timed out",
 * "out of memory". */
const char *ti_outcome_word(const struct ti_outcome *o, const struct ti_ranks *r);

/* What the application's end was, as an error: TI_OK if it ended well. */
ti_status ti_outcome_check(const struct ti_outcome *o, const struct ti_ranks *r,
                           const struct ti_args *program, bool valgrind, struct ti_err *err);

/* Steps and times, events, bytes, volume, through ti_say(). */
void ti_outcome_say(const struct ti_outcome *o, const struct ti_ranks *r);

/* The calls that were not traced, if any, on a line through ti_say(). */
void ti_untraced_say(const struct ti_ranks *r);

/* A warning if so many bursts were too short for the counter that volumes are in doubt. */
void ti_negative_say(const struct ti_ranks *r);

/* Warn of what the traces do not tell of the program (formats/caveats.h). */
void ti_caveats_say(const struct ti_ranks *r);

/* For RUN.json and --json; a new array, NULL when out of memory. */
json_t *ti_steps_json(const struct ti_outcome *o, const struct ti_ranks *r);

/* "2026-01-31T12:00:00Z" into buf of 32 bytes; returns buf. */
char *ti_time_text(double seconds, char *buf);

#endif
