#include "acquire/run/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acquire/run/pilot.h"
#include "node/overlay.h"
#include "node/watch.h"

#define PILOT_NP      4
#define PILOT_NUMBERS "4,8,16"

/* Announce the pilot, because it runs the program once more than the user asked for. */
static void announce(struct ti_job *j, int64_t np)
{
    if (!j->overlay)
        j->overlay = ti_overlay_works() ? 1 : -1;
    ti_say("pilot: '%s' first runs untraced with %" PRId64 " rank%s, %.0f s at most, to measure its "
           "memory; its output is dropped, %s",
           j->program.given, np, np == 1 ? "" : "s", TI_PILOT_SECONDS,
           j->overlay > 0 ? "and so is what it writes into the working directory"
                          : "but files that it writes are written");
    if (!j->pilot_hint) {
        ti_hint("--mem-per-rank SIZE tells what a rank takes, --pilot no does without");
        j->pilot_hint = true;
    }
}

static ti_status run_pilot(struct ti_job *j, int64_t np, struct ti_pilot *pilot, struct ti_err *err)
{
    struct ti_plan_in in = {.np = np, .cores = j->machine.cores};
    struct ti_args env = {.n = 0}, none = {.n = 0};
    struct ti_mpirun_job run = {.np = np,
                                .tmp = j->dir.tmp[0] ? j->dir.tmp : NULL,
                                .shm = j->dir.shm[0] ? j->dir.shm : NULL,
                                .env = &env,
                                .user = &j->o->mpirun,
                                .wrapper = &none,
                                .program = &j->o->program};
    struct ti_plan plan;
    ti_status st;

    announce(j, np);
    for (int i = 0; i < j->o->env.n; i++)
        ti_args_add(&env, j->o->env.v[i]);
    ti_args_addf(&env, "TIARA_RUN_ID=%s", j->run_id);
    ti_plan_make(&in, &plan);
    st = ti_pilot_run(&j->mpirun, &run, &plan, j->run_id, ti_job_input(),
                      j->pinned ? &j->pin : NULL, j->overlay > 0, pilot, err);
    ti_args_free(&env);
    if (st != TI_OK)
        return st;
    j->pilot_seconds += pilot->seconds;
    if (pilot->left)
        ti_warn("%d processes of the probe could not be ended", pilot->left);
    if (pilot->signal) {
        j->signal = pilot->signal;
        return ti_err_set(err, TI_ERR_APP, "interrupted by signal %d (%s)", pilot->signal,
                          strsignal(pilot->signal));
    }
    return TI_OK;
}

static int shell_status(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* A program that fails with few ranks usually fails with many, and takes longer to do so. */
static ti_status pilot_failed(const struct ti_job *j, const struct ti_pilot *pilot, int64_t np,
                              struct ti_err *err)
{
    int64_t first = ti_pilot_failed_rank(pilot->said);
    char rank[48] = "";

    if (pilot->said[0])
        ti_say("what the pilot said:\n%s", pilot->said);
    if (first >= 0)
        snprintf(rank, sizeof rank, "; rank %" PRId64 " failed first", first);
    ti_err_set(err, TI_ERR_APP, "'%s' failed in its pilot run: status %d with %" PRId64 " rank%s%s",
               j->program.given, shell_status(pilot->wait_status), np, np == 1 ? "" : "s", rank);
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
ti_status ti_measure_memory(struct ti_job *j, struct ti_plan_in *in, struct ti_err *err)
{
    int64_t np = in->np < PILOT_NP ? in->np : PILOT_NP;
    struct ti_pilot pilot;

    for (;;) {
        ti_status st = run_pilot(j, np, &pilot, err);
        int64_t more;

        if (st != TI_OK)
            return st;
        if (pilot.ended && pilot.wait_status != 0)
            return pilot_failed(j, &pilot, np, err);
        /* a pilot that was cut short is no better than one with fewer ranks */
        if (pilot.growing && in->source == TI_MEMORY_MEASURED && pilot.rank_bytes < in->app_bytes)
            break;
        if (pilot.rank_bytes) {
            in->source = TI_MEMORY_MEASURED;
            in->app_bytes = pilot.rank_bytes;
            in->pilot_np = np;
        }
        ti_plan_make(in, &j->plan);
        more = 4 * np < in->np ? 4 * np : in->np;
        if (j->plan.fits || more <= np || more > TI_PILOT_NP_MAX || more > j->plan.largest_np)
            break;
        np = more;
    }
    warn_of_probe(&pilot);
    return TI_OK;
}

/* --- several numbers of ranks --------------------------------------------- */

/* Whether np ranks fit here by the points so far; a rank among fewer takes more. */
static bool fits_here(const struct ti_job *j, const struct ti_memory_point *point, int n,
                      int64_t np)
{
    int64_t room = j->machine.memory_bytes - j->o->reserve_bytes;

    return n == 0 || np <= room / point[n - 1].bytes;
}

/* Measure one number of ranks: add a point, or warn why not. */
static ti_status measure_point(struct ti_job *j, int64_t np, struct ti_memory_point *point, int *n,
                               struct ti_err *err)
{
    struct ti_pilot pilot;
    ti_status st;

    if (!fits_here(j, point, *n, np)) {
        ti_warn("no pilot with %" PRId64 " ranks: they would not fit into the memory here", np);
        return TI_OK;
    }
    st = run_pilot(j, np, &pilot, err);
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

ti_status ti_pilot_model(struct ti_job *j, const char *list, struct ti_memory_model *out,
                         struct ti_err *err)
{
    int64_t np[TI_MEMORY_POINTS_MAX];
    struct ti_memory_point point[TI_MEMORY_POINTS_MAX];
    int wanted, n = 0;
    ti_status st = ti_pilot_list(list ? list : PILOT_NUMBERS, np, &wanted, err);

    if (st != TI_OK)
        return st;
    while (!list && wanted > 1 && np[wanted - 1] > j->o->np)
        wanted--;
    if (!list && np[0] > j->o->np)
        np[0] = j->o->np;
    if (!j->pilot_started)
        j->pilot_started = ti_wall();
    for (int i = 0; st == TI_OK && i < wanted; i++)
        st = measure_point(j, np[i], point, &n, err);
    if (st != TI_OK)
        return st;
    if (n == 0 || (n < 2 && wanted > 1))
        return nothing_known(err, n == 0 ? "no pilot run told what a rank takes in memory"
                                         : "only one pilot run told what a rank takes in memory");
    return ti_memory_model_fit(point, n, out, err);
}

ti_status ti_measure_rank(struct ti_job *j, struct ti_memory_model *model, int64_t *rank_bytes,
                          struct ti_err *err)
{
    int64_t app = j->o->rank_bytes;
    ti_status st;

    memset(model, 0, sizeof *model);
    if (!app) {
        if (!j->program.path)
            return nothing_known(err, "the program is not on this machine, so what a rank of it "
                                      "takes in memory cannot be measured here");
        if (j->o->no_pilot || (j->o->dry_run && !j->o->pilot))
            return nothing_known(err, "what a rank takes in memory is not known");
        st = ti_pilot_model(j, j->o->pilot, model, err);
        if (st != TI_OK)
            return st;
        app = ti_memory_model_bytes(model, j->o->np);
    }
    *rank_bytes = ti_plan_rank_bytes(app, j->choice.valgrind);
    return TI_OK;
}
