#include "replay-bridge/sweep/sweep_command.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/scratch.h"
#include "common/table.h"
#include "event/quality.h"
#include "replay-bridge/sweep/study.h"

#define LABEL 10 /* characters of the label of a line */

int64_t ti_sweep_jobs(const struct ti_sweep_command *c, const struct ti_study *study)
{
    int64_t jobs = c->jobs, most = study->n > study->done ? study->n - study->done : 1;
    cpu_set_t set;

    if (!jobs)
        jobs = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return jobs < most ? jobs : most;
}

static ti_status list(const struct ti_study *study)
{
    for (int64_t i = 0; i < study->n; i++) {
        printf("%s  %s", study->point[i].id,
               !study->dir              ? ""
               : study->point[i].record ? "done  "
                                        : "to do ");
        ti_study_print_settings(study, i, stdout);
        putchar('\n');
    }
    return TI_OK;
}

/* ---- summary ---- */

/* The group with the minimum time (sign 1) or the maximum (sign -1); -1: no group has a time. */
static int64_t extreme(const struct ti_study *study, int sign)
{
    int64_t best = -1;
    double at_best = 0;

    for (int64_t g = 0; g < ti_study_groups(study); g++) {
        struct ti_interval times = ti_study_group_times(study, g);

        if (times.n && (best < 0 || sign * times.median < sign * at_best)) {
            best = g;
            at_best = times.median;
        }
    }
    return best;
}

/* Print what was written to `f`, a stream of open_memstream() with that text; closes it. */
static void print_line(const struct ti_sweep_command *c, FILE *f, char *const *text)
{
    if (fclose(f) != 0)
        TI_BUG("no memory for a line");
    ti_print_labelled(stdout, c->width, LABEL, *text);
    free(*text);
}

static FILE *new_line(char **text)
{
    static size_t bytes;
    FILE *f = open_memstream(text, &bytes);

    if (!f)
        TI_BUG("no memory for a line");
    return f;
}

static void print_extreme(const struct ti_sweep_command *c, const struct ti_study *study,
                          const char *word, int64_t group)
{
    struct ti_interval times;
    char *text;
    FILE *f;

    if (group < 0)
        return;
    f = new_line(&text);
    times = ti_study_group_times(study, group);
    fprintf(f, "%-*s%.9g s, ", LABEL, word, times.median);
    if (study->runs)
        fprintf(f, "%.9g to %.9g s (%.1f %%), ", times.low, times.high, 100 * times.confidence);
    ti_study_print_group(study, group, f);
    print_line(c, f, &text);
}

/* The most calls to which an engine gave no time: the number of copies may be swept. */
static void print_untimed(const struct ti_sweep_command *c, const struct ti_study *study)
{
    struct ti_untimed untimed, found = {0, 0};
    char text[TI_UNTIMED_BYTES];
    const char *engine = "";
    int64_t n = 0;

    for (int64_t i = 0; i < study->n; i++) {
        untimed = ti_study_point_untimed(&study->point[i]);
        if (untimed.comms + untimed.probes > found.comms + found.probes)
            found = untimed;
        if (untimed.comms || untimed.probes)
            engine = ti_study_point_engine(&study->point[i]);
        n += untimed.comms || untimed.probes;
    }
    ti_untimed_text(&found, text);
    if (n)
        ti_print_wide(stdout, c->width,
                      "not timed: %s, in %lld of %lld points (engine %s; engine %s times them)",
                      text, (long long)n, (long long)study->n, engine, c->timing);
}

/* Where bursts were drawn from statistics. */
static void print_drawn(const struct ti_sweep_command *c, const struct ti_study *study)
{
    int64_t n = 0;

    for (int64_t i = 0; i < study->n; i++)
        n += ti_study_point_drawn(&study->point[i]);
    if (n)
        ti_print_wide(
            stdout, c->width,
            "bursts:   drawn from statistics in %lld of %lld points, without their order: "
            "the error is not known (%s in tests)",
            (long long)n, (long long)study->n, TI_DRAWN_ERRORS);
}

static void print_summary(const struct ti_sweep_command *c, const struct ti_study *study)
{
    char *text;
    FILE *f = new_line(&text);

    fprintf(f, "%-*s%lld", LABEL, "points:", (long long)ti_study_groups(study));
    if (study->runs)
        fprintf(f,
                ", %lld runs of each: median, and the interval that has the median of all possible "
                "runs with so much probability",
                (long long)study->runs);
    if (study->failed)
        fprintf(f, ", %lld failed", (long long)study->failed);
    print_line(c, f, &text);
    print_extreme(c, study, "fastest:", extreme(study, 1));
    print_extreme(c, study, "slowest:", extreme(study, -1));
    print_untimed(c, study);
    print_drawn(c, study);
    f = new_line(&text);
    fprintf(f, "%-*s%s/results.csv, results.json, plot.svg", LABEL, "results:", study->dir);
    print_line(c, f, &text);
}

static void print_all(const struct ti_study *study)
{
    json_t *all = ti_study_json(study);

    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(all);
}

static ti_status some_failed(const struct ti_study *study, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_PARTIAL, "%lld of %lld points failed", (long long)study->failed,
               (long long)study->n);
    ti_err_hint(err, "'%s/results.csv' has their errors; the same command runs them again",
                study->dir);
    ti_sweep_hint(study->sweep, NULL, err);
    return TI_ERR_PARTIAL;
}

/* The shell command that continues the sweep; a sentence if the command is too long. */
static void hint_to_continue(const struct ti_sweep_command *c, struct ti_err *err)
{
    struct ti_args args = {0};
    char *text;

    for (char **arg = c->argv; *arg; arg++)
        ti_args_add(&args, *arg);
    text = ti_args_ok(&args) ? ti_args_shell(&args) : NULL;
    if (text && strlen(text) + 24 < sizeof err->hint)
        ti_err_hint(err, "to resume: %s", text);
    else
        ti_err_hint(err, "the same command resumes the sweep");
    free(text);
    ti_args_free(&args);
}

static ti_status interrupted(const struct ti_sweep_command *c, const struct ti_study *study,
                             struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "interrupted; %lld of %lld points have their result in '%s'",
               (long long)study->done, (long long)study->n, study->dir);
    hint_to_continue(c, err);
    return TI_ERR_IO;
}

/* ---- the steps ---- */

static void tell_known(const struct ti_study *study)
{
    if (study->other_trace)
        ti_warn("'%s' is not the trace that %lld of the points were run with: they are run again",
                study->only, (long long)study->other_trace);
    if (study->done)
        ti_say("%lld of %lld points have their result already", (long long)study->done,
               (long long)study->n);
}

static ti_status run(const struct ti_sweep_command *c, struct ti_study *study, struct ti_err *err)
{
    ti_status st = c->ready ? c->ready(err) : TI_OK;

    if (!st)
        st = ti_study_begin(study, err);
    if (st)
        return st;
    tell_known(study);
    st = ti_study_run(study, ti_sweep_jobs(c, study), c->verbose, err);
    if (ti_stopped())
        return interrupted(c, study, err);
    if (!st)
        st = ti_study_report(study, err);
    if (st)
        return st;
    if (c->json)
        print_all(study);
    else
        print_summary(c, study);
    return study->failed ? some_failed(study, err) : TI_OK;
}

ti_status ti_sweep_command(const struct ti_sweep_command *c, struct ti_source *trace,
                           struct ti_err *err)
{
    struct ti_study study;
    ti_status st = ti_study_open(&study, &c->sweep, &c->base, trace, c->dir, err);

    study.runs = c->runs;
    study.step = "sweeping";
    study.unit = "points";
    study.runner = c->runner;
    if (!st)
        st = c->list ? list(&study) : run(c, &study, err);
    ti_study_close(&study);
    if (fflush(stdout) != 0 && !st)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write the result");
    return st;
}
