#include "acquire/run/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "acquire/run/environment.h"
#include "acquire/run/pilot.h"
#include "node/overlay.h"

#define PILOT_NP      4
#define PILOT_NUMBERS "4,8,16"

/* Announce the pilot, because it runs the program once more than the user asked for. */
static void announce(struct ti_acquisition *a, int64_t np)
{
    if (!a->overlay)
        a->overlay = ti_overlay_works() ? 1 : -1;
    ti_say("pilot: '%s' first runs untraced with %" PRId64
           " rank%s, %.0f s at most, to measure its "
           "memory; its output is dropped, %s",
           a->program.given, np, np == 1 ? "" : "s", TI_PILOT_SECONDS,
           a->overlay > 0 ? "and so is what it writes into the working directory"
                          : "but files that it writes are written");
    if (!a->hint_said) {
        ti_hint("--mem-per-rank SIZE tells what a rank takes, --pilot no does without");
        a->hint_said = true;
    }
}

static ti_status run_pilot(struct ti_acquisition *a, int64_t np, struct ti_pilot *pilot,
                           struct ti_err *err)
{
    struct ti_plan_in in = {.np = np, .cores = a->machine.cores};
    struct ti_args env = {.n = 0}, wrapper = {.n = 0};
    struct ti_container container;
    struct ti_mpirun_job run = {.np = np,
                                .tmp = a->dir.tmp[0] ? a->dir.tmp : NULL,
                                .shm = a->dir.shm[0] ? a->dir.shm : NULL,
                                .env = &env,
                                .user = &a->o->mpirun,
                                .wrapper = &wrapper,
                                .program = &a->o->program};
    struct ti_plan plan;
    ti_status st = TI_OK;

    announce(a, np);
    ti_args_add_all(&env, &a->o->env, 0);
    ti_args_addf(&env, "TIARA_RUN_ID=%s", a->run_id);
    ti_plan_make(&in, &plan);
    if (ti_environment_container(a, &container))
        st = ti_container_words(&container, &env, &wrapper, err);
    if (st == TI_OK)
        st = ti_pilot_run(&a->mpirun, &run, &plan, a->run_id, ti_environment_input(),
                          a->pinned ? &a->pin : NULL, a->overlay > 0, pilot, err);
    ti_args_free(&env);
    ti_args_free(&wrapper);
    if (st != TI_OK)
        return st;
    if (pilot->left)
        ti_warn("%d processes of the probe could not be ended", pilot->left);
    return pilot->signal ? ti_acquisition_interrupted(a, pilot->signal, err) : TI_OK;
}

static int shell_status(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* A program that fails with few ranks usually fails with many, and takes longer to do so. */
static ti_status pilot_failed(const struct ti_acquisition *a, const struct ti_pilot *pilot,
                              int64_t np, struct ti_err *err)
{
    int64_t first = ti_pilot_failed_rank(pilot->said);
    char rank[48] = "";

    if (pilot->said[0])
        ti_say("what the pilot said:\n%s", pilot->said);
    if (first >= 0)
        snprintf(rank, sizeof rank, "; rank %" PRId64 " failed first", first);
    ti_err_set(err, TI_ERR_APP, "'%s' failed in its pilot run: status %d with %" PRId64 " rank%s%s",
               a->program.given, shell_status(pilot->wait_status), np, np == 1 ? "" : "s", rank);
    ti_err_hint(err, "if it needs more ranks than that, --pilot no runs it without a pilot, and "
                     "--mem-per-rank SIZE tells what a rank takes");
    return TI_ERR_APP;
}

static void warn_of_probe(const struct ti_pilot *pilot)
{
    if (!pilot->rank_bytes)
        ti_warn("the memory of a rank could not be measured: the program ended too soon, or "
                "was not started; --mem-per-rank tells it");
    else if (pilot->growing)
        ti_warn("the memory of a rank still grew after %.0f s: it will take more than planned; "
                "--mem-per-rank tells it",
                pilot->seconds);
}

/*
 * A rank among few usually takes more memory than one among many.  So if np ranks would not fit,
 * measure again with four times the ranks, as long as those fit.
 */
ti_status ti_measure_memory(struct ti_acquisition *a, struct ti_plan_in *in, struct ti_err *err)
{
    int64_t np = in->np < PILOT_NP ? in->np : PILOT_NP;
    struct ti_pilot pilot;

    for (;;) {
        ti_status st = run_pilot(a, np, &pilot, err);
        int64_t more;

        if (st != TI_OK)
            return st;
        if (pilot.ended && pilot.wait_status != 0)
            return pilot_failed(a, &pilot, np, err);
        /* a pilot that was cut short is no better than one with fewer ranks */
        if (pilot.growing && in->source == TI_MEMORY_MEASURED && pilot.rank_bytes < in->app_bytes)
            break;
        if (pilot.rank_bytes) {
            in->source = TI_MEMORY_MEASURED;
            in->app_bytes = pilot.rank_bytes;
            in->pilot_np = np;
        }
        ti_plan_make(in, &a->plan);
        more = 4 * np < in->np ? 4 * np : in->np;
        if (a->plan.fits || more <= np || more > TI_PILOT_NP_MAX || more > a->plan.largest_np)
            break;
        np = more;
    }
    warn_of_probe(&pilot);
    return TI_OK;
}

/* --- several numbers of ranks --------------------------------------------- */

/* Whether np ranks fit here by the points so far; a rank among fewer takes more. */
static bool fits_here(const struct ti_acquisition *a, const struct ti_memory_point *point, int n,
                      int64_t np)
{
    int64_t room = a->machine.memory_bytes - a->o->reserve_bytes;

    return n == 0 || np <= room / point[n - 1].bytes;
}

/* Measure one number of ranks: add a point, or warn why not. */
static ti_status measure_point(struct ti_acquisition *a, int64_t np, struct ti_memory_point *point,
                               int *n, struct ti_err *err)
{
    struct ti_pilot pilot;
    ti_status st;

    if (!fits_here(a, point, *n, np)) {
        ti_warn("no pilot with %" PRId64 " ranks: they would not fit into the memory here", np);
        return TI_OK;
    }
    st = run_pilot(a, np, &pilot, err);
    if (st != TI_OK)
        return st;
    if (pilot.ended && pilot.wait_status != 0) {
        if (pilot.said[0])
            ti_say("what the pilot said:\n%s", pilot.said);
        ti_warn("the pilot with %" PRId64 " ranks ended with status %d: left out", np,
                shell_status(pilot.wait_status));
        return TI_OK;
    }
    if (!pilot.rank_bytes) {
        ti_warn("the pilot with %" PRId64 " ranks ended too soon to be seen: left out", np);
        return TI_OK;
    }
    if (pilot.growing)
        ti_warn("the memory of a rank of %" PRId64
                " still grew after %.0f s: it will take more than planned; --mem-per-rank tells it",
                np, pilot.seconds);
    point[(*n)++] = (struct ti_memory_point){np, pilot.rank_bytes};
    return TI_OK;
}

static ti_status nothing_known(struct ti_err *err, const char *text)
{
    ti_err_set(err, TI_ERR_INPUT, "%s", text);
    ti_err_hint(err, "--mem-per-rank SIZE tells what a rank takes; --pilot N,N,... measures it at "
                     "other numbers of ranks");
    return TI_ERR_INPUT;
}

ti_status ti_pilot_model(struct ti_acquisition *a, const char *list, struct ti_memory_model *out,
                         struct ti_err *err)
{
    int64_t np[TI_MEMORY_POINTS_MAX];
    struct ti_memory_point point[TI_MEMORY_POINTS_MAX];
    int wanted, n = 0;
    ti_status st = ti_pilot_list(list ? list : PILOT_NUMBERS, np, &wanted, err);

    if (st != TI_OK)
        return st;
    while (!list && wanted > 1 && np[wanted - 1] > a->o->np)
        wanted--;
    if (!list && np[0] > a->o->np)
        np[0] = a->o->np;
    for (int i = 0; st == TI_OK && i < wanted; i++)
        st = measure_point(a, np[i], point, &n, err);
    if (st != TI_OK)
        return st;
    if (n == 0 || (n < 2 && wanted > 1))
        return nothing_known(err, n == 0 ? "no pilot run told what a rank takes in memory"
                                         : "only one pilot run told what a rank takes in memory");
    return ti_memory_model_fit(point, n, out, err);
}

ti_status ti_measure_rank(struct ti_acquisition *a, struct ti_memory_model *model,
                          int64_t *rank_bytes, struct ti_err *err)
{
    int64_t app = a->o->rank_bytes;
    ti_status st;

    memset(model, 0, sizeof *model);
    if (!app) {
        if (!a->program.path)
            return nothing_known(err, "the program is not on this machine, so what a rank of it "
                                      "takes in memory cannot be measured here");
        if (a->o->no_pilot || (a->o->dry_run && !a->o->pilot))
            return nothing_known(err, "what a rank takes in memory is not known");
        st = ti_pilot_model(a, a->o->pilot, model, err);
        if (st != TI_OK)
            return st;
        app = ti_memory_model_bytes(model, a->o->np);
    }
    *rank_bytes = ti_plan_rank_bytes(app, a->choice.valgrind);
    return TI_OK;
}
