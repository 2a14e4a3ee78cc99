#include "acquire/run/pipeline.h"

#include <string.h>
#include <unistd.h>

#include "acquire/run/describe.h"
#include "acquire/run/result.h"
#include "acquire/run/supervise.h"

/* --- before and after the tries ------------------------------------------ */

/* The run directory is made before the program first runs, so that an unusable directory costs
 * nothing. */
ti_status ti_pipeline_open(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st;
    char text[32];

    if (a->o->dry_run)
        return TI_OK;
    st = ti_rundir_open(a->dir_name, a->o->force, &a->dir, err);
    if (st != TI_OK || !a->sites)
        return st;
    if (a->o->log)
        snprintf(a->log_name, sizeof a->log_name, "%s", a->o->log);
    else
        snprintf(a->log_name, sizeof a->log_name, "%.4000s/%s", a->dir.path, TI_RUN_LOG);
    st = ti_runlog_open(&a->log, a->log_name, err);
    ti_runlog_note(&a->log, "ti-acquire %s, %s", ti_version(), ti_time_text(ti_wall(), text));
    return st;
}

/* The program was not run: remove everything of ours.  The log stays if mpirun ran. */
static void discard(struct ti_acquisition *a)
{
    if (!a->o->log && a->log.file && !a->step_start[TI_STEP_DRY_LAUNCH]) {
        ti_runlog_close(&a->log);
        unlink(a->log_name);
    }
    ti_rundir_unscratch(&a->dir);
    ti_rundir_discard(&a->dir, false);
}

/* --- one try ------------------------------------------------------------- */

static void print_plan(const struct ti_acquisition *a)
{
    const struct ti_options *o = a->o;
    bool to_stdout = o->write_hostfile && strcmp(o->write_hostfile, "-") == 0;

    if (!a->planned || a->repeated)
        return;
    if (o->dry_run && !o->json)
        ti_describe_print(a, to_stdout ? stderr : stdout);
    else if (!o->dry_run && !o->quiet)
        ti_describe_print(a, stderr);
    if (a->log.file)
        ti_describe_print(a, a->log.file);
}

static ti_status launch(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = a->backend->open(a, err);

    if (st == TI_OK)
        st = ti_describe_start(a, err);
    if (st == TI_OK)
        st = ti_supervise(a, err);
    else
        a->backend->stop(a);
    ti_rundir_unscratch(&a->dir);
    if (!a->outcome.launched && a->json)
        json_object_set_new(a->json, "state", json_string("not started"));
    return st;
}

static ti_status collect(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = a->backend->collect(a, err);
    int sig;

    if (st != TI_OK)
        return st;
    ti_describe_end(a);
    /* the traces stay where they are if a signal came after the program had ended */
    if (!a->signal && (sig = a->backend->wait(a, 0)))
        return ti_acquisition_interrupted(a, sig, err);
    /* mpirun may have noticed the loss of a node first */
    if (!a->signal && a->lost_nodes && !ti_ranks_complete(&a->ranks))
        return ti_acquisition_lost_error(a, err);
    return TI_OK;
}

ti_status ti_pipeline_try(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_acquisition_new_run_id(a, err), traced;
    struct ti_err why = {"", ""};

    if (st == TI_OK && !a->o->dry_run)
        st = ti_rundir_scratch(&a->dir, a->run_id, a->sites ? 0 : a->o->np, err);
    if (st == TI_OK)
        st = a->backend->plan(a, err);
    print_plan(a);
    if (st != TI_OK || a->o->dry_run)
        return st;
    st = launch(a, err);
    if (!a->outcome.launched)
        return st;
    traced = collect(a, &why);
    if (st == TI_OK && traced != TI_OK)
        *err = why;
    return st == TI_OK ? traced : st;
}

/* Without the nodes that were lost, another try may succeed. */
static bool may_try_again(const struct ti_acquisition *a, int64_t tries)
{
    return a->lost_nodes && !a->signal && tries < a->o->retries;
}

static void clear_try(struct ti_acquisition *a, struct ti_err *err)
{
    size_t lost = json_array_size(a->lost_nodes);

    ti_warn("%s", err->text);
    ti_say("trying again without %zu node%s", lost, lost == 1 ? "" : "s");
    ti_describe_failed_try(a, err);
    *err = (struct ti_err){"", ""};
    a->backend->remove(a);
    a->backend->close(a);
    ti_acquisition_clear(a);
}

/* --- the end ------------------------------------------------------------- */

/* Whether to make the bundle: the run succeeded, or all traces are complete, or a node was lost
 * and --keep-going was given. */
static bool is_worth_gathering(const struct ti_acquisition *a, ti_status app)
{
    if (a->o->no_gather || a->signal || !a->ranks.with_trace)
        return false;
    return app == TI_OK || ti_ranks_complete(&a->ranks) || (a->lost_nodes && a->o->keep_going);
}

static ti_status gather(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st;

    if (!ti_ranks_complete(&a->ranks)) {
        ti_ranks_say(&a->ranks);
        if (a->backend->say_missing)
            a->backend->say_missing(a);
    }
    ti_step_begin(a, TI_STEP_GATHER);
    st = ti_result_gather(a, err);
    ti_step_end(a, TI_STEP_GATHER);
    ti_describe_steps(a);
    if (a->bundled && st == TI_OK && !a->o->keep)
        ti_say("wrote '%s'", a->output);
    else if (a->bundled && st != TI_OK && a->backend->home)
        ti_say("wrote '%s'; traces that are not in it stay %s", a->output, a->backend->home);
    else if (a->bundled && a->backend->home)
        ti_say("wrote '%s'; the traces stay %s", a->output, a->backend->home);
    else if (a->bundled)
        ti_say("wrote '%s'; the traces stay in '%s'", a->output, a->dir.given);
    return st;
}

/* The outcome as an error.  Several programs are named together: mpirun does not say whose rank
 * failed. */
static ti_status check_outcome(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_args words = {.n = 0};
    ti_status st;

    a->outcome.no_try = a->o->nmore > 0 || a->mpirun.hydra;
    if (!a->o->nmore)
        return ti_outcome_check(&a->outcome, &a->ranks, &a->o->program, a->choice.valgrind, err);
    ti_args_add(&words, a->application);
    st = ti_args_ok(&words)
             ? ti_outcome_check(&a->outcome, &a->ranks, &words, a->choice.valgrind, err)
             : ti_err_set(err, TI_ERR_IO, "cannot tell how the run ended: out of memory");
    ti_args_free(&words);
    return st;
}

/* Say how the run ended, and make the bundle; `st` is the status of the last try. */
static ti_status conclude(struct ti_acquisition *a, ti_status st, struct ti_err *err)
{
    ti_status app = st, bundle;
    bool complete = ti_ranks_complete(&a->ranks);

    if (st == TI_OK)
        app = check_outcome(a, err);
    if (a->outcome.out_of_memory && a->short_of_memory[0])
        ti_err_prefix(err, app, "on node '%s'", a->short_of_memory);
    ti_outcome_say(&a->outcome, &a->ranks);
    if (!is_worth_gathering(a, app)) {
        a->backend->say_where(a, app);
        return app != TI_OK ? app : complete ? TI_OK : TI_ERR_PARTIAL;
    }
    bundle = gather(a, app == TI_OK ? err : &(struct ti_err){"", ""});
    if (a->lost_nodes && a->o->keep_going && a->bundled)
        return TI_ERR_PARTIAL;
    return app != TI_OK ? app : bundle;
}

ti_status ti_pipeline_run(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = a->backend->check(a, err);

    if (st == TI_OK)
        st = ti_pipeline_open(a, err);
    for (int64_t tries = 0; st == TI_OK; tries++) {
        st = ti_pipeline_try(a, err);
        if (st == TI_OK || !may_try_again(a, tries))
            break;
        clear_try(a, err);
        st = TI_OK;
    }
    if (a->outcome.launched > 0)
        st = conclude(a, st, err);
    else if (!a->o->dry_run)
        discard(a);
    if (a->o->json)
        ti_describe_json(a);
    if (a->backend->close)
        a->backend->close(a);
    if (a->backend->destroy)
        a->backend->destroy(a);
    return st;
}
