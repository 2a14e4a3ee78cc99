/* ti-skew: the plan of runs, and their order. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/preflight.h"
#include "acquire/skew/skew.h"
#include "common/json.h"

static ti_status no_memory(struct ti_err *err)
{
    return ti_err_errno(err, TI_ERR_IO, "cannot measure");
}

/* --- plan ----------------------------------------------------------------- */

/* Fill `out` with the folding factors for which this machine has enough cores; returns their
 * number. */
static int foldings(const struct ti_skew *s, int64_t np, struct ti_skew_fold *out)
{
    int n = 0;

    for (int i = 0; i < s->o->nfold; i++) {
        int64_t factor = s->o->fold[i] < np ? s->o->fold[i] : np;
        int64_t cores = (np + factor - 1) / factor;

        if (cores > s->facts.machine.cores || (n && out[n - 1].factor == factor))
            continue;
        out[n++] = (struct ti_skew_fold){.factor = factor, .cores = (int)cores};
    }
    return n;
}

static ti_status check_foldings(const struct ti_skew *s, struct ti_err *err)
{
    struct ti_skew_fold fold[TI_SKEW_LIST_MAX];

    for (int i = 0; s->o->nfold && i < s->o->nnp; i++) {
        int64_t np = s->o->np[i], cores = s->facts.machine.cores;
        int n = foldings(s, np, fold);

        if (!n) {
            ti_err_set(err, TI_ERR_INPUT,
                       "%" PRId64 " ranks cannot be folded so little: there are %" PRId64 " cores",
                       np, cores);
            ti_err_hint(err, "the smallest folding factor of %" PRId64 " ranks here is %" PRId64,
                        np, (np + cores - 1) / cores);
            return TI_ERR_INPUT;
        }
        if (fold[0].factor > s->o->fold[0])
            ti_warn("%" PRId64 " ranks on %" PRId64
                    " cores: the smallest folding factor is %" PRId64
                    ", smaller ones are left out; %" PRId64 " takes the place of the unfolded run",
                    np, cores, (np + cores - 1) / cores, fold[0].factor);
    }
    return TI_OK;
}

/* Only bursts in equal units can be compared. */
static const char *unit_of(const struct ti_counter_choice *c)
{
    return c->of->takes_event && strcmp(c->event, c->of->event) != 0 ? c->event : c->of->unit;
}

static ti_status choose_other(struct ti_skew *s, struct ti_err *err)
{
    const char *lib = s->facts.paths.valgrind[0] ? s->facts.paths.valgrind : NULL;
    const char *own = unit_of(&s->facts.choice), *theirs;
    ti_status st =
        ti_counter_choose(s->o->against, s->facts.sum, &s->facts.program, lib, &s->other, err);

    if (st != TI_OK)
        return ti_err_prefix(err, st, "--against");
    if (strcmp(s->other.counter, s->facts.choice.counter) == 0)
        return ti_err_set(err, TI_ERR_USAGE, "--against is the counter itself, %s",
                          s->other.counter);
    theirs = unit_of(&s->other);
    if (strcmp(own, theirs) != 0)
        return ti_err_set(err, TI_ERR_USAGE,
                          "%s counts %s and %s counts %s: their bursts cannot be compared",
                          s->facts.choice.counter, own, s->other.counter, theirs);
    return TI_OK;
}

/* Whether native runs differ from bare ones. */
static bool has_native(const struct ti_skew *s)
{
    return s->facts.choice.valgrind || s->plain.path;
}

static ti_status find_plain(struct ti_skew *s, struct ti_err *err)
{
    ti_status st = ti_program_find(s->o->plain, &s->plain, err);

    if (st != TI_OK)
        return ti_err_prefix(err, st, "--plain");
    if (!s->facts.choice.of->compiled)
        return ti_err_set(err, TI_ERR_USAGE, "--plain is for --counter blocks, not %s",
                          s->facts.choice.of->name);
    ti_args_add(&s->plain_command, s->o->plain);
    ti_args_add_all(&s->plain_command, &s->o->run.program, 1);
    return ti_args_ok(&s->plain_command) ? TI_OK : no_memory(err);
}

static int count_runs(const struct ti_skew *s)
{
    struct ti_skew_fold fold[TI_SKEW_LIST_MAX];
    int n = 0;

    for (int i = 0; i < s->o->nnp; i++)
        n += (int)s->o->runs * (2 + has_native(s) + foldings(s, s->o->np[i], fold)) +
             (s->o->against ? 2 : 0);
    return n;
}

static ti_status check(struct ti_skew *s, struct ti_err *err)
{
    struct ti_acquisition *a = &s->facts;
    ti_status st = s->o->plot ? ti_skew_plot_check(s->o->plot, err) : TI_OK;
    int n;

    if (st == TI_OK)
        st = ti_preflight_here(a, err);
    if (st == TI_OK)
        st = check_foldings(s, err);
    if (st == TI_OK && s->o->plain)
        st = find_plain(s, err);
    if (st == TI_OK && has_native(s))
        st = ti_counter_choose("cputime", false, &a->program, NULL, &s->native, err);
    if (st == TI_OK && s->o->against)
        st = choose_other(s, err);
    if (st != TI_OK)
        return st;
    n = s->o->run.trace_dir ? snprintf(a->dir_name, PATH_MAX, "%s", s->o->run.trace_dir)
                            : snprintf(a->dir_name, PATH_MAX, "%s.skew", a->program.name);
    if (n >= PATH_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is too long");
    s->runs = count_runs(s);
    s->np = calloc((size_t)s->o->nnp, sizeof *s->np);
    if (!s->np)
        return ti_err_errno(err, TI_ERR_IO, "cannot begin");
    return s->o->run.dry_run ? TI_OK : ti_rundir_open(a->dir_name, s->o->run.force, &s->top, err);
}

/* --- runs ----------------------------------------------------------------- */

/* Do run `i` of `n` of this np; `what` makes the name of its directory unique. */
static ti_status run(struct ti_skew *s, struct ti_skew_run r, int64_t i, int64_t n,
                     const char *what, struct ti_sample *out, char *path, struct ti_err *err)
{
    snprintf(r.name, sizeof r.name, "np%" PRId64 "-%s-%" PRId64, r.np, what, i + 1);
    snprintf(r.what, sizeof r.what, "np %" PRId64 ", %s", r.np, what);
    if (s->o->run.dry_run)
        snprintf(r.label, sizeof r.label, "np %" PRId64 ", %s: %" PRId64 " time%s", r.np, what, n,
                 n == 1 ? "" : "s");
    else
        snprintf(r.label, sizeof r.label, "run %d of %d (np %" PRId64 ", %s)", s->done + 1, s->runs,
                 r.np, what);
    if (s->o->run.verbose && !s->o->run.dry_run)
        ti_say("%s", r.label);
    return ti_skew_do(s, &r, out, path, err);
}

/* Repetitions of each run; a dry run prints each command once. */
static int64_t runs(const struct ti_skew *s)
{
    return s->o->run.dry_run ? 1 : s->o->runs;
}

/* Run all kinds in turns and reverse their order each time.  A machine that becomes faster or
 * slower then affects all kinds alike. */
static ti_status by_turns(struct ti_skew *s, struct ti_skew_np *np, struct ti_err *err)
{
    char path[PATH_MAX];

    for (int kind = has_native(s) ? TI_SKEW_NATIVE : TI_SKEW_BARE; kind < TI_SKEW_KINDS; kind++)
        if (!(np->sample[kind] = calloc((size_t)s->o->runs, sizeof(struct ti_sample))))
            return no_memory(err);
    for (int64_t i = 0; i < runs(s); i++)
        for (int turn = 0; turn < TI_SKEW_KINDS; turn++) {
            int kind = i % 2 ? TI_SKEW_KINDS - 1 - turn : turn;
            struct ti_skew_run r = {.kind = (enum ti_skew_kind)kind,
                                    .np = np->np,
                                    .counter =
                                        kind == TI_SKEW_NATIVE ? &s->native : &s->facts.choice};
            ti_status st;

            if (!np->sample[kind])
                continue;
            st = run(s, r, i, s->o->runs, ti_skew_kind_text[kind], &np->sample[kind][i], path, err);
            if (st != TI_OK)
                return st;
            ti_skew_done(s, path);
        }
    return TI_OK;
}

/* Run each folding once and compare it with the first folding's run of the same number.  The
 * first folding is compared with its own previous run. */
static ti_status fold_once(struct ti_skew *s, struct ti_skew_np *np, int64_t i, char *base,
                           char *before, struct ti_err *err)
{
    char path[PATH_MAX], what[32];
    ti_status st = TI_OK;

    for (int f = 0; f < np->nfold && st == TI_OK; f++) {
        struct ti_skew_fold *fold = &np->fold[f];
        struct ti_skew_run r = {.kind = TI_SKEW_TRACED,
                                .np = np->np,
                                .counter = &s->facts.choice,
                                .cores = fold->cores};
        const char *with = f ? base : before;

        snprintf(what, sizeof what, "fold%" PRId64, fold->factor);
        st = run(s, r, i, s->o->runs, what, &fold->sample[i], path, err);
        if (st == TI_OK && *with && !s->o->run.dry_run)
            st = ti_skew_compare(with, path, np->np, fold->bursts, err);
        if (st == TI_OK && f == 0)
            strcpy(base, path);
        else if (st == TI_OK || *path)
            ti_skew_done(s, path);
    }
    ti_skew_done(s, before);
    strcpy(before, base);
    return st;
}

static ti_status fold(struct ti_skew *s, struct ti_skew_np *np, struct ti_err *err)
{
    double *slow = calloc((size_t)s->o->runs, sizeof *slow);
    char *paths = calloc(2, PATH_MAX), *base = paths, *before = paths + PATH_MAX;
    ti_status st = slow && paths ? TI_OK : no_memory(err);

    np->nfold = foldings(s, np->np, np->fold);
    for (int f = 0; f < np->nfold && st == TI_OK; f++) {
        np->fold[f].sample = calloc((size_t)s->o->runs, sizeof(struct ti_sample));
        np->fold[f].bursts = calloc(1, sizeof *np->fold[f].bursts);
        if (!np->fold[f].sample || !np->fold[f].bursts)
            st = no_memory(err);
    }
    for (int64_t i = 0; i < runs(s) && st == TI_OK; i++)
        st = fold_once(s, np, i, base, before, err);
    if (paths)
        ti_skew_done(s, before);
    for (int f = 0; f < np->nfold && st == TI_OK; f++) {
        for (int64_t i = 0; i < s->o->runs; i++) {
            double first = np->fold[0].sample[i].seconds;

            slow[i] = first > 0 ? np->fold[f].sample[i].seconds / first : 0;
        }
        np->fold[f].slowdown = ti_spread_of(slow, (int)s->o->runs);
    }
    free(slow);
    free(paths);
    return st;
}

static ti_status against(struct ti_skew *s, struct ti_skew_np *np, struct ti_err *err)
{
    struct ti_skew_run own = {.kind = TI_SKEW_TRACED, .np = np->np, .counter = &s->facts.choice};
    struct ti_skew_run other = {.kind = TI_SKEW_TRACED, .np = np->np, .counter = &s->other};
    char path[2][PATH_MAX] = {"", ""};
    struct ti_sample sample;
    ti_status st;

    np->against = calloc(1, sizeof *np->against);
    st = np->against ? TI_OK : no_memory(err);
    if (st == TI_OK)
        st = run(s, other, 0, 1, s->other.of->name, &np->other, path[0], err);
    if (st == TI_OK)
        st = run(s, own, 0, 1, s->facts.choice.of->name, &sample, path[1], err);
    if (st == TI_OK && !s->o->run.dry_run)
        st = ti_skew_compare(path[0], path[1], np->np, np->against, err);
    ti_skew_done(s, path[0]);
    ti_skew_done(s, path[1]);
    return st;
}

static ti_status measure(struct ti_skew *s, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int i = 0; i < s->o->nnp && st == TI_OK; i++) {
        struct ti_skew_np *np = &s->np[i];
        int64_t cores = s->facts.machine.cores;

        np->np = s->o->np[i];
        np->folding = (np->np + cores - 1) / cores;
        st = by_turns(s, np, err);
        if (st == TI_OK && s->o->nfold)
            st = fold(s, np, err);
        if (st == TI_OK && s->o->against)
            st = against(s, np, err);
        s->nnp += st == TI_OK;
    }
    return st;
}

static void release(struct ti_skew *s)
{
    for (int i = 0; s->np && i < s->o->nnp; i++) {
        for (int kind = 0; kind < TI_SKEW_KINDS; kind++)
            free(s->np[i].sample[kind]);
        for (int f = 0; f < s->np[i].nfold; f++) {
            free(s->np[i].fold[f].sample);
            free(s->np[i].fold[f].bursts);
        }
        free(s->np[i].against);
    }
    free(s->np);
    ti_program_free(&s->plain);
    ti_args_free(&s->plain_command);
    ti_rundir_discard(&s->top, false);
    ti_acquisition_free(&s->facts);
}

/* Print the figures; JSON also has the error, if there was one. */
static ti_status report(struct ti_skew *s, ti_status st, struct ti_err *err)
{
    json_t *j;

    if (s->o->run.dry_run)
        return st;
    if (st == TI_OK && s->o->plot)
        st = ti_skew_plot(s, s->o->plot, err);
    if (!s->o->run.json) {
        if (s->nnp)
            ti_skew_print(s);
        return st;
    }
    j = s->np ? ti_skew_json(s) : json_object();
    json_object_set_new(j, "status", json_integer(st));
    if (st != TI_OK)
        json_object_set_new(j, "error", ti_json_text(err->text));
    json_dumpf(j, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(j);
    return st;
}

int main(int argc, char **argv)
{
    struct ti_skew_options options;
    struct ti_skew skew = {.o = &options, .top = {.fd = -1}};
    struct ti_err err = {"", ""};
    ti_status st;
    int early;

    ti_launch_init();
    early = ti_skew_options_parse(argc, argv, &options);
    if (early >= 0) {
        ti_options_free(&options.run);
        return early;
    }
    ti_talk_init(ti_skew_cli.tool, options.run.quiet, options.run.progress);
    skew.facts =
        (struct ti_acquisition){.o = &options.run, .backend = &ti_backend_local, .dir = {.fd = -1}};
    st = check(&skew, &err);
    if (st == TI_OK)
        st = measure(&skew, &err);
    ti_progress_end(st == TI_OK);
    st = report(&skew, st, &err);
    if (err.text[0])
        ti_cli_fail(&ti_skew_cli, st, &err);
    if (st == TI_OK)
        st = (ti_status)ti_cli_shown(ti_skew_cli.tool);
    early = skew.facts.signal;
    release(&skew);
    ti_options_free(&options.run);
    if (early)
        ti_launch_die(early);
    return st;
}
