#include "replay-bridge/calibrate/rate.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/spread.h"
#include "common/talk.h"

#define RATES_MAX 1024

static void set_text(char **text, const char *to)
{
    free(*text);
    *text = strdup(to);
}

/* The deviation for a calibration file; -1, which means no value, if the spread is not known. */
static double deviation_of(const struct ti_spread *s)
{
    return ti_spread_known(s) ? s->half : -1;
}

static ti_status count(const struct ti_launcher *r, const struct ti_trial *program,
                       struct ti_trial_result *ran, struct ti_err *err)
{
    struct ti_trial run = *program;
    ti_status st;

    run.label = "counting the program's instructions";
    st = ti_trial_run(r, &run, ran, err);
    if (!st && !ran->instructions) {
        ti_err_set(err, TI_ERR_INPUT, "the counter '%s' does not count instructions", ran->counter);
        ti_err_hint(err, "'ti-acquire --counter valgrind' and 'papi' do, where they are installed");
        st = TI_ERR_INPUT;
    }
    if (!st && !(ran->volume > 0))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' computes nothing between its calls of MPI",
                        program->program[0]);
    return st;
}

/* The rates of one kind of trials. */
struct kind {
    int64_t cores; /* see struct ti_trial */
    double rate[RATES_MAX];
    int n;
};

#define KINDS_MAX 32

/* A core for each rank first, then one core, two, four, ... for all of them. */
static int list_kinds(int64_t np, struct kind *kind)
{
    int64_t all = np < ti_trial_cores() ? np : ti_trial_cores();
    int n = 2;

    kind[0].cores = 0;
    kind[1].cores = 1;
    for (int64_t cores = 2; cores < all && n < KINDS_MAX; cores *= 2)
        kind[n++].cores = cores;
    return n;
}

static json_t *run_json(const struct ti_trial_result *ran, int64_t np)
{
    json_t *ranks = json_array();

    for (int64_t rank = 0; rank < np; rank++)
        json_array_append_new(ranks, json_real(ran->span[rank].seconds));
    return json_pack("{s:f, s:o, s:o}", "time_s", ran->longest, "start_skew_s",
                     ran->start_skew >= 0 ? json_real(ran->start_skew) : json_null(), "ranks_s",
                     ranks);
}

/* Times one run that records nothing, and appends it to `measured`; `nth` and `runs` are those of
 * struct ti_trial. */
static ti_status time_whole(const struct ti_launcher *r, const struct ti_trial *program,
                            int64_t nth, int64_t runs, json_t *measured,
                            struct ti_trial_result *ran, struct ti_err *err)
{
    struct ti_trial run = *program;
    ti_status st;

    run.counter = "cputime";
    run.whole = true;
    run.label = "timing the program, untraced";
    run.nth = nth;
    run.nruns = runs;
    st = ti_trial_run(r, &run, ran, err);
    if (!st)
        json_array_append_new(measured, run_json(ran, program->np));
    return st;
}

/* All kinds of trials in turn, and one that records nothing, unless `measured` is NULL.  *nkinds
 * becomes 1 if the cores cannot be chosen. */
static ti_status time_kinds(const struct ti_launcher *r, const struct ti_trial *program,
                            int64_t runs, double instructions, json_t *measured, struct kind *kind,
                            int *nkinds, struct ti_trial_result *ran, struct ti_err *err)
{
    struct ti_trial run = *program;
    ti_status st = TI_OK;

    run.counter = "cputime";
    for (int64_t i = 0; i < runs && !st; i++) {
        for (int k = 0; k < *nkinds && !st; k++) {
            run.cores = kind[k].cores;
            run.label = run.cores ? "timing the program on fewer cores" : "timing the program";
            st = ti_trial_run(r, &run, ran, err);
            if (ti_trial_not_pinned(&run, st)) {
                *nkinds = 1;
                st = TI_OK;
            } else if (!st) {
                kind[k].rate[kind[k].n++] = ran->volume > 0 ? 1e9 * instructions / ran->volume : 0;
            }
        }
        if (!st && measured)
            st = time_whole(r, program, 0, 0, measured, ran, err);
    }
    return st;
}

/*
 * "1:9.5e9;2:9.1e9": the rates on so many cores, where there are several.  A core is not faster
 * because others compute, too.  But ranks that take turns on few cores lose time, since each finds
 * the caches full of the others' data; so a rate below that of more cores is raised to it.
 */
static char *speeds_of(struct kind *kind, int nkinds, int64_t np)
{
    int64_t all = np < ti_trial_cores() ? np : ti_trial_cores();
    double speed[KINDS_MAX], most = 0;
    char *text = NULL;
    size_t bytes;
    FILE *f = nkinds > 1 && all > 1 ? open_memstream(&text, &bytes) : NULL;

    if (!f)
        return NULL;
    for (int k = nkinds; k > 0; k--) {
        struct kind *from = &kind[k < nkinds ? k : 0];

        most = fmax(most, ti_spread_of(from->rate, from->n).median);
        speed[k - 1] = most;
    }
    for (int k = 1; k < nkinds; k++)
        fprintf(f, "%" PRId64 ":%.9g;", kind[k].cores, speed[k - 1]);
    fprintf(f, "%" PRId64 ":%.9g", all, speed[nkinds - 1]);
    fclose(f);
    return text;
}

ti_status ti_rate_of_program(const struct ti_launcher *r, const struct ti_trial *program,
                             int64_t runs, json_t *measured, struct ti_calibration *c,
                             struct ti_err *err)
{
    struct kind *kind = calloc(KINDS_MAX, sizeof *kind);
    struct ti_trial_result *ran = malloc(sizeof *ran);
    int nkinds = kind ? list_kinds(program->np, kind) : 0;
    struct ti_spread all, folded;
    ti_status st;

    st = ran && kind ? count(r, program, ran, err)
                     : ti_err_errno(err, TI_ERR_IO, "cannot measure '%s'", program->program[0]);
    if (!st) {
        set_text(&c->host.counter, ran->counter);
        st = time_kinds(r, program, runs, ran->volume, measured, kind, &nkinds, ran, err);
    }
    free(ran);
    if (!st) {
        set_text(&c->host.program, program->program[0]);
        free(c->host.speeds);
        c->host.speeds = speeds_of(kind, nkinds, program->np);
        all = ti_spread_of(kind[0].rate, kind[0].n);
        c->host.speed = all.median;
        c->host.deviation = deviation_of(&all);
        c->host.folding = nkinds > 1 ? program->np : 0;
        folded = ti_spread_of(kind[1].rate, nkinds > 1 ? kind[1].n : 0);
        c->host.folded_speed = folded.median;
        c->host.folded_deviation = deviation_of(&folded);
        if (!(c->host.speed > 0))
            st = ti_err_set(err, TI_ERR_INPUT, "'%s' has no CPU time between its calls of MPI",
                            program->program[0]);
    }
    free(kind);
    return st;
}

static void average_bursts(const struct ti_samples *s, double *speed, double *deviation)
{
    const struct ti_timing *t = s->timed[TI_SAMPLE_RATE];

    if (!s->n[TI_SAMPLE_RATE])
        return;
    *speed = t->size / t->seconds.median;
    *deviation = deviation_of(&t->seconds);
    if (*deviation >= 0)
        *deviation *= *speed / t->seconds.median;
}

static ti_status read_output(struct ti_samples *out, struct ti_err *err)
{
    FILE *f;
    ti_status st = ti_trial_output(&f, err);

    if (st)
        return st;
    st = ti_samples_read(f, out, err);
    fclose(f);
    return st;
}

ti_status ti_rate_of_burst(const struct ti_launcher *r, const struct ti_samples *s, int64_t repeats,
                           struct ti_calibration *c, struct ti_err *err)
{
    char text[32];
    char *words[] = {(char *)(uintptr_t)r->helper, text, (char *)(uintptr_t) "1"};
    struct ti_trial run = {.label = "timing bursts, folded",
                           .program = words,
                           .words = 3,
                           .np = 2,
                           .counter = "cputime",
                           .whole = true,
                           .cores = 1};
    struct ti_trial_result *ran = malloc(sizeof *ran);
    struct ti_samples folded = {0};
    ti_status st;

    snprintf(text, sizeof text, "%" PRId64, repeats);
    if (!ran)
        return ti_err_errno(err, TI_ERR_IO, "cannot time bursts");
    st = ti_trial_run(r, &run, ran, err);
    free(ran);
    if (st && !ti_trial_not_pinned(&run, st))
        return st;
    set_text(&c->host.program, "burst");
    set_text(&c->host.counter, "by construction");
    free(c->host.speeds); /* those of a program */
    c->host.speeds = NULL;
    average_bursts(s, &c->host.speed, &c->host.deviation);
    if (st)
        return TI_OK;
    st = read_output(&folded, err);
    c->host.folding = 2;
    if (!st)
        average_bursts(&folded, &c->host.folded_speed, &c->host.folded_deviation);
    ti_samples_free(&folded);
    return st;
}

/* --------------------------------------------------------------- measure -- */

ti_status ti_rate_measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                          bool quiet, json_t *measured, struct ti_err *err)
{
    struct ti_trial_result *ran = malloc(sizeof *ran);
    ti_status st = TI_OK;

    if (!ran)
        return ti_err_errno(err, TI_ERR_IO, "cannot measure '%s'", program->program[0]);
    for (int64_t i = 0; i < runs && !st; i++) {
        st = time_whole(r, program, i, runs, measured, ran, err);
        if (!st && !quiet)
            printf("run %" PRId64 ": %.6f s\n", i + 1, ran->longest);
    }
    ti_progress_end(!st);
    free(ran);
    return st;
}

ti_status ti_rate_write(const char *path, const struct ti_trial *program, json_t *measured,
                        bool json, struct ti_err *err)
{
    json_t *words = json_array(), *all;
    ti_status st = TI_OK;

    for (int i = 0; i < program->words; i++)
        json_array_append_new(words, json_string(program->program[i]));
    all = json_pack("{s:s, s:o, s:I, s:O}", "format", "tiara-measured", "program", words, "np",
                    (json_int_t)program->np, "runs", measured);
    if (!all || json_dump_file(all, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    if (!st && json && json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0)
        putchar('\n');
    json_decref(all);
    return st;
}
