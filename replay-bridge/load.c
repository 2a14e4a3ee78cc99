#include "replay-bridge/steps.h"

#include <stdlib.h>
#include <string.h>

#include "callsite/symbolizer.h"
#include "common/map.h"
#include "common/scratch.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/trace/files.h"

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
            st = ti_source_share_lists(t->source, err);
        if (!st)
            ti_source_seed(t->source, (uint64_t)o->seed);
    }
    return st;
}

/* Replaces the trace by one with the trips of --trips.  The replays of a sweep do so themselves. */
static ti_status change_trips(struct ti_replay_options *o, struct ti_replay_trace *t,
                              struct ti_err *err)
{
    struct ti_symbolizer *z;
    struct ti_source *changed;
    ti_status st;

    if (!o->trips.n || o->sweep.sweep.n || o->ntolerances || o->show)
        return TI_OK;
    st = ti_replay_open_scratch(o, err);
    if (st)
        return st;
    t->changed = strdup(ti_scratch_path(TI_SIM_CHANGED));
    if (!t->changed)
        return ti_err_errno(err, TI_ERR_IO, "cannot change '%s'", t->path);
    z = ti_symbolizer_open(o->debug_dir);
    st = ti_trips_write(&o->trips, t->source, "ti-replay", z, t->changed, err);
    if (!st)
        st = ti_source_open(t->changed, &changed, err);
    ti_symbolizer_close(z);
    if (st)
        return st;
    ti_source_close(t->source);
    t->source = changed;
    ti_source_seed(t->source, (uint64_t)o->seed);
    return TI_OK;
}

ti_status ti_replay_load(struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    ti_status st = ti_replay_calibrate(o, err);

    res->engine = ti_engine_asked(o);
    if (!st)
        st = ti_replay_read_rates(o, err);
    if (!st)
        st = open_traces(o, res, err);
    return st ? st : change_trips(o, res->trace, err);
}

void ti_replay_free(struct ti_replay_options *o, struct ti_replay_result *res)
{
    json_decref(res->waiting);
    json_decref(res->profile);
    json_decref(res->causes);
    json_decref(res->steady);
    json_decref(res->energy);
    json_decref(res->links);
    ti_symbolizer_close(res->symbolizer);
    ti_messages_free(&res->messages);
    ti_args_free(&res->replayer);
    ti_replay_state_close(res->state);
    ti_against_free(&res->against);
    ti_hosts_free(&res->hosts);
    free(res->host_of);
    ti_sites_free(res->sites);
    for (int i = 0; i < res->ntraces; i++) {
        ti_lint_free(&res->trace[i].lint);
        ti_source_close(res->trace[i].source);
        free(res->trace[i].changed);
    }
    free(res->trace);
    free(res->job);
    free(res->cfg);
    if (o->calibration)
        ti_calibrated_free(&o->calibrated);
    ti_rates_free(o->rates);
    ti_trips_free(&o->trips);
    ti_sweep_free(&o->sweep.sweep);
    ti_args_free(&o->sweep.base);
}
