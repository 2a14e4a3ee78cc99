/* ti-acquire: run an MPI program, folded if need be, and trace it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/run/acquisition.h"
#include "acquire/where/check_sites.h"
#include "acquire/plan/composite.h"
#include "acquire/run/job.h"
#include "acquire/run/measure.h"
#include "acquire/where/where.h"

/* All steps before the launch.  The run directory is made before the program first runs, so that
 * an unusable directory costs nothing. */
static ti_status prepare(struct ti_job *j, struct ti_err *err)
{
    ti_status st = ti_job_check(j, err);
    struct ti_err why;

    if (st == TI_OK)
        st = ti_place_check_local(j->o, j->machine.host, j->machine.cores, err);
    if (st == TI_OK)
        st = ti_job_check_output(j, err);
    if (st == TI_OK && j->o->dry_run && ti_rundir_peek(j->dir_name, j->o->force, &why) != TI_OK)
        ti_warn("%s: a run would be refused", why.text);
    return st == TI_OK ? ti_job_prepare(j, err) : st;
}

/* Say what a failed run has left and how to use it; remove what is useless. */
static void say_what_is_left(struct ti_job *j)
{
    if (!j->ranks.with_trace) {
        ti_rundir_discard(&j->dir, false);
        return;
    }
    ti_ranks_say(&j->ranks);
    if (!j->ranks.events) {
        ti_say("nothing was written yet: the traces hold no events%s; --buffer 4K writes earlier",
               j->o->keep || j->o->no_gather ? "" : ", and are removed");
        if (j->o->keep || j->o->no_gather)
            return;
        ti_rundir_remove(j->dir.path);
        ti_rundir_discard(&j->dir, true);
        return;
    }
    ti_say("what was traced is in '%s': 'ti-info %s' looks at it, 'ti-gather %s -o %s' bundles it",
           j->dir.given, j->dir.given, j->dir.given, j->output);
}

static ti_status conclude(struct ti_job *j, struct ti_err *err)
{
    ti_status app =
        ti_outcome_check(&j->outcome, &j->ranks, &j->o->program, j->choice.valgrind, err);
    ti_status st;

    ti_outcome_say(&j->outcome, &j->ranks);
    if (app != TI_OK && !ti_ranks_complete(&j->ranks)) {
        say_what_is_left(j);
        return app;
    }
    if (!ti_ranks_complete(&j->ranks))
        ti_ranks_say(&j->ranks);
    if (j->o->no_gather || j->signal) {
        ti_say("the traces are in '%s'", j->dir.given);
        return app != TI_OK ? app : ti_ranks_complete(&j->ranks) ? TI_OK : TI_ERR_PARTIAL;
    }
    st = ti_job_gather(j, app == TI_OK ? err : &(struct ti_err){"", ""});
    if (j->bundled)
        ti_say(st == TI_OK && !j->o->keep ? "wrote '%s'" : "wrote '%s'; the traces stay in '%s'",
               j->output, j->dir.given);
    return app != TI_OK ? app : st;
}

static ti_status acquire_here(struct ti_job *j, struct ti_err *err)
{
    ti_status st = prepare(j, err);

    if (st != TI_OK) {
        ti_rundir_unscratch(&j->dir);
        ti_rundir_discard(&j->dir, false);
        return st;
    }
    if (j->o->dry_run) {
        if (!j->o->json)
            ti_job_print(j, stdout);
        return TI_OK;
    }
    if (!j->o->quiet)
        ti_job_print(j, stderr);
    st = ti_job_run(j, err);
    if (st != TI_OK)
        return st;
    return conclude(j, err);
}

/* --dry-run over nodes: no node is contacted, and this machine is used only for a pilot, if one
 * was asked for. */
static ti_status plan_only(struct ti_job *j, const struct ti_sites *sites, struct ti_err *err)
{
    const struct ti_options *o = j->o;
    bool hostfile_out = o->write_hostfile && strcmp(o->write_hostfile, "-") == 0;
    struct ti_place_facts facts = {.use = NULL};
    struct ti_composite plan = {.o = o};
    char text[256];
    ti_status st = TI_OK;

    if (o->pilot && !o->rank_bytes) {
        st = ti_job_check(j, err);
        facts.valgrind = j->choice.valgrind;
        if (st == TI_OK)
            st = ti_measure_rank(j, &j->model, &facts.rank_bytes, err);
    }
    if (st == TI_OK)
        st = ti_composite_plan(&plan, o, sites, &facts, err);
    if (o->json)
        ti_composite_summary(&plan, st, err);
    else if (plan.placed)
        ti_composite_print(&plan, hostfile_out ? stderr : stdout);
    if (j->model.n)
        ti_say("memory of a rank: %s", ti_memory_model_text(&j->model, text, sizeof text));
    if (plan.placed)
        ti_composite_say(&plan);
    ti_composite_free(&plan);
    return st;
}

/* Several nodes, or this machine. */
static ti_status act(struct ti_options *o, struct ti_job *j, struct ti_err *err)
{
    struct ti_sites *sites = NULL;
    char what[TI_WHERE_BYTES], *more = NULL;
    ti_status st = ti_where_find(o, &sites, what, &more, err);

    ti_where_say(more);
    free(more);
    if (st == TI_OK && what[0])
        ti_say("on %s", what);
    if (st == TI_OK && sites && !o->ranks_per_node)
        o->ranks_per_node = sites->target_ranks_per_node;
    if (st == TI_OK && !sites && j->o->probe)
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--probe looks at nodes: --sites, --hostfile or a job says which");
    if (st == TI_OK && sites && j->o->dry_run && !j->o->probe) {
        st = plan_only(j, sites, err);
    } else {
        if (st == TI_OK)
            st = sites ? ti_acquisition_run(j, sites, err) : acquire_here(j, err);
        ti_untraced_say(&j->ranks);
        ti_negative_say(&j->ranks);
        if (!j->signal)
            ti_caveats_say(&j->ranks);
        if (j->bundled && !j->signal)
            ti_job_say_replayable(j);
        if (j->o->json)
            ti_job_summary(j, st, err);
    }
    ti_sites_free(sites);
    return st;
}

int main(int argc, char **argv)
{
    struct ti_options options;
    struct ti_job job = {.o = &options, .dir = {.fd = -1}};
    struct ti_err err = {"", ""};
    ti_status st;
    int early;

    ti_launch_init();
    early = ti_options_parse(argc, argv, &options);
    if (early >= 0) {
        ti_options_free(&options);
        return early;
    }
    ti_talk_init(ti_acquire_cli.tool, options.quiet, options.no_progress);
    st = options.check_sites ? ti_check_sites(&options, &err) : act(&options, &job, &err);
    if (err.text[0])
        ti_cli_fail(&ti_acquire_cli, st, &err);
    if (fflush(stdout) != 0 && st == TI_OK) {
        ti_err_errno(&err, TI_ERR_IO, "cannot write to standard output");
        st = ti_cli_fail(&ti_acquire_cli, TI_ERR_IO, &err);
    }
    early = job.signal;
    ti_job_free(&job);
    ti_options_free(&options);
    if (early)
        ti_launch_die(early);
    return st;
}
