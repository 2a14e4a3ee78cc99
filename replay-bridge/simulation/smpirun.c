#include "replay-bridge/simulation/smpirun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/simulation/simulate.h"
#include "sound/text.h"

/* Characters that no shell expands and at which LD_PRELOAD is not split. */
#define PLAIN                                                                                      \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                                         \
    "0123456789%+,-./=@_"

#define MANY_RANKS      1024
#define WAITING_MOST    12 /* ranks named after a deadlock */
#define COLLECTIVES_CFG 8  /* settings that --collectives stands for, at most */
#define OTHER_CFG       1  /* of ours */

/* ---- programs ---- */

ti_status ti_smpirun_word(const char *path, const char *link, char out[PATH_MAX],
                          struct ti_err *err)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    if (!real[strspn(real, PLAIN)]) {
        strcpy(out, real);
        return TI_OK;
    }
    if (symlink(real, ti_scratch_path(link)) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot link to '%s'", real);
    snprintf(out, PATH_MAX, "./%s", link);
    return TI_OK;
}

ti_status ti_smpirun_missing(const char *what, const char *program, struct ti_err *err)
{
    if (what)
        ti_err_set(err, TI_ERR_IO, "%s needs %s, which is not beside ti-replay", what, program);
    else
        ti_err_set(err, TI_ERR_IO, "there is no %s beside ti-replay", program);
    ti_err_hint(err, "it is built if smpicc is installed (Debian: apt install libsimgrid-dev)");
    return TI_ERR_IO;
}

ti_status ti_smpirun_available(const struct ti_replay_options *o, struct ti_err *err)
{
    char routes[PATH_MAX];

    return !o->links || ti_beside_helper("ti-smpi-routes", routes)
               ? TI_OK
               : ti_smpirun_missing("--links", "ti-smpi-routes", err);
}

/* ---- settings ---- */

/* The options for the algorithms of collectives `which`: "tree", one of SimGrid's selectors, or
 * "simgrid", which needs none.  Returns their number; the texts are constants. */
static int collectives_cfg(const char *which, const char **cfg)
{
    /* Tree algorithms.  With SimGrid's default one rank sends, or receives, all messages at once.
     */
    static const char *const tree[] = {"smpi/barrier:ompi_tree",     "smpi/reduce:binomial",
                                       "smpi/allreduce:redbcast",    "smpi/gather:ompi_binomial",
                                       "smpi/scatter:ompi_binomial", "smpi/allgather:bruck"};
    static const char *const selectors[] = {"smpi/coll-selector:ompi", "smpi/coll-selector:mpich",
                                            "smpi/coll-selector:mvapich2",
                                            "smpi/coll-selector:impi"};
    int n = 0;

    if (!strcmp(which, "tree"))
        for (; n < (int)(sizeof tree / sizeof *tree); n++)
            cfg[n] = tree[n];
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (!strcmp(which, strchr(selectors[i], ':') + 1))
            cfg[n++] = selectors[i];
    return n;
}

bool ti_energy_asked(const struct ti_replay_result *res)
{
    return res->watts && !res->no_energy;
}

ti_status ti_smpirun_prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                             struct ti_err *err)
{
    char *cfg[COLLECTIVES_CFG + OTHER_CFG + TI_REPLAY_CFG_MAX];
    bool many = res->np > MANY_RANKS;
    int n;

    res->collectives = o->collectives ? o->collectives : many ? "tree" : "simgrid";
    n = collectives_cfg(res->collectives, (const char **)cfg);
    if (ti_energy_asked(res))
        ((const char **)cfg)[n++] = "plugin:host_energy";
    memcpy(cfg + n, o->cfg, (size_t)o->ncfg * sizeof *cfg); /* the last of a key takes precedence */
    res->cfg = ti_calibrated_cfg(&o->calibrated, cfg, n + o->ncfg, &res->ncfg);
    if (!res->cfg)
        return ti_err_errno(err, TI_ERR_IO, "cannot keep SMPI's settings");
    if (many && !strcmp(res->collectives, "tree"))
        ti_say("%lld ranks: collectives are replayed by tree algorithms%s; --collectives simgrid "
               "uses SimGrid's own, which may take hours",
               (long long)res->np, o->collectives ? "" : ", since there are more than 1024");
    else if (many)
        ti_say("%lld ranks: collectives use the algorithms of '%s', which may take hours; "
               "--collectives tree is faster",
               (long long)res->np, res->collectives);
    return TI_OK;
}

/* ---- the run ---- */

static void show_message(void *arg, const char *line)
{
    struct ti_replay_result *res = arg;

    ti_messages_line(&res->messages, line);
}

static uint64_t replayed(const struct ti_replay_result *res)
{
    uint64_t events = 0;

    for (int64_t rank = 0; rank < res->np; rank++)
        events += ti_replay_progress(res->state, rank)->events;
    return events;
}

/* The events that were replayed, and the simulated time so far. */
static void show_state(void *arg, struct ti_progress *p, char note[TI_SIM_NOTE_BYTES])
{
    const struct ti_replay_result *res = arg;
    double now = 0;

    for (int64_t rank = 0; rank < res->np; rank++) {
        double at = ti_replay_progress(res->state, rank)->seconds;

        now = at > now ? at : now;
    }
    p->unit = "events";
    p->done = (int64_t)replayed(res);
    p->of = (int64_t)res->actions;
    p->also[0].name = "simulated_s";
    p->also[0].value = now;
    snprintf(note, TI_SIM_NOTE_BYTES, "%.6f s simulated", now);
    p->note = note;
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

/* Reads the file `name` of the replayer into *out, unless it is not `asked` for. */
static ti_status read_output(bool asked, const char *name, json_t **out, struct ti_err *err)
{
    const char *path = ti_scratch_path(name);
    json_error_t why;

    *out = asked ? json_load_file(path, 0, &why) : NULL;
    return *out || !asked ? TI_OK
                          : ti_err_set(err, TI_ERR_IO, "cannot read '%s': %s", path, why.text);
}

/* Reads the energy, unless the word in the platform was not a property of any host. */
static ti_status read_energy(struct ti_replay_result *res, struct ti_err *err)
{
    ti_status st = read_output(ti_energy_asked(res), TI_SIM_ENERGY, &res->energy, err);

    if (st || json_array_size(json_object_get(res->energy, "hosts")))
        return st;
    json_decref(res->energy);
    res->energy = NULL;
    return TI_OK;
}

/* Computes the load of links from the messages of the simulation.  A second run of SimGrid gives
 * the routes. */
static ti_status find_links(const struct ti_replay_options *o, struct ti_replay_result *res,
                            struct ti_err *err)
{
    struct ti_sim sim = {
        .np = 1, .platform = res->platform_file, .routes = true, .verbose = o->verbose};
    char routes[PATH_MAX], program[PATH_MAX];
    struct ti_args command = {0};
    double wall_s;
    int exit_status;
    const double seconds = ti_verdict_seconds(&res->verdict);
    ti_status st = ti_messages_write(&res->messages, seconds, &res->hosts, TI_SIM_PAIRS, err);

    ti_beside_helper("ti-smpi-routes", routes);
    if (!st)
        st = ti_smpirun_word(routes, "ti-smpi-routes", program, err);
    if (!st) {
        ti_args_add(&command, program, TI_SIM_PAIRS, TI_SIM_LINKS);
        sim.replayer = &command;
        st = ti_simulate(&sim, &exit_status, &wall_s, err);
    }
    ti_args_free(&command);
    ti_progress_end(!st && !exit_status);
    if (!st && exit_status)
        st = ti_err_set(err, TI_ERR_IO,
                        "cannot get the routes of SimGrid: ti-smpi-routes ended with status %d",
                        exit_status);
    if (st)
        return st;
    res->links = ti_messages_links(&res->messages, ti_scratch_path(TI_SIM_LINKS), seconds, err);
    return res->links ? TI_OK : TI_ERR_IO;
}

ti_status ti_smpirun_run(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    struct ti_sim sim = {.np = res->np,
                         .platform = res->platform_file,
                         .cfg = res->cfg,
                         .ncfg = res->ncfg,
                         .arg = res,
                         .log = res->against.ranks && !res->state ? ti_against_log : NULL,
                         .verbose = o->verbose};
    int exit_status;
    ti_status st;

    if (res->replayer.n) {
        sim.replayer = &res->replayer;
        sim.preload = res->preload[0] ? res->preload : NULL;
        sim.progress = show_state;
    }
    if (o->links)
        sim.message = show_message;
    res->messages.host_of = res->host_of;
    res->messages.np = res->np;
    res->messages.slices = o->link_slices;
    st = ti_sim_script(&sim, err);
    res->runnable = st == TI_OK;
    if (!st)
        st = ti_simulate(&sim, &exit_status, &res->wall_s, err);
    if (!st)
        st = ti_verdict_read(ti_scratch_path(TI_SIM_LOG), exit_status, &res->verdict, err);
    res->simulated = st == TI_OK;
    if (res->simulated)
        ti_sim_show(&sim);
    ti_progress_end(res->simulated);
    if (res->simulated)
        note_ends(res);
    if (res->simulated)
        st = read_output(o->profile || o->causes, TI_SIM_PROFILE, &res->profile, err);
    if (res->simulated && !st)
        st = read_output(o->steady, TI_SIM_STEADY, &res->steady, err);
    if (res->simulated && !st)
        st = read_energy(res, err);
    if (res->simulated && !st && o->links)
        st = find_links(o, res, err);
    if ((res->verdict.deadlock || res->verdict.crashed) && res->state && replayed(res))
        res->waiting = waiting(res);
    return st;
}
