#include "replay-bridge/steps.h"

#include <stdlib.h>

#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "replay-bridge/call_sites.h"
#include "replay-bridge/causes.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/trace/files.h"
#include "terminal/pictures.h"
#include "timeline/timeline.h"

/* Chooses how bursts are replayed.  The threads of a rank share the host's cores per rank. */
static void choose_bursts(const struct ti_replay_options *o, int64_t cores,
                          struct ti_replay_trace *t)
{
    struct ti_bursts *b = &t->bursts;
    struct ti_err none;

    b->noise = o->no_compute ? TI_NOISE_NONE : o->noise;
    b->noise.seed = (uint64_t)o->seed;
    if (o->rates && !o->no_compute) /* set up by the check */
        return;
    b->as = o->no_compute ? TI_BURSTS_NOTHING : o->times ? TI_BURSTS_TIMES : TI_BURSTS_THREADS;
    b->cores = o->threads == TI_THREADS_LONGEST ? INT64_MAX
               : o->threads == TI_THREADS_SUM   ? 1
                                                : (cores > 0 ? cores : 1);
    if (b->as == TI_BURSTS_THREADS && ti_bursts_check(t->source, b, &none) != TI_OK)
        b->as = TI_BURSTS_VOLUME;
    if (b->as == TI_BURSTS_VOLUME && o->speeds.cores > 1 && o->ranks_per_host < 2 &&
        !o->speeds.watts.given)
        ti_warn("--cores %lld has no effect: '%s' does not have the volume of the longest thread "
                "of each burst (ti-acquire --threads sum -c valgrind), so a burst takes one core",
                (long long)o->speeds.cores, t->path);
}

static void warn_of_disk(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    bool files = !(o->speeds.disk.bandwidth > 0);

    for (int i = 0; i < res->ntraces; i++)
        files |= res->trace[i].lint.files;
    if (!files)
        ti_warn("--disk has no effect: '%s' has no MPI-IO", res->trace[0].path);
}

/* The host that a rank is on in the simulation. */
static const char *host_of(const void *of, int64_t rank)
{
    const struct ti_replay_result *res = of;

    return res->hosts.list[res->host_of[rank]].name;
}

/* Writes the timeline of the simulation. */
static ti_status write_timeline(const struct ti_replay_result *res, struct ti_timeline *t,
                                struct ti_err *err)
{
    size_t none = 0;
    struct ti_timeline_job *job = ti_grow(NULL, &none, (size_t)res->njobs, sizeof *job);
    struct ti_timeline_told told;
    ti_status st;

    for (int i = 0; i < res->njobs; i++)
        job[i] = (struct ti_timeline_job){res->job[i].trace->path, res->job[i].trace->source,
                                          res->job[i].first};
    st =
        ti_timeline_write(t,
                          &(struct ti_timeline_show){.job = job,
                                                     .njobs = res->njobs,
                                                     .np = res->np,
                                                     .intervals = ti_scratch_path(TI_SIM_INTERVALS),
                                                     .symbolizer = res->symbolizer,
                                                     .host = host_of,
                                                     .of = res},
                          &told, err);
    ti_timeline_told_free(&told);
    free(job);
    return st;
}

/* Names call sites in the results, and writes the timeline, which names them, too. */
static ti_status name_call_sites(const struct ti_replay_options *o, struct ti_replay_result *res,
                                 struct ti_timeline *t, struct ti_err *err)
{
    ti_status st = TI_OK;

    ti_replay_name_call_sites(o, res);
    if (t && res->simulated)
        st = write_timeline(res, t, err);
    if (!st && !o->quiet && res->symbolizer)
        ti_symbolizer_advise(res->symbolizer);
    return st;
}

/* Analyses the critical path of the profile, and leaves the profile if it was asked for. */
static void find_causes(const struct ti_replay_options *o, struct ti_replay_result *res)
{
    res->causes = ti_causes(res->profile, !o->times, res->njobs == 1);
    ti_replay_name_sites(res->symbolizer, res->causes);
    json_object_del(res->profile, "path");
    if (o->profile)
        return;
    json_decref(res->profile);
    res->profile = NULL;
}

ti_status ti_replay_act(struct ti_replay_options *o, struct ti_replay_result *res,
                        struct ti_err *err)
{
    int64_t cores = ti_hosts_cores_a_rank(&res->hosts);
    struct ti_timeline *timeline = NULL;
    ti_status st = ti_replay_write_platform(o, res, err);

    o->overview = o->profile && !o->json && !o->quiet && ti_ink_of(stdout) != TI_INK_NONE;
    if (!st && o->timeline) /* an error shows before the replay */
        st = ti_timeline_open(o->timeline, &timeline, err);
    if (st)
        return st;
    for (int i = 0; i < res->ntraces; i++)
        choose_bursts(o, cores, &res->trace[i]);
    warn_of_disk(o, res);
    st = res->engine->prepare(o, res, err);
    if (!st)
        st = res->engine->run(o, res, err);
    if (!st)
        st = name_call_sites(o, res, timeline, err);
    if (!st && o->causes)
        find_causes(o, res);
    ti_timeline_close(timeline);
    return st;
}
