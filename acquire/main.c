/* ti-acquire: run an MPI program, folded if need be, and trace it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/plan/composite.h"
#include "acquire/run/acquisition.h"
#include "acquire/run/measure.h"
#include "acquire/run/nodes.h"
#include "acquire/where/check_sites.h"
#include "acquire/where/where.h"

/* All steps before the launch.  The run directory is made before the program first runs, so that
 * an unusable directory costs nothing. */
static ti_status prepare(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_acquisition_check(a, err);
    struct ti_err why;

    if (st == TI_OK)
        st = ti_place_check_local(a->o, a->machine.host, a->machine.cores, err);
    if (st == TI_OK)
        st = ti_acquisition_check_output(a, err);
    if (st == TI_OK && a->o->dry_run && ti_rundir_peek(a->dir_name, a->o->force, &why) != TI_OK)
        ti_warn("%s: a run would be refused", why.text);
    return st == TI_OK ? ti_acquisition_prepare(a, err) : st;
}

/* Say what a failed run has left and how to use it; remove what is useless. */
static void say_what_is_left(struct ti_acquisition *a)
{
    if (!a->ranks.with_trace) {
        ti_rundir_discard(&a->dir, false);
        return;
    }
    ti_ranks_say(&a->ranks);
    if (!a->ranks.events) {
        ti_say("nothing was written yet: the traces hold no events%s; --buffer 4K writes earlier",
               a->o->keep || a->o->no_gather ? "" : ", and are removed");
        if (a->o->keep || a->o->no_gather)
            return;
        ti_rundir_remove(a->dir.path);
        ti_rundir_discard(&a->dir, true);
        return;
    }
    ti_say("what was traced is in '%s': 'ti-info %s' looks at it, 'ti-gather %s -o %s' bundles it",
           a->dir.given, a->dir.given, a->dir.given, a->output);
}

static ti_status conclude(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status app =
        ti_outcome_check(&a->outcome, &a->ranks, &a->o->program, a->choice.valgrind, err);
    ti_status st;

    ti_outcome_say(&a->outcome, &a->ranks);
    if (app != TI_OK && !ti_ranks_complete(&a->ranks)) {
        say_what_is_left(a);
        return app;
    }
    if (!ti_ranks_complete(&a->ranks))
        ti_ranks_say(&a->ranks);
    if (a->o->no_gather || a->signal) {
        ti_say("the traces are in '%s'", a->dir.given);
        return app != TI_OK ? app : ti_ranks_complete(&a->ranks) ? TI_OK : TI_ERR_PARTIAL;
    }
    st = ti_acquisition_gather(a, app == TI_OK ? err : &(struct ti_err){"", ""});
    if (a->bundled)
        ti_say(st == TI_OK && !a->o->keep ? "wrote '%s'" : "wrote '%s'; the traces stay in '%s'",
               a->output, a->dir.given);
    return app != TI_OK ? app : st;
}

static ti_status acquire_here(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = prepare(a, err);

    if (st != TI_OK) {
        ti_rundir_unscratch(&a->dir);
        ti_rundir_discard(&a->dir, false);
        return st;
    }
    if (a->o->dry_run) {
        if (!a->o->json)
            ti_acquisition_print(a, stdout);
        return TI_OK;
    }
    if (!a->o->quiet)
        ti_acquisition_print(a, stderr);
    st = ti_acquisition_run(a, err);
    if (st != TI_OK)
        return st;
    return conclude(a, err);
}

/* --dry-run over nodes: no node is contacted, and this machine is used only for a pilot, if one
 * was asked for. */
static ti_status plan_only(struct ti_acquisition *a, const struct ti_sites *sites,
                           struct ti_err *err)
{
    const struct ti_options *o = a->o;
    bool hostfile_out = o->write_hostfile && strcmp(o->write_hostfile, "-") == 0;
    struct ti_place_facts facts = {.use = NULL};
    struct ti_composite plan = {.o = o};
    char text[256];
    ti_status st = TI_OK;

    if (o->pilot && !o->rank_bytes) {
        st = ti_acquisition_check(a, err);
        facts.valgrind = a->choice.valgrind;
        if (st == TI_OK)
            st = ti_measure_rank(a, &a->model, &facts.rank_bytes, err);
    }
    if (st == TI_OK)
        st = ti_composite_plan(&plan, o, sites, &facts, err);
    if (o->json)
        ti_composite_summary(&plan, st, err);
    else if (plan.placed)
        ti_composite_print(&plan, hostfile_out ? stderr : stdout);
    if (a->model.n)
        ti_say("memory of a rank: %s", ti_memory_model_text(&a->model, text, sizeof text));
    if (plan.placed)
        ti_composite_say(&plan);
    ti_composite_free(&plan);
    return st;
}

/* Several nodes, or this machine. */
static ti_status act(struct ti_options *o, struct ti_acquisition *a, struct ti_err *err)
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
    if (st == TI_OK && !sites && a->o->probe)
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--probe looks at nodes: --sites, --hostfile or a job says which");
    if (st == TI_OK && sites && a->o->dry_run && !a->o->probe) {
        st = plan_only(a, sites, err);
    } else {
        if (st == TI_OK)
            st = sites ? ti_nodes_run(a, sites, err) : acquire_here(a, err);
        ti_untraced_say(&a->ranks);
        ti_negative_say(&a->ranks);
        if (!a->signal)
            ti_caveats_say(&a->ranks);
        if (a->bundled && !a->signal)
            ti_acquisition_say_replayable(a);
        if (a->o->json)
            ti_acquisition_summary(a, st, err);
    }
    ti_sites_free(sites);
    return st;
}

int main(int argc, char **argv)
{
    struct ti_options options;
    struct ti_acquisition job = {.o = &options, .dir = {.fd = -1}};
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
    ti_acquisition_free(&job);
    ti_options_free(&options);
    if (early)
        ti_launch_die(early);
    return st;
}
