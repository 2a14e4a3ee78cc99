/*
 * A study: the folder in which the points of a sweep are kept.
 *
 *   points/ID.json   one point: settings, what it was run with, its result or error
 *   results.csv      a row a point
 *   results.json     all of them, and what they have in common
 *   plot.svg         study_plot.c
 *
 * A point has its result if its file says success, with the same trace, the same files named by
 * options, and the same version of Tiara.  An ID is a hash of the options of a point, whatever
 * their order; so a study that was interrupted or extended finds its points again.
 */
#ifndef TI_STUDY_H
#define TI_STUDY_H

#include <jansson.h>

#include "formats/source.h"
#include "replay-bridge/sweep/sweep.h"

struct ti_study_point {
    char id[17];
    struct ti_args args; /* options of the run, "--speed=8Gf" */
    json_t *record;      /* what points/ID.json has; NULL: to be run */
};

struct ti_study {
    const struct ti_sweep *sweep;
    const char *trace;
    const char *dir; /* NULL: none */
    int lock;        /* of the folder, held; -1 */
    char trace_sha256[65];
    json_t *files;           /* SHA-256 of files that options name, "" of what is no file */
    struct ti_study_point *point;  /* in the order of the sweep */
    int64_t n, done, failed; /* points; those with a result; those that failed in this run */
    int64_t other_trace;     /* points whose result is of another trace */
};

/*
 * The points of the sweep, each with the options `base`.  Points that have a result in `dir` are
 * loaded.  `dir` need not exist, and is not written to; NULL: no points have results.
 * TI_ERR_IO if the trace cannot be read, TI_ERR_USAGE if `dir` holds something else.
 */
ti_status ti_study_open(struct ti_study *study, const struct ti_sweep *sweep,
                        const struct ti_args *base, struct ti_source *trace, const char *dir,
                        struct ti_err *err);
void ti_study_close(struct ti_study *study);

/* Make the folder and lock it: TI_ERR_IO "is in use" while another sweep writes there. */
ti_status ti_study_begin(struct ti_study *study, struct ti_err *err);

/* Keep what became of point `i`: its exit status, what it printed with --json (taken over; NULL:
 * nothing), and its error if it failed. */
ti_status ti_study_record(struct ti_study *study, int64_t i, int status, json_t *result,
                          const char *error, struct ti_err *err);

/* Exit status that a point ended with. */
int ti_study_point_status(const struct ti_study_point *point);

/* Its simulated time in seconds; NAN if it failed. */
double ti_study_point_time(const struct ti_study_point *point);

/* The settings of point `i`, "topology=torus:4,4 speed=8Gf", for people. */
void ti_study_print_settings(const struct ti_study *study, int64_t i, FILE *out);

/* results.csv, results.json and plot.svg.  All points have a record. */
ti_status ti_study_report(const struct ti_study *study, struct ti_err *err);

/* What results.json has; json_decref() it. */
json_t *ti_study_json(const struct ti_study *study);

/* Run all points without a result, up to `jobs` at once, as child processes of this program.
 * TI_ERR_IO "interrupted" after a signal (scratch.h), or if a record cannot be written. */
ti_status ti_study_run(struct ti_study *study, int64_t jobs, bool verbose, struct ti_err *err);

/* ---- for the files that make up a study ---- */

/* Create DIR/NAME at once from what `write` prints: whole, or not at all. */
ti_status ti__study_write(const struct ti_study *study, const char *name,
                          void (*write)(FILE *out, const void *what), const void *what,
                          struct ti_err *err);

/* The picture: first choice along the axis, second as series, the others as panels. */
void ti__study_plot(FILE *out, const void *study);

#endif
