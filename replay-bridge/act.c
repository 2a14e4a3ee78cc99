#include "replay-bridge/steps.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"
#include "replay-bridge/call_sites.h"
#include "replay-bridge/causes.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/simulation/engines.h"

/* Chooses how bursts are replayed.  The threads of a rank share the host's cores per rank. */
static void choose_bursts(const struct ti_replay_options *o, int64_t cores,
                          struct ti_replay_trace *t)
{
    struct ti_bursts *b = &t->bursts;
    struct ti_err none;

    b->noise = o->noise;
    b->noise.seed = (uint64_t)o->seed;
    if (o->rates) /* set up by the check */
        return;
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

/* Whether the timeline goes into a pipe or device, which is neither made nor removed. */
static bool is_special(const char *timeline)
{
    struct stat is;

    return stat(timeline, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode);
}

/* Creates the timeline file, so that an error shows before the replay.  A pipe is opened only by
 * the replayer: its reader would take the first close for the end. */
static ti_status make_timeline(const struct ti_replay_options *o, struct ti_err *err)
{
    FILE *f = NULL;

    if (!o->timeline)
        return TI_OK;
    if (is_special(o->timeline) ? access(o->timeline, W_OK) != 0 : !(f = fopen(o->timeline, "we")))
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", o->timeline);
    if (f)
        fclose(f);
    return TI_OK;
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
    ti_status st = ti_replay_write_platform(o, res, err);

    if (st || (st = make_timeline(o, err)))
        return st;
    for (int i = 0; i < res->ntraces; i++)
        choose_bursts(o, cores, &res->trace[i]);
    st = res->engine->prepare(o, res, err);
    if (!st)
        st = res->engine->run(o, res, err);
    if (!st)
        st = ti_replay_name_call_sites(o, res, err);
    if (!st && o->causes)
        find_causes(o, res);
    if (st && o->timeline && !is_special(o->timeline))
        remove(o->timeline);
    return st;
}
