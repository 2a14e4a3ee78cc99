#include "replay-bridge/steps.h"

#include <stdio.h>

#include "common/map.h"
#include "replay-bridge/energy.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/simulation/engines.h"

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

/* Checks that the engine can replay with the disks of a sites file; ti_engine_check() knows only of
 * options. */
static ti_status check_disks(const struct ti_replay_options *o, const struct ti_replay_result *res,
                             struct ti_err *err)
{
    if (!res->sites || !ti_sites_have_disks(res->sites, &o->wan) ||
        res->engine->serves & TI_SERVES_DISKS)
        return TI_OK;
    return ti_err_set(err, TI_ERR_INPUT,
                      "the disks of '%s' need --engine %s, since files take no time in engine %s",
                      o->sites_path, ti_engine_timing(), res->engine->name);
}

ti_status ti_replay_plan(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    ti_status st = make_jobs(o, res, err);

    if (!st)
        st = ti_engine_choose(o, &res->engine, err);
    if (st || o->lint_only || ti_replay_mostly_missing(res)) /* there need not be hosts */
        return st;
    st = read_against(o, res, err);
    if (!st && res->engine->ready)
        st = res->engine->ready(err);
    if (!st)
        st = ti_replay_find_hosts(o, res, err);
    if (!st)
        st = check_disks(o, res, err);
    return st ? st : ti_energy_plan(o, res, err);
}

/* A calibrated speed is not for volumes that are times; see ti_replay_speed_for(). */
static ti_status fit_speed(struct ti_replay_options *o, struct ti_source *trace, struct ti_err *err)
{
    struct ti_volumes volumes = {0};
    struct ti_reader *r;
    const char *unit;
    ti_status st = ti_source_reader(trace, 0, &r, err);

    if (st)
        return st;
    unit = ti_reader_info(r, "unit");
    snprintf(volumes.unit, sizeof volumes.unit, "%s", unit ? unit : "");
    ti_reader_close(r);
    ti_replay_speed_for(o, &volumes);
    return TI_OK;
}

ti_status ti_replay_plan_many(struct ti_replay_options *o, struct ti_replay_result *res,
                              struct ti_err *err)
{
    ti_status st = ti_replay_plan(o, res, err);

    if (!st)
        st = fit_speed(o, res->trace->source, err);
    if (!st)
        ti_replay_name_platform(o, res);
    return st;
}
