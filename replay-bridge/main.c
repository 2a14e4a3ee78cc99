/*
 * ti-replay: the simulated time of a trace.
 *
 *   options -> load -> plan -> check -> act -> report
 */
#include "common/cli.h"
#include "common/scratch.h"
#include "common/table.h"
#include "replay-bridge/machine.h"
#include "replay-bridge/replays.h"
#include "replay-bridge/report.h"
#include "replay-bridge/runs.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/steps.h"
#include "replay-bridge/tolerance.h"

static ti_status replay(struct ti_replay_options *o, struct ti_replay_result *res,
                        struct ti_err *err)
{
    ti_status st = ti_replay_plan(o, res, err);

    if (!st)
        st = ti_replay_check(o, res, err);
    return st || o->lint_only ? st : ti_replay_act(o, res, err);
}

/* --show-platform.  A trace that lacks most ranks gives no number of hosts. */
static ti_status show(struct ti_replay_options *o, struct ti_replay_result *res, struct ti_err *err)
{
    return ti_replay_mostly_missing(res)
               ? ti_replay_check(o, res, err)
               : ti_replay_show_platform(o, res->ntraces ? res->trace->source : NULL, res, err);
}

/* --versus and --scaling.  Each replay plans and checks for itself. */
static ti_status compare(struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    ti_status st = ti_engine_choose(o, &res->engine, err);

    if (!st && res->engine->ready)
        st = res->engine->ready(err);
    if (st)
        return st;
    return o->versus ? ti_versus_command(o, res, err) : ti_scaling_command(o, res, err);
}

/* --sweep, --runs and --tolerance. */
static ti_status sweep(struct ti_replay_options *o, struct ti_replay_result *res, char **argv,
                       struct ti_err *err)
{
    ti_status st;

    o->sweep.json = o->json;
    o->sweep.verbose = o->verbose;
    o->sweep.width = ti_width(o->width);
    o->sweep.timing = ti_engine_timing();
    o->sweep.argv = argv;
    o->sweep.ready = res->engine->ready;
    if (o->ntolerances || (o->sweep.runs && o->sweep.sweep.n == 1)) {
        st = ti_replay_plan_many(o, res, err);
        if (st)
            return st;
        return o->ntolerances ? ti_tolerance_command(o, res, err) : ti_runs_command(o, res, err);
    }
    return ti_sweep_command(&o->sweep, res->trace[0].source, err);
}

int main(int argc, char **argv)
{
    static struct ti_replay_result res;
    struct ti_replay_options o = {0};
    struct ti_err err = {0};
    int end = ti_replay_parse(&o, argc, argv);
    ti_status st;

    if (end != TI_CLI_END) {
        ti_replay_free(&o, &res);
        return end;
    }
    ti_talk_init(ti_replay_cli.tool, o.quiet, o.progress);
    ti_stop_catch();
    st = ti_replay_load(&o, &res, &err);
    if (!st)
        st = o.versus || o.scaling              ? compare(&o, &res, &err)
             : o.sweep.sweep.n || o.ntolerances ? sweep(&o, &res, argv, &err)
             : o.show                           ? show(&o, &res, &err)
                                                : replay(&o, &res, &err);
    st = ti_replay_report(&o, &res, st, &err);
    ti_replay_free(&o, &res);
    ti_scratch_close();
    if (ti_stopped())
        ti_stop_die();
    return st;
}
