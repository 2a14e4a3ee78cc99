#include "replay-bridge/calibrate/rate.h"

#include <inttypes.h>
#include <jansson.h>
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

ti_status ti_rate_of_program(const struct ti_launcher *r, const struct ti_trial *program,
                             int64_t runs, struct ti_calibration *c, struct ti_err *err)
{
    double rate[2][RATES_MAX];
    struct ti_trial_result *ran = malloc(sizeof *ran);
    struct ti_trial run = *program;
    struct ti_spread all;
    double instructions;
    bool folds = true;
    ti_status st;

    if (!ran)
        return ti_err_errno(err, TI_ERR_IO, "cannot measure '%s'", program->program[0]);
    st = count(r, program, ran, err);
    instructions = ran->volume;
    set_text(&c->host.counter, ran->counter);
    run.counter = "cputime";
    for (int i = 0; i < 2 * runs && !st; i++) {
        run.folded = i % 2;
        run.label = run.folded ? "timing the program, folded" : "timing the program";
        st = folds || !run.folded ? ti_trial_run(r, &run, ran, err) : TI_OK;
        if (ti_trial_not_folded(&run, st)) {
            folds = false;
            st = TI_OK;
        }
        rate[i % 2][i / 2] = ran->volume > 0 ? 1e9 * instructions / ran->volume : 0;
    }
    free(ran);
    if (st)
        return st;
    set_text(&c->host.program, program->program[0]);
    all = ti_spread_of(rate[0], (int)runs);
    c->host.speed = all.median;
    c->host.deviation = deviation_of(&all);
    c->host.folding = folds ? program->np : 0;
    all = ti_spread_of(rate[1], folds ? (int)runs : 0);
    c->host.folded_speed = all.median;
    c->host.folded_deviation = deviation_of(&all);
    if (!(c->host.speed > 0))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no CPU time between its calls of MPI",
                          program->program[0]);
    return TI_OK;
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
                           .folded = true};
    struct ti_trial_result *ran = malloc(sizeof *ran);
    struct ti_samples folded = {0};
    ti_status st;

    snprintf(text, sizeof text, "%" PRId64, repeats);
    if (!ran)
        return ti_err_errno(err, TI_ERR_IO, "cannot time bursts");
    st = ti_trial_run(r, &run, ran, err);
    free(ran);
    if (st && !ti_trial_not_folded(&run, st))
        return st;
    set_text(&c->host.program, "burst");
    set_text(&c->host.counter, "by construction");
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

static json_t *run_json(const struct ti_trial_result *ran, int64_t np)
{
    json_t *ranks = json_array();

    for (int64_t rank = 0; rank < np; rank++)
        json_array_append_new(ranks, json_real(ran->span[rank].seconds));
    return json_pack("{s:f, s:o, s:o}", "time_s", ran->longest, "start_skew_s",
                     ran->start_skew >= 0 ? json_real(ran->start_skew) : json_null(), "ranks_s",
                     ranks);
}

static ti_status measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                         bool quiet, json_t *list, struct ti_err *err)
{
    struct ti_trial_result *ran = malloc(sizeof *ran);
    struct ti_trial run = *program;
    ti_status st = TI_OK;

    if (!ran)
        return ti_err_errno(err, TI_ERR_IO, "cannot measure '%s'", program->program[0]);
    run.counter = "cputime";
    run.whole = true;
    run.label = "timing the program";
    run.nruns = runs;
    for (int64_t i = 0; i < runs && !st; i++) {
        run.nth = i;
        st = ti_trial_run(r, &run, ran, err);
        if (!st) {
            json_array_append_new(list, run_json(ran, program->np));
            if (!quiet)
                printf("run %" PRId64 ": %.6f s\n", i + 1, ran->longest);
        }
    }
    ti_progress_end(!st);
    free(ran);
    return st;
}

ti_status ti_rate_measure(const struct ti_launcher *r, const struct ti_trial *program, int64_t runs,
                          const char *path, bool quiet, bool json, struct ti_err *err)
{
    json_t *list = json_array(), *all, *words = json_array();
    ti_status st = measure(r, program, runs, quiet, list, err);

    for (int i = 0; i < program->words; i++)
        json_array_append_new(words, json_string(program->program[i]));
    all = json_pack("{s:s, s:o, s:I, s:o}", "format", "tiara-measured", "program", words, "np",
                    (json_int_t)program->np, "runs", list);
    if (!st && (!all || json_dump_file(all, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0))
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    if (!st && json && json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0)
        putchar('\n');
    json_decref(all);
    return st;
}
