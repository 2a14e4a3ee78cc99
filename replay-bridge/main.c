/*
 * ti-replay: the simulated time of a trace.
 *
 *   options -> hosts and platform -> lint -> lower -> smpirun -> verdict -> report
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/text.h"
#include "common/cli.h"
#include "replay-bridge/advice.h"
#include "replay-bridge/lower.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/report.h"
#include "replay-bridge/scratch.h"
#include "replay-bridge/simulate.h"

#define MANY_RANKS   1024
#define WAITING_MOST 12 /* ranks named after a deadlock */

/* ---- the steps ---- */

static ti_status lint(struct ti_replay_options *o, struct ti_source *s,
                      struct ti_replay_result *res, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (o->times)
        st = ti_bursts_check(s, &(struct ti_bursts){.as = TI_BURSTS_TIMES}, err);
    else if (o->threads == TI_THREADS_LONGEST)
        st = ti_bursts_check(s, &(struct ti_bursts){.as = TI_BURSTS_THREADS}, err);
    if (!st)
        st = ti_lint(s, res->engine, o->eager_bytes, &res->lint, &res->problems, err);
    res->linted = st == TI_OK;
    if (st)
        return st;
    ti_replay_speed_for(o, &res->lint.volumes);
    ti_replay_warn_of_caveats(s, &res->lint.caveats);
    if (!res->problems.n) {
        if (o->times)
            ti_replay_warn_of_times(s, &res->lint.volumes);
        else
            ti_replay_warn_of_volumes(o, &res->lint.volumes);
        return TI_OK;
    }
    ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be replayed: %llu problem%s", o->trace,
               (unsigned long long)res->problems.n, res->problems.n > 1 ? "s" : "");
    ti_replay_hint(o, res, err);
    return TI_ERR_INPUT;
}

/* Chooses how bursts are replayed: threads share the cores that a host has for each rank. */
static void choose_bursts(const struct ti_replay_options *o, struct ti_source *s,
                          struct ti_replay_result *res)
{
    struct ti_bursts *b = &res->bursts;
    int64_t cores = ti_hosts_cores_a_rank(&res->hosts);
    struct ti_err none;

    b->as = o->no_compute ? TI_BURSTS_NOTHING : o->times ? TI_BURSTS_TIMES : TI_BURSTS_THREADS;
    b->cores = o->threads == TI_THREADS_LONGEST ? INT64_MAX
               : o->threads == TI_THREADS_SUM   ? 1
                                                : (cores > 0 ? cores : 1);
    if (b->as == TI_BURSTS_THREADS && ti_bursts_check(s, b, &none) != TI_OK)
        b->as = TI_BURSTS_VOLUME;
    if (b->as == TI_BURSTS_VOLUME && o->speeds.cores > 1)
        ti_warn(
            "--cores %lld has no effect: the trace does not have what the longest thread of each "
            "burst did (ti-acquire --threads sum -c valgrind), so a burst takes one core",
            (long long)o->speeds.cores);
}

/* ti-smpi-replay can replay whatever stock replay can, and is faster. */
static ti_status choose_engine(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err)
{
    ti_engine_files(&res->files);
    res->engine = o->engine == TI_ENGINE_ASKED_STOCK ||
                          (o->engine == TI_ENGINE_ASKED_AUTO && !res->files.replayer[0])
                      ? TI_ENGINE_STOCK
                      : TI_ENGINE_TIARA;
    if (res->engine == TI_ENGINE_STOCK && o->any)
        return ti_err_set(err, TI_ERR_USAGE, "--wildcards any needs ti-smpi-replay");
    if (res->engine == TI_ENGINE_STOCK || res->files.replayer[0])
        return TI_OK;
    ti_err_set(err, TI_ERR_IO, "there is no ti-smpi-replay beside ti-replay");
    ti_err_hint(err, "it is built where smpicc is (Debian: apt install libsimgrid-dev)");
    return TI_ERR_IO;
}

/* Adds options of SimGrid's for collectives; above MANY_RANKS never silently. */
static void choose_collectives(struct ti_replay_options *o, struct ti_replay_result *res)
{
    const char *cfg[TI_COLLECTIVES_CFG];
    bool many = res->np > MANY_RANKS;

    res->collectives = o->collectives ? o->collectives : many ? "tree" : "simgrid";
    for (int i = 0, n = ti_collectives_cfg(res->collectives, cfg);
         i < n && o->ncfg < TI_REPLAY_CFG_MAX; i++)
        o->cfg[o->ncfg++] = (char *)(uintptr_t)cfg[i];
    if (many && !strcmp(res->collectives, "tree"))
        ti_say("%lld ranks: collectives are replayed by tree algorithms%s; --collectives simgrid "
               "takes SimGrid's own, which may take hours",
               (long long)res->np, o->collectives ? "" : ", since there are more than 1024");
    else if (many)
        ti_say("%lld ranks: collectives are replayed as '%s' has them, which may take hours; "
               "--collectives tree is faster",
               (long long)res->np, res->collectives);
}

/* The share of all events that is replayed. */
static double share_done(void *arg)
{
    const struct ti_replay_result *res = arg;
    uint64_t done = 0;

    for (int64_t rank = 0; rank < res->np; rank++)
        done += ti_replay_progress(res->state, rank)->events;
    return res->lint.check.events ? (double)done / (double)res->lint.check.events : 0;
}

/* What the engine needs in the scratch directory. */
static ti_status prepare_engine(const struct ti_replay_options *o, struct ti_source *s,
                                struct ti_replay_result *res, struct ti_err *err)
{
    const char *path;
    ti_status st;

    if (res->engine == TI_ENGINE_STOCK)
        return ti_lower(s, &res->lint, &res->bursts, !ti_sim_can_open(res->np), &res->actions, err);
    res->actions = res->lint.check.events;
    path = ti_scratch_path(TI_SIM_STATE);
    st = ti_replay_state_make(path, res->np, err);
    if (!st)
        st = ti_replay_state_open(path, res->np, &res->state, err);
    return st ? st
              : ti_engine_command(&res->files, o->trace, &res->bursts, o->any, &res->replayer, err);
}

/* When each rank ended, beside when it really did. */
static void note_ends(struct ti_replay_result *res)
{
    struct ti_against *a = &res->against;

    if (!res->state)
        ti_against_ranks(a, ti_scratch_path(TI_SIM_LOG));
    for (int64_t rank = 0; res->state && rank < a->ranks; rank++)
        if (ti_replay_progress(res->state, rank)->ended)
            a->rank_simulated[rank] = ti_replay_progress(res->state, rank)->seconds;
}

static ti_status simulate(const struct ti_replay_options *o, struct ti_replay_result *res,
                          struct ti_err *err)
{
    struct ti_sim sim = {.np = res->np,
                         .platform = res->platform_file,
                         .log = res->against.ranks && !res->state ? ti_against_log : NULL,
                         .verbose = o->verbose};
    int exit_status;
    ti_status st;

    if (res->replayer) {
        sim.replayer = res->replayer;
        sim.preload = res->files.clock[0] ? res->files.clock : NULL;
        sim.done = share_done;
        sim.arg = res;
    }
    sim.cfg = ti_calibrated_cfg(&o->calibrated, (char **)(uintptr_t)o->cfg, o->ncfg, &sim.ncfg);
    st = sim.cfg ? ti_sim_script(&sim, err)
                 : ti_err_errno(err, TI_ERR_IO, "cannot keep SMPI's settings");
    res->runnable = st == TI_OK;
    if (!st)
        st = ti_simulate(&sim, &exit_status, &res->wall_s, err);
    res->ran = st == TI_OK;
    if (!st)
        st = ti_verdict_read(ti_scratch_path(TI_SIM_LOG), exit_status, &res->verdict, err);
    res->simulated = st == TI_OK;
    free(sim.cfg);
    if (res->simulated)
        note_ends(res);
    return st;
}

/* The real times, before anything takes long. */
static ti_status read_against(const struct ti_replay_options *o, struct ti_replay_result *res,
                              struct ti_err *err)
{
    ti_status st = o->against ? ti_against_read(o->against, &res->against, err) : TI_OK;
    int64_t np = res->against.np ? res->against.np : res->against.ranks;

    if (!st && np && np != res->np)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is of %lld ranks, the trace of %lld", o->against,
                        (long long)np, (long long)res->np);
    return st;
}

static ti_status replay(struct ti_replay_options *o, struct ti_source *s,
                        struct ti_replay_result *res, struct ti_err *err)
{
    ti_status st;

    res->np = ti_source_nranks(s);
    if (res->np < 1)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no ranks", o->trace);
    if ((st = choose_engine(o, res, err)))
        return st;
    if (o->lint_only)
        return lint(o, s, res, err);
    if ((st = read_against(o, res, err)) || (st = ti_sim_available(err)) ||
        (st = ti_replay_find_hosts(o, res, err)) || (st = lint(o, s, res, err)) ||
        (st = ti_replay_write_platform(o, res, err)))
        return st;
    choose_collectives(o, res);
    choose_bursts(o, s, res);
    st = prepare_engine(o, s, res, err);
    return st ? st : simulate(o, res, err);
}

/* The ranks that did not come to their end, and where they are. */
static json_t *waiting(struct ti_source *s, const struct ti_replay_result *res)
{
    json_t *list = json_array();
    char call[TI_CALL_BYTES];

    for (int64_t rank = 0; res->state && rank < res->np; rank++) {
        const struct ti_replay_progress *at = ti_replay_progress(res->state, rank);

        if (at->ended || json_array_size(list) == WAITING_MOST)
            continue;
        json_array_append_new(list,
                              json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)rank, "event",
                                        (json_int_t)at->events, "call",
                                        ti_event_text(s, rank, at->events, call, sizeof call)));
    }
    return list;
}

/* The replays of a sweep, by child processes. */
static ti_status sweep(struct ti_replay_options *o, struct ti_source *s, char **argv,
                       struct ti_err *err)
{
    o->sweep.json = o->json;
    o->sweep.verbose = o->verbose;
    o->sweep.argv = argv;
    return ti_sweep_command(&o->sweep, s, err);
}

int main(int argc, char **argv)
{
    struct ti_replay_options o = {0};
    static struct ti_replay_result res;
    struct ti_source *s = NULL;
    struct ti_err err = {0};
    ti_status st;
    int end = ti_replay_parse(&o, argc, argv);

    if (end != TI_CLI_END)
        return end;
    ti_talk_init(ti_replay_cli.tool, o.quiet, o.no_progress);
    ti_stop_catch();
    st = ti_replay_calibrate(&o, &err);
    if (!st && o.trace)
        st = ti_source_open(o.trace, &s, &err);
    if (!st && o.sweep.sweep.n)
        st = sweep(&o, s, argv, &err);
    else if (!st)
        st = o.show ? ti_replay_show_platform(&o, s, &res, &err) : replay(&o, s, &res, &err);
    if (st && res.ran)
        res.waiting = waiting(s, &res);
    st = ti_replay_report(&o, &res, st, &err);
    json_decref(res.waiting);
    free(res.replayer);
    ti_replay_state_close(res.state);
    ti_lint_free(&res.lint);
    ti_against_free(&res.against);
    if (o.calibration)
        ti_calibrated_free(&o.calibrated);
    ti_hosts_free(&res.hosts);
    free(res.host_of);
    ti_sites_free(res.sites);
    ti_source_close(s);
    ti_sweep_free(&o.sweep.sweep);
    ti_args_free(&o.sweep.base);
    ti_scratch_close();
    if (ti_stopped())
        ti_stop_die();
    return st;
}
