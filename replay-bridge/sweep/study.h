/*
 * A study: the folder in which the points of a sweep are kept.
 *
 *   points/ID.json   one point: settings, trace and files with checksums, result or error
 *   results.csv      one row for each point
 *   results.json     all points, and the values that they have in common
 *   plot.svg         picture, see study_plot.c
 *
 * The result of a point is reused if its file records success with the same trace, the same files
 * named by options, and the same version of Tiara.  An ID is a hash of the options of a point,
 * independent of their order.  So a study that was interrupted or extended finds its points again.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_STUDY_H
#define TI_REPLAY_BRIDGE_SWEEP_STUDY_H

#include <jansson.h>

#include "bundle/source.h"
#include "replay-bridge/sweep/interval.h"
#include "replay-bridge/sweep/sweep.h"
#include "replay-bridge/trace/lint.h"

struct ti_study_point {
    char id[17];
    struct ti_args args; /* options of the run, "--speed=8Gf" */
    json_t *record;      /* contents of points/ID.json; NULL: the point must be run */
};

struct ti_study {
    const struct ti_sweep *sweep;
    const char *const
        *trace; /* the points of the first trace come first, then of the second, ... */
    int ntraces;
    const char *only; /* the one, if ntraces is 1 */
    const char *dir;  /* NULL: none */
    int lock;         /* descriptor that holds the lock of the folder; -1: none */
    char trace_sha256[65];
    json_t *files; /* path -> SHA-256 of files that options name; "" if it is no file */
    struct ti_study_point *point; /* in the order of the sweep */
    int64_t n, done, failed;      /* points; points with a result; points that failed in this run */
    int64_t other_trace;          /* points whose recorded result is of another trace */
    int64_t runs; /* the last choice is the seed of so many runs, which belong together; 0: no */
    const char *step, *unit; /* of the progress, such as "sweeping" and "points" */
    const char *runner; /* shell command to which the command of a point is added; NULL: none */
    bool all_or_none;   /* after a point has failed, no more are started */
};

/*
 * Makes the points of the sweep, each with the options `base` too, and loads results from `dir`.
 * `dir` need not exist and is not written to; NULL: no results.  The pointers must outlive `study`.
 * TI_ERR_IO if the trace cannot be read, TI_ERR_USAGE if `dir` holds something other than a study.
 */
ti_status ti_study_open(struct ti_study *study, const struct ti_sweep *sweep,
                        const struct ti_args *base, struct ti_source *trace, const char *dir,
                        struct ti_err *err);
void ti_study_close(struct ti_study *study);

/* The same for several traces, without a directory: the points of the sweep for each of them. */
void ti_study_open_traces(struct ti_study *study, const struct ti_sweep *sweep,
                          const struct ti_args *base, const char *const *trace, int ntraces);

/* The trace of point `i`. */
static inline const char *ti_study_trace(const struct ti_study *study, int64_t i)
{
    return study->trace[i / (study->n / study->ntraces)];
}

/* Creates the folder and locks it.  TI_ERR_IO "is in use" while another sweep holds the lock. */
ti_status ti_study_begin(struct ti_study *study, struct ti_err *err);

/* Records the outcome of point `i`, in the folder if there is one: exit status, output of --json
 * (`result`, whose reference is taken; NULL: none), and the error if it failed. */
ti_status ti_study_record(struct ti_study *study, int64_t i, int status, json_t *result,
                          const char *error, struct ti_err *err);

/* Simulated time of a point in seconds; NAN if the point failed. */
double ti_study_point_time(const struct ti_study_point *point);

/* Whether bursts of a point were drawn from statistics. */
bool ti_study_point_drawn(const struct ti_study_point *point);

/* The calls to which the engine of a point gave no time; zeros if it timed all. */
struct ti_untimed ti_study_point_untimed(const struct ti_study_point *point);

/* The engine of a point; "": not known. */
const char *ti_study_point_engine(const struct ti_study_point *point);

/* Prints the settings of point `i`, as "topology=torus:4,4 speed=8Gf". */
void ti_study_print_settings(const struct ti_study *study, int64_t i, FILE *out);

/* Groups of points that belong together: the runs of one setting, or single points.  The settings
 * are without the seed of runs. */
int64_t ti_study_groups(const struct ti_study *study);
void ti_study_print_group(const struct ti_study *study, int64_t group, FILE *out);

/* The times of the points of a group that have one. */
struct ti_interval ti_study_group_times(const struct ti_study *study, int64_t group);

/* Writes results.csv, results.json and plot.svg.  All points must have a record. */
ti_status ti_study_report(const struct ti_study *study, struct ti_err *err);

/* The contents of results.json; a new reference. */
json_t *ti_study_json(const struct ti_study *study);

/* The values that all results have in common; a new reference, which is the caller's to change. The
 * whole result if there is only one. */
json_t *ti_study_common(const struct ti_study *study);

/* Runs all points without a result as child processes, up to `jobs` at once.  TI_ERR_IO
 * "interrupted" after a signal (scratch.h), or if a record cannot be written.  With all_or_none,
 * the status and the error of the first point that failed. */
ti_status ti_study_run(struct ti_study *study, int64_t jobs, bool verbose, struct ti_err *err);

/* ---- private to the sources of a study ---- */

/* Draws the picture of a struct ti_study: the first choice along the axis, the second as series,
 * the others as panels. */
void ti__study_plot(FILE *out, const void *study);

#endif
