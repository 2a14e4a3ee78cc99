/*
 * ti-replay: the simulated time of a trace.
 *
 *   options -> hosts and platform -> lint -> lower -> smpirun -> verdict -> report
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "replay-bridge/advice.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/report.h"
#include "replay-bridge/simulation/simulate.h"
#include "replay-bridge/trace/lower.h"
#include "replay-bridge/trace/refusal.h"
#include "sound/text.h"

#define MANY_RANKS   1024
#define WAITING_MOST 12 /* ranks named after a deadlock */

/* ---- the steps ---- */

/* Whether a warning about the volumes of one trace also covers the other. */
static bool same_volumes(const struct ti_replay_trace *a, const struct ti_replay_trace *b)
{
    const struct ti_volumes *x = &a->lint.volumes, *y = &b->lint.volumes;

    return !strcmp(x->counter, y->counter) && !strcmp(x->unit, y->unit) &&
           x->inexact == y->inexact && x->estimate == y->estimate;
}

/* Sets up bursts with the rates of --rate. */
static struct ti_bursts rated(const struct ti_replay_options *o)
{
    return (struct ti_bursts){.as = TI_BURSTS_RATES, .rates = o->rates, .rates_path = o->rate};
}

static ti_status lint_trace(struct ti_replay_options *o, const struct ti_replay_result *res,
                            struct ti_replay_trace *t, struct ti_err *err)
{
    struct ti_bursts bursts = rated(o);
    ti_status st = TI_OK;

    if (o->rates)
        st = ti_bursts_check(t->source, &bursts, err);
    else if (o->times)
        st = ti_bursts_check(t->source, &(struct ti_bursts){.as = TI_BURSTS_TIMES}, err);
    else if (o->threads == TI_THREADS_LONGEST)
        st = ti_bursts_check(t->source, &(struct ti_bursts){.as = TI_BURSTS_THREADS}, err);
    if (!st)
        st = ti_lint(t->source,
                     res->engine == TI_ENGINE_STOCK ? &ti_lower_target : &ti_replayer_target,
                     o->eager_bytes, &t->lint, &t->problems, err);
    t->linted = st == TI_OK;
    if (st)
        return st;
    ti_replay_speed_for(o, &t->lint.volumes);
    ti_replay_warn_of_caveats(t->source, &t->lint.caveats);
    if (!t->problems.n && o->times)
        ti_replay_warn_of_times(t->source, &t->lint.volumes);
    else if (!t->problems.n && (t == res->trace || !same_volumes(t, res->trace)))
        ti_replay_warn_of_volumes(o, &t->lint.volumes);
    if (!t->problems.n && o->rates)
        ti_replay_warn_of_sites(t->source, o);
    if (!t->problems.n)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be replayed: %llu problem%s", t->path,
               (unsigned long long)t->problems.n, t->problems.n > 1 ? "s" : "");
    ti_replay_hint(res, t, err);
    return TI_ERR_INPUT;
}

static ti_status lint(struct ti_replay_options *o, struct ti_replay_result *res, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int i = 0; !st && i < res->ntraces; i++)
        st = lint_trace(o, res, &res->trace[i], err);
    return st;
}

static bool mostly_missing(const struct ti_replay_result *res)
{
    for (int i = 0; i < res->ntraces; i++)
        if (ti_lint_mostly_missing(res->trace[i].source))
            return true;
    return false;
}

/* Chooses how bursts are replayed.  The threads of a rank share the host's cores per rank. */
static void choose_bursts(const struct ti_replay_options *o, int64_t cores,
                          struct ti_replay_trace *t)
{
    struct ti_bursts *b = &t->bursts;
    struct ti_err none;

    if (o->rates) {
        *b = rated(o);
        return;
    }
    b->as = o->no_compute ? TI_BURSTS_NOTHING : o->times ? TI_BURSTS_TIMES : TI_BURSTS_THREADS;
    b->cores = o->threads == TI_THREADS_LONGEST ? INT64_MAX
               : o->threads == TI_THREADS_SUM   ? 1
                                                : (cores > 0 ? cores : 1);
    if (b->as == TI_BURSTS_THREADS && ti_bursts_check(t->source, b, &none) != TI_OK)
        b->as = TI_BURSTS_VOLUME;
    if (b->as == TI_BURSTS_VOLUME && o->speeds.cores > 1)
        ti_warn("--cores %lld has no effect: '%s' does not have the volume of the longest thread "
                "of each burst (ti-acquire --threads sum -c valgrind), so a burst takes one core",
                (long long)o->speeds.cores, t->path);
}

/* Chooses ti-smpi-replay if it exists.  It can replay all that stock replay can, and is faster. */
static ti_status choose_engine(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err)
{
    ti_engine_files(&res->files);
    res->engine = o->engine == TI_ENGINE_ASKED_STOCK ||
                          (o->engine == TI_ENGINE_ASKED_AUTO && !res->files.replayer[0])
                      ? TI_ENGINE_STOCK
                      : TI_ENGINE_TIARA;
    if (o->links && !res->files.routes[0])
        ti_err_set(err, TI_ERR_IO, "--links needs ti-smpi-routes, which is not beside ti-replay");
    else if (res->engine == TI_ENGINE_STOCK && ti_replay_needs_tiara(o))
        ti_err_set(err, TI_ERR_IO, "%s needs ti-smpi-replay, which is not beside ti-replay",
                   ti_replay_needs_tiara(o));
    else if (res->engine == TI_ENGINE_STOCK || res->files.replayer[0])
        return TI_OK;
    else
        ti_err_set(err, TI_ERR_IO, "there is no ti-smpi-replay beside ti-replay");
    ti_err_hint(err, "it is built if smpicc is installed (Debian: apt install libsimgrid-dev)");
    return TI_ERR_IO;
}

/* Adds SimGrid options for collectives in front of those of --cfg, which take precedence.  Above
 * MANY_RANKS this is always announced. */
static void choose_collectives(struct ti_replay_options *o, struct ti_replay_result *res)
{
    const char *cfg[TI_COLLECTIVES_CFG];
    bool many = res->np > MANY_RANKS;
    int n;

    res->collectives = o->collectives ? o->collectives : many ? "tree" : "simgrid";
    n = ti_collectives_cfg(res->collectives, cfg);
    memmove(o->cfg + n, o->cfg, (size_t)o->ncfg * sizeof *o->cfg);
    memcpy(o->cfg, cfg, (size_t)n * sizeof *o->cfg);
    o->ncfg += n;
    if (many && !strcmp(res->collectives, "tree"))
        ti_say("%lld ranks: collectives are replayed by tree algorithms%s; --collectives simgrid "
               "uses SimGrid's own, which may take hours",
               (long long)res->np, o->collectives ? "" : ", since there are more than 1024");
    else if (many)
        ti_say("%lld ranks: collectives use the algorithms of '%s', which may take hours; "
               "--collectives tree is faster",
               (long long)res->np, res->collectives);
}

/* Number of events of all jobs. */
static uint64_t events(const struct ti_replay_result *res)
{
    uint64_t n = 0;

    for (int j = 0; j < res->njobs; j++)
        n += res->job[j].trace->lint.check.events;
    return n;
}

static void show_message(void *arg, const char *line)
{
    struct ti_replay_result *res = arg;

    ti_messages_line(&res->messages, line);
}

/* The share of all events that has been replayed. */
static double share_done(void *arg)
{
    const struct ti_replay_result *res = arg;
    uint64_t done = 0;

    for (int64_t rank = 0; rank < res->np; rank++)
        done += ti_replay_progress(res->state, rank)->events;
    return res->actions ? (double)done / (double)res->actions : 0;
}

/* The setting of bursts for all jobs; ti-smpi-replay itself detects which traces have data on
 * threads. */
static const struct ti_bursts *all_bursts(const struct ti_replay_result *res)
{
    const struct ti_bursts *bursts = &res->trace[0].bursts;

    for (int i = 1; i < res->ntraces; i++)
        if (res->trace[i].bursts.as == TI_BURSTS_THREADS)
            bursts = &res->trace[i].bursts;
    return bursts;
}

static ti_status replayer_command(const struct ti_replay_options *o, struct ti_replay_result *res,
                                  struct ti_err *err)
{
    struct ti_engine_replay what = {.njobs = res->njobs,
                                    .start = o->start_text,
                                    .bursts = all_bursts(res),
                                    .any = o->any,
                                    .reduce_rate = o->reduce_rate,
                                    .seed = (uint64_t)o->seed,
                                    .profile = o->profile ? TI_SIM_PROFILE : NULL,
                                    .timeline = o->timeline};
    size_t none = 0;
    ti_status st;

    what.trace = ti_grow(NULL, &none, (size_t)res->njobs, sizeof *what.trace);
    for (int j = 0; j < res->njobs; j++)
        what.trace[j] = res->job[j].trace->path;
    st = ti_engine_command(&res->files, &what, &res->replayer, err);
    free(what.trace);
    return st;
}

/* Writes the files that the engine needs into the scratch directory. */
static ti_status prepare_engine(const struct ti_replay_options *o, struct ti_replay_result *res,
                                struct ti_err *err)
{
    struct ti_replay_trace *t = res->trace;
    const char *path;
    ti_status st;

    if (res->engine == TI_ENGINE_STOCK)
        return ti_lower(t->source, &t->lint, &t->bursts, !ti_sim_can_open(res->np), &res->actions,
                        err);
    res->actions = events(res);
    path = ti_scratch_path(TI_SIM_STATE);
    st = ti_replay_state_make(path, res->np, err);
    if (!st)
        st = ti_replay_state_open(path, res->np, &res->state, err);
    return st ? st : replayer_command(o, res, err);
}

/* Takes the end of each job, and the simulated ends of ranks for --against. */
static void note_ends(struct ti_replay_result *res)
{
    struct ti_against *a = &res->against;

    for (int j = 0; res->state && j < res->njobs; j++)
        for (int64_t rank = 0; rank < res->job[j].np; rank++) {
            double end = ti_replay_progress(res->state, res->job[j].first + rank)->seconds;

            res->job[j].end_s = end > res->job[j].end_s ? end : res->job[j].end_s;
        }

    if (!res->state)
        ti_against_ranks(a, ti_scratch_path(TI_SIM_LOG));
    for (int64_t rank = 0; res->state && rank < a->ranks; rank++)
        if (ti_replay_progress(res->state, rank)->ended)
            a->rank_simulated[rank] = ti_replay_progress(res->state, rank)->seconds;
}

static ti_status read_profile(struct ti_replay_result *res, struct ti_err *err)
{
    const char *path = ti_scratch_path(TI_SIM_PROFILE);
    json_error_t why;

    res->profile = json_load_file(path, 0, &why);
    return res->profile ? TI_OK
                        : ti_err_set(err, TI_ERR_IO, "cannot read '%s': %s", path, why.text);
}

/* Computes the load of links from the messages of the simulation.  A second run of SimGrid gives
 * the routes. */
static ti_status find_links(const struct ti_replay_options *o, struct ti_replay_result *res,
                            struct ti_err *err)
{
    struct ti_sim sim = {
        .np = 1, .platform = res->platform_file, .routes = true, .verbose = o->verbose};
    char *command = NULL;
    double wall_s;
    int exit_status;
    ti_status st =
        ti_messages_write(&res->messages, &res->hosts, ti_scratch_path(TI_SIM_PAIRS), err);

    if (!st)
        st = ti_routes_command(&res->files, &command, err);
    sim.replayer = command;
    if (!st)
        st = ti_simulate(&sim, &exit_status, &wall_s, err);
    free(command);
    if (st)
        return st;
    res->links = exit_status == 0 ? ti_messages_links(ti_scratch_path(TI_SIM_LINKS),
                                                      ti_replay_simulated_time(res), err)
                                  : NULL;
    if (exit_status)
        ti_err_set(err, TI_ERR_IO,
                   "cannot get the routes of SimGrid: ti-smpi-routes ended with status %d",
                   exit_status);
    return res->links ? TI_OK : TI_ERR_IO;
}

static ti_status simulate(const struct ti_replay_options *o, struct ti_replay_result *res,
                          struct ti_err *err)
{
    struct ti_sim sim = {.np = res->np,
                         .platform = res->platform_file,
                         .arg = res,
                         .log = res->against.ranks && !res->state ? ti_against_log : NULL,
                         .verbose = o->verbose};
    int exit_status;
    ti_status st;

    if (res->replayer) {
        sim.replayer = res->replayer;
        sim.preload = res->files.clock[0] ? res->files.clock : NULL;
        sim.done = share_done;
    }
    if (o->links)
        sim.message = show_message;
    res->messages.host_of = res->host_of;
    res->messages.np = res->np;
    sim.cfg = ti_calibrated_cfg(&o->calibrated, (char **)(uintptr_t)o->cfg, o->ncfg, &sim.ncfg);
    st = sim.cfg ? ti_sim_script(&sim, err)
                 : ti_err_errno(err, TI_ERR_IO, "cannot keep SMPI's settings");
    res->runnable = st == TI_OK;
    if (!st)
        st = ti_simulate(&sim, &exit_status, &res->wall_s, err);
    if (!st)
        st = ti_verdict_read(ti_scratch_path(TI_SIM_LOG), exit_status, &res->verdict, err);
    res->simulated = st == TI_OK;
    free(sim.cfg);
    if (res->simulated)
        note_ends(res);
    if (res->simulated && o->profile)
        st = read_profile(res, err);
    if (res->simulated && !st && o->links)
        st = find_links(o, res, err);
    return st;
}

/* Reads the real times of --against early, so that errors show before the replay. */
static ti_status read_against(const struct ti_replay_options *o, struct ti_replay_result *res,
                              struct ti_err *err)
{
    ti_status st = o->against ? ti_against_read(o->against, &res->against, err) : TI_OK;
    int64_t np = res->against.np ? res->against.np : res->against.ranks;

    if (!st && np && np != res->np)
        st = ti_err_set(err, TI_ERR_INPUT,
                        "'%s' has the times of %lld ranks, but the trace is of %lld", o->against,
                        (long long)np, (long long)res->np);
    return st;
}

/* Makes the jobs, once the traces are open. */
static ti_status make_jobs(const struct ti_replay_options *o, struct ti_replay_result *res,
                           struct ti_err *err)
{
    size_t none = 0;

    res->njobs = o->copies ? (int)o->copies : res->ntraces;
    res->job = ti_grow(NULL, &none, (size_t)res->njobs, sizeof *res->job);
    for (int j = 0; j < res->njobs; j++) {
        struct ti_sim_job *job = &res->job[j];

        job->trace = &res->trace[o->copies ? 0 : j];
        job->np = ti_source_nranks(job->trace->source);
        if (job->np < 1)
            return ti_err_set(err, TI_ERR_INPUT, "'%s' has no ranks", job->trace->path);
        job->first = res->np;
        job->start_s = j < o->nstarts ? o->start_s[j] : 0;
        res->np += job->np;
    }
    return res->np <= TI_RANKS_MAX
               ? TI_OK
               : ti_err_set(err, TI_ERR_INPUT, "the jobs have %lld ranks together, more than %lld",
                            (long long)res->np, (long long)TI_RANKS_MAX);
}

/* Creates the timeline file, so that an error shows before the replay. */
static ti_status make_timeline(const struct ti_replay_options *o, struct ti_err *err)
{
    FILE *f = o->timeline ? fopen(o->timeline, "we") : NULL;

    if (o->timeline && !f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", o->timeline);
    if (f)
        fclose(f);
    return TI_OK;
}

static ti_status replay(struct ti_replay_options *o, struct ti_replay_result *res,
                        struct ti_err *err)
{
    int64_t cores;
    ti_status st;

    if ((st = make_jobs(o, res, err)) || (st = choose_engine(o, res, err)))
        return st;
    if (o->lint_only || mostly_missing(res)) /* before there is a host for each rank */
        return lint(o, res, err);
    if ((st = read_against(o, res, err)) || (st = ti_sim_available(err)) ||
        (st = ti_replay_find_hosts(o, res, err)) || (st = lint(o, res, err)) ||
        (st = ti_replay_write_platform(o, res, err)) || (st = make_timeline(o, err)))
        return st;
    choose_collectives(o, res);
    cores = ti_hosts_cores_a_rank(&res->hosts);
    for (int i = 0; i < res->ntraces; i++)
        choose_bursts(o, cores, &res->trace[i]);
    st = prepare_engine(o, res, err);
    if (!st)
        st = simulate(o, res, err);
    if (st && o->timeline)
        remove(o->timeline);
    return st;
}

/* Lists the ranks that did not finish, with their current events. */
static json_t *waiting(const struct ti_replay_result *res)
{
    json_t *list = json_array(), *j;
    char call[TI_CALL_BYTES];
    int job = 0;

    for (int64_t rank = 0; res->state && rank < res->np; rank++) {
        const struct ti_replay_progress *at = ti_replay_progress(res->state, rank);
        int64_t own;

        job += rank == res->job[job].first + res->job[job].np;
        own = rank - res->job[job].first;
        if (at->ended || json_array_size(list) == WAITING_MOST)
            continue;
        ti_event_text(res->job[job].trace->source, own, at->events, call, sizeof call);
        j = json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)own, "event", (json_int_t)at->events,
                      "call", call);
        if (res->njobs > 1)
            json_object_set_new(j, "job", json_integer(job + 1));
        json_array_append_new(list, j);
    }
    return list;
}

/* Runs a sweep. */
static ti_status sweep(struct ti_replay_options *o, const struct ti_replay_result *res, char **argv,
                       struct ti_err *err)
{
    o->sweep.json = o->json;
    o->sweep.verbose = o->verbose;
    o->sweep.argv = argv;
    return ti_sweep_command(&o->sweep, res->trace[0].source, err);
}

static ti_status open_traces(const struct ti_replay_options *o, struct ti_replay_result *res,
                             struct ti_err *err)
{
    size_t none = 0;
    ti_status st = TI_OK;

    if (o->ntraces)
        res->trace = ti_grow(NULL, &none, (size_t)o->ntraces, sizeof *res->trace);
    for (; !st && res->ntraces < o->ntraces; res->ntraces++) {
        struct ti_replay_trace *t = &res->trace[res->ntraces];

        t->path = o->trace[res->ntraces];
        st = ti_source_open(t->path, &t->source, err);
        if (!st)
            ti_source_seed(t->source, (uint64_t)o->seed);
    }
    return st;
}

static void free_result(struct ti_replay_result *res)
{
    json_decref(res->waiting);
    json_decref(res->profile);
    json_decref(res->links);
    ti_messages_free(&res->messages);
    free(res->replayer);
    ti_replay_state_close(res->state);
    ti_against_free(&res->against);
    ti_hosts_free(&res->hosts);
    free(res->host_of);
    ti_sites_free(res->sites);
    for (int i = 0; i < res->ntraces; i++) {
        ti_lint_free(&res->trace[i].lint);
        ti_source_close(res->trace[i].source);
    }
    free(res->trace);
    free(res->job);
}

int main(int argc, char **argv)
{
    struct ti_replay_options o = {0};
    static struct ti_replay_result res;
    struct ti_err err = {0};
    ti_status st;
    int end = ti_replay_parse(&o, argc, argv);

    if (end != TI_CLI_END) {
        ti_sweep_free(&o.sweep.sweep);
        ti_args_free(&o.sweep.base);
        return end;
    }
    ti_talk_init(ti_replay_cli.tool, o.quiet, o.no_progress);
    ti_stop_catch();
    st = ti_replay_calibrate(&o, &err);
    if (!st)
        st = ti_replay_read_rates(&o, &err);
    if (!st)
        st = open_traces(&o, &res, &err);
    if (!st && o.sweep.sweep.n)
        st = sweep(&o, &res, argv, &err);
    else if (!st && o.show && mostly_missing(&res))
        st = lint(&o, &res, &err);
    else if (!st && o.show)
        st = ti_replay_show_platform(&o, res.ntraces ? res.trace->source : NULL, &res, &err);
    else if (!st)
        st = replay(&o, &res, &err);
    if (st && (res.verdict.deadlock || res.verdict.crashed) && res.state && share_done(&res) > 0)
        res.waiting = waiting(&res);
    st = ti_replay_report(&o, &res, st, &err);
    free_result(&res);
    if (o.calibration)
        ti_calibrated_free(&o.calibrated);
    ti_rates_free(o.rates);
    ti_sweep_free(&o.sweep.sweep);
    ti_args_free(&o.sweep.base);
    ti_scratch_close();
    if (ti_stopped())
        ti_stop_die();
    return st;
}
