/*
 * Engine stock: SimGrid's own replay of text actions.
 */
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/simulation/simulate.h"
#include "replay-bridge/simulation/smpirun.h"
#include "replay-bridge/trace/lower.h"

static ti_status prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    struct ti_replay_trace *t = res->trace;
    ti_status st = ti_smpirun_prepare(o, res, err);

    return st ? st : ti_lower(t->source, &t->lint, &t->bursts, !ti_sim_can_open(res->np), &res->actions, err);
}

const struct ti_engine ti_engine_stock = {.name = "stock",
                                          .target = &ti_lower_target,
                                          .serves = TI_SERVES_SMPIRUN,
                                          .actions = true,
                                          .available = ti_smpirun_available,
                                          .ready = ti_sim_available,
                                          .prepare = prepare,
                                          .run = ti_smpirun_run};
