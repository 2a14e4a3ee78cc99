/*
 * What a run left, rank by rank, read from the traces' ends, and what became
 * of the run as a whole.
 */
#ifndef TI_REPORT_H
#define TI_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "formats/scan.h"
#include "formats/trace.h"
#include "node/launch.h"

struct ti_ranks {
    int64_t np;
    int64_t with_trace;
    int64_t by_end[TI_END_COUNT];
    int64_t unreadable; /* with a file that cannot be read, or is of another run */
    uint64_t events, volume;
    uint64_t negative; /* bursts shorter than what the library subtracts */
    int64_t bytes;
    double init_seconds_max, app_seconds_max, flush_seconds, flush_seconds_max;
    int64_t memory_bytes_max;       /* of the tracing library in a rank */
    char unit[32];                  /* of the volume; "" unknown */
    bool estimate;                  /* it is one, in some rank */
    struct ti_call_count *untraced; /* calls that are not traced, over the ranks */
    int nuntraced;
    signed char *end; /* per rank: enum ti_end, or one of those below */
};
enum { TI_RANK_NO_TRACE = -1, TI_RANK_BAD = -2 };

/* Read the ends of all traces of run `run_id` in `path`.  Release with
 * ti_ranks_free(). */
ti_status ti_ranks_read(const char *path, int64_t np, const char *run_id, struct ti_ranks *r,
                        struct ti_err *err);
void ti_ranks_free(struct ti_ranks *r);

/* All ranks have a whole trace. */
bool ti_ranks_complete(const struct ti_ranks *r);

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
                           const char *program, bool valgrind, struct ti_err *err);

/* Steps and times, events, bytes, volume, through ti_say(). */
void ti_report_say(const struct ti_outcome *o, const struct ti_ranks *r);

/* The calls that were not traced, if any, on a line through ti_say(). */
void ti_untraced_say(const struct ti_ranks *r);

/* A warning if so many bursts were too short for the counter that volumes are in doubt. */
void ti_negative_say(const struct ti_ranks *r);

/* For RUN.json and --json; new objects, NULL when out of memory. */
json_t *ti_steps_json(const struct ti_outcome *o, const struct ti_ranks *r);
json_t *ti_ranks_json(const struct ti_ranks *r);

/* A JSON string, bytes that are no UTF-8 replaced. */
json_t *ti_json_text(const char *text);

/* "2026-01-31T12:00:00Z" into buf of 32 bytes; returns buf. */
char *ti_time_text(double seconds, char *buf);

#endif
