/*
 * Engine tiara: ti-smpi-replay, an MPI program on smpirun.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/args.h"
#include "common/beside.h"
#include "common/scratch.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/simulation/simulate.h"
#include "replay-bridge/simulation/smpirun.h"
#include "replay-bridge/trace/refusal.h"

#define REPLAYER "ti-smpi-replay"
#define PRELOAD  "libti-smpi-preload.so" /* see replayer/clock.c and eager.c */

static ti_status available(const struct ti_replay_options *o, struct ti_err *err)
{
    char file[PATH_MAX];
    ti_status st = ti_smpirun_available(o, err);

    return st || ti_beside_helper(REPLAYER, file)
               ? st
               : ti_smpirun_missing(o->engine ? NULL : ti_engine_lacks(TI_SERVES_SMPIRUN, o),
                                    REPLAYER, err);
}

/* ---- the command ---- */

/* Adds an option, if it has a value. */
static void add(struct ti_args *args, const char *option, const char *value)
{
    if (value)
        ti_args_add(args, option, value);
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

/* How bursts are replayed, as options of ti-smpi-replay. */
static ti_status add_bursts(struct ti_args *args, const struct ti_bursts *bursts,
                            struct ti_err *err)
{
    char cores[32], rates[PATH_MAX], noise[TI_NOISE_TEXT_BYTES];

    ti_noise_text(&bursts->noise, noise);
    add(args, "--noise", noise[0] ? noise : NULL);
    if (bursts->as == TI_BURSTS_NOTHING)
        ti_args_add(args, "--no-compute");
    if (bursts->as == TI_BURSTS_TIMES)
        ti_args_add(args, "--times");
    if (bursts->as == TI_BURSTS_RATES) {
        if (ti_smpirun_word(bursts->rates_path, "rates", rates, err))
            return TI_ERR_IO;
        add(args, "--rate", rates);
    }
    if (bursts->as != TI_BURSTS_THREADS)
        return TI_OK;
    snprintf(cores, sizeof cores, "%" PRId64, bursts->cores);
    if (bursts->cores == INT64_MAX)
        add(args, "--threads", "longest");
    else
        add(args, "--cores", cores);
    return TI_OK;
}

/* The traces of the jobs; jobs that share a trace have it under one name. */
static ti_status add_traces(struct ti_args *args, const struct ti_replay_result *res,
                            struct ti_err *err)
{
    char source[PATH_MAX], link[32];
    ti_status st = TI_OK;

    for (int j = 0; !st && j < res->njobs; j++) {
        const struct ti_replay_trace *t = res->job[j].trace;

        if (!j || t != res->job[j - 1].trace) {
            snprintf(link, sizeof link, "trace-%d", j);
            st = ti_smpirun_word(t->changed ? t->changed : t->path, link, source, err);
        }
        if (!st)
            ti_args_add(args, source);
    }
    return st;
}

/* The value of SMPI's setting smpi/or; NULL: none.  The last one takes precedence. */
static const char *receive_overhead(const struct ti_replay_result *res)
{
    static const char key[] = "smpi/or:";
    const char *found = NULL;

    for (int i = 0; i < res->ncfg; i++)
        if (!strncmp(res->cfg[i], key, strlen(key)))
            found = res->cfg[i] + strlen(key);
    return found;
}

static void add_outputs(struct ti_args *args, const struct ti_replay_options *o,
                        const struct ti_replay_result *res)
{
    add(args, "--energy", ti_energy_asked(res) ? TI_SIM_ENERGY : NULL);
    add(args, "--profile", o->profile || o->causes ? TI_SIM_PROFILE : NULL);
    if (o->overview)
        ti_args_add(args, "--overview");
    if (o->causes) {
        ti_args_add(args, "--causes");
        add(args, "--receive-overhead", receive_overhead(res));
    }
    if (o->steady) {
        ti_args_addf(args, "--steady=%s", o->steady);
        add(args, "--left-out", TI_SIM_STEADY);
    }
    add(args, "--intervals", o->timeline ? TI_SIM_INTERVALS : NULL);
}

/* The command of ti-smpi-replay. */
static ti_status command(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    char file[PATH_MAX], program[PATH_MAX], seed[32];
    struct ti_args *args = &res->replayer;
    ti_status st;

    ti_beside_helper(REPLAYER, file);
    st = ti_smpirun_word(file, REPLAYER, program, err);
    if (!st && ti_beside_helper(PRELOAD, file))
        st = ti_smpirun_word(file, PRELOAD, res->preload, err);
    if (st)
        return st;
    ti_args_add(args, program, "--no-check");
    add(args, "--state", TI_SIM_STATE);
    st = add_bursts(args, all_bursts(res), err);
    add(args, "--wildcards", o->any ? "any" : NULL);
    add(args, "--reduce-rate", o->reduce_rate);
    add(args, "--copy-rate", o->copy_rate);
    if (o->speeds.contention)
        ti_args_add(args, "--contention");
    snprintf(seed, sizeof seed, "%" PRId64, o->seed);
    add(args, "--seed", o->seed ? seed : NULL);
    add(args, "--start", o->start_text);
    add_outputs(args, o, res);
    if (!st)
        st = add_traces(args, res, err);
    return st || ti_args_ok(args) ? st : ti_err_set(err, TI_ERR_IO, "out of memory");
}

/* ---- the engine ---- */

/* --steady finds loops in the folded form of a trace, which rank files do not have. */
static ti_status check_folded(const struct ti_replay_result *res, struct ti_err *err)
{
    const struct ti_replay_trace *t = res->trace;

    if (ti_source_merged(t->source))
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "--steady needs a merged trace, and '%s' has rank files",
               t->path);
    ti_err_hint(err, "ti-info --merge '%s' -o FILE makes one", t->path);
    return TI_ERR_INPUT;
}

static ti_status prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    const char *path = ti_scratch_path(TI_SIM_STATE);
    ti_status st = o->steady ? check_folded(res, err) : TI_OK;

    if (!st)
        st = ti_smpirun_prepare(o, res, err);
    for (int j = 0; j < res->njobs; j++)
        res->actions += res->job[j].trace->lint.check.events;
    if (!st)
        st = ti_replay_state_make(path, res->np, err);
    if (!st)
        st = ti_replay_state_open(path, res->np, &res->state, err);
    return st ? st : command(o, res, err);
}

const struct ti_engine ti_engine_tiara = {.name = "tiara",
                                          .target = &ti_replayer_target,
                                          .serves = TI_SERVES_ALL,
                                          .available = available,
                                          .ready = ti_sim_available,
                                          .prepare = prepare,
                                          .run = ti_smpirun_run};
