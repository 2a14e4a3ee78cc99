/*
 * The smallest engine: adds up for each rank bytes / bandwidth + messages * latency + volume /
 * speed of what it sends and computes, and takes the longest rank.  Nobody waits for anybody.
 *
 * This engine is the example for "Add an engine" in HACKING.md.  cli/engine runs it in a ti-replay
 * whose table has one row more.
 */
#include <stdio.h>

#include "common/units.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/trace/refusal.h"

static ti_status prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    if (o->platform || o->sites_path)
        return ti_err_set(err, TI_ERR_USAGE, "engine sums needs a generated platform");
    res->actions = res->trace->lint.check.events;
    return TI_OK;
}

static ti_status add_rank(const struct ti_replay_options *o, struct ti_replay_trace *t,
                          int64_t rank, double *seconds, struct ti_err *err)
{
    double speed = ti_unit_value(o->speeds.speed, TI_UNIT_SPEED);
    double bandwidth = ti_unit_value(o->speeds.bandwidth.text[0], TI_UNIT_BANDWIDTH);
    double latency = ti_unit_value(o->speeds.latency.text[0], TI_UNIT_LATENCY);
    struct ti_burst_taker bursts;
    struct ti_reader *r;
    struct ti_event ev;
    uint64_t volume;
    int more = 1;
    ti_status st = ti_source_reader(t->source, rank, &r, err);

    if (st)
        return st;
    ti_bursts_begin(&bursts, &t->bursts, t->source, rank, r);
    for (uint64_t i = 0; !st && (more = ti_reader_next(r, &ev, err)) > 0; i++) {
        st = ti_bursts_next(&bursts, &ev, i, &volume, err);
        if (!st)
            *seconds += (double)volume / speed;
        if (ti_op_is(ev.op, TI_T_SENDS))
            *seconds += (double)ev.arg[TI_F_BYTES] / bandwidth + latency;
    }
    ti_bursts_end(&bursts);
    ti_reader_close(r);
    return more < 0 ? TI_ERR_INPUT : st;
}

static ti_status run(const struct ti_replay_options *o, struct ti_replay_result *res,
                     struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t rank = 0; !st && rank < res->np; rank++) {
        double seconds = 0;

        st = add_rank(o, res->trace, rank, &seconds, err);
        res->job->end_s = seconds > res->job->end_s ? seconds : res->job->end_s;
    }
    snprintf(res->verdict.time, sizeof res->verdict.time, "%.6f", res->job->end_s);
    snprintf(res->verdict.clock, sizeof res->verdict.clock, "%.12g", res->job->end_s);
    res->simulated = !st;
    return st;
}

const struct ti_engine ti_engine_sums = {
    .name = "sums", .target = &ti_replayer_target, .prepare = prepare, .run = run};
