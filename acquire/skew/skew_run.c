/* One run, and the totals of its traces. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/pipeline.h"
#include "acquire/skew/skew.h"
#include "trace/rankname.h"
#include "trace/reader.h"

const char *const ti_skew_kind_text[TI_SKEW_KINDS] = {"native", "bare", "traced"};

/* Pin the job to the first `n` cores that it may use. */
static void pin_to_cores(struct ti_acquisition *a, int n)
{
    cpu_set_t all = a->pin;
    int taken = 0;

    if (!a->pinned && sched_getaffinity(0, sizeof all, &all) < 0)
        return;
    CPU_ZERO(&a->pin);
    for (int core = 0; core < CPU_SETSIZE && taken < n; core++)
        if (CPU_ISSET((size_t)core, &all)) {
            CPU_SET((size_t)core, &a->pin);
            taken++;
        }
    a->pinned = true;
    a->machine.cores = taken;
}

/* Add a total; *known becomes false if a trace lacks it. */
static void add(const struct ti_reader *r, const char *key, uint64_t *sum, bool *known)
{
    uint64_t n;

    if (ti_reader_info_u64(r, key, &n))
        *sum += n;
    else
        *known = false;
}

static ti_status read_rank(const char *dir, int64_t rank, struct ti_sample *s, struct ti_err *err)
{
    char path[PATH_MAX + TI_RANK_NAME_BYTES], name[TI_RANK_NAME_BYTES];
    uint64_t outside, before = s->outside;
    bool known;
    struct ti_totals totals = {0};
    struct ti_reader *r = NULL;
    ti_status st;

    snprintf(path, sizeof path, "%s/%s", dir, ti_rank_name(rank, name));
    st = ti_reader_open(path, &r, err);
    if (st == TI_OK)
        st = ti_reader_skip(r, err);
    if (st == TI_OK) {
        ti_reader_totals(r, &totals);
        s->events += totals.events;
        s->volume += totals.volume;
        add(r, "negative_bursts", &s->negative, &known);
        add(r, "whole", &s->whole, &s->whole_known);
        add(r, "outside", &s->outside, &s->outside_known);
        add(r, "blocks", &s->blocks, &s->blocks_known);
        add(r, "blocks_own", &s->blocks_own, &s->blocks_known);
        outside = s->outside - before;
        if (s->outside_known && outside) {
            double off = fabs((double)totals.volume - (double)outside) / (double)outside;

            s->worst = off > s->worst ? off : s->worst;
        }
    }
    ti_reader_close(r);
    return st;
}

static ti_status read_all(const struct ti_acquisition *a, struct ti_sample *s, struct ti_err *err)
{
    ti_status st = TI_OK;

    *s = (struct ti_sample){.seconds = a->ranks.app_seconds_max,
                            .bytes = a->ranks.bytes,
                            .whole_known = true,
                            .outside_known = true,
                            .blocks_known = true};
    for (int64_t rank = 0; rank < a->o->np && st == TI_OK; rank++)
        st = read_rank(a->dir.path, rank, s, err);
    return st;
}

static ti_status run_it(struct ti_acquisition *a, struct ti_sample *out, struct ti_err *err)
{
    ti_status st = ti_pipeline_open(a, err);

    if (st == TI_OK)
        st = ti_pipeline_try(a, err);
    if (st != TI_OK || a->o->dry_run)
        return st;
    st = ti_outcome_check(&a->outcome, &a->ranks, &a->o->program, a->choice.valgrind, err);
    if (st == TI_OK && !ti_ranks_complete(&a->ranks)) {
        ti_ranks_say(&a->ranks);
        st = ti_err_set(err, TI_ERR_APP, "not all ranks left a complete trace");
    }
    return st == TI_OK ? read_all(a, out, err) : st;
}

static void print_command(const struct ti_acquisition *a, const char *label)
{
    char *command = ti_args_shell(&a->command);

    printf("%s\n  %s\n", label, command ? command : "?");
    free(command);
}

ti_status ti_skew_do(struct ti_skew *s, const struct ti_skew_run *run, struct ti_sample *out,
                     char *path, struct ti_err *err)
{
    struct ti_options o = s->o->run;
    struct ti_acquisition *a = malloc(sizeof *a);
    const struct ti_args *plain = &s->plain_command;
    ti_status st;
    int n;

    if (!a)
        return ti_err_errno(err, TI_ERR_IO, "cannot run '%s'", s->facts.program.given);
    *a = s->facts;
    o.np = run->np;
    o.json = false;
    a->o = &o;
    a->choice = *run->counter;
    if (s->plain.path && !run->counter->of->compiled) {
        a->program = s->plain;
        o.program = *plain;
    }
    a->whole = run->kind != TI_SKEW_TRACED;
    a->outside = a->repeated = true;
    a->label = run->what;
    a->nth = s->done;
    a->nruns = s->runs;
    if (run->cores)
        pin_to_cores(a, run->cores);
    n = snprintf(a->dir_name, sizeof a->dir_name, "%s/%s", s->facts.dir_name, run->name);
    st = n < (int)sizeof a->dir_name
             ? run_it(a, out, err)
             : ti_err_set(err, TI_ERR_USAGE, "the run directory's name is too long");
    if (st == TI_OK && o.dry_run)
        print_command(a, run->label);
    if (st != TI_OK)
        ti_err_prefix(err, st, "%s", run->label);
    s->facts.signal = a->signal;
    /* a directory that was refused is not ours to remove */
    snprintf(path, PATH_MAX, "%s", a->dir.fd >= 0 ? a->dir.path : "");
    memset(&a->program, 0, sizeof a->program); /* shared by all runs */
    ti_acquisition_free(a);
    free(a);
    if (st != TI_OK)
        ti_skew_done(s, path);
    s->done++;
    return st;
}

void ti_skew_done(const struct ti_skew *s, const char *path)
{
    if (*path && !s->o->run.keep)
        ti_rundir_remove(path);
}
