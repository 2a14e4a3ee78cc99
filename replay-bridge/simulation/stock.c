/*
 * Engine stock: SimGrid's own replay of text actions.
 */
#include <stdlib.h>

#include "common/map.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/simulation/simulate.h"
#include "replay-bridge/simulation/smpirun.h"
#include "replay-bridge/trace/lower.h"

/* The name of the host of each rank. */
static const char **hosts_of(const struct ti_replay_result *res)
{
    size_t none = 0;
    const char **host = ti_grow(NULL, &none, (size_t)res->np, sizeof *host);

    for (int64_t rank = 0; rank < res->np; rank++)
        host[rank] = res->hosts.list[res->host_of[rank]].name;
    return host;
}

static ti_status prepare(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err)
{
    struct ti_replay_trace *t = res->trace;
    struct ti_bursts bursts = t->bursts;
    const char **host = ti_noise_any(&bursts.noise) ? hosts_of(res) : NULL;
    ti_status st = ti_smpirun_prepare(o, res, err);

    bursts.host = host;
    if (!st)
        st = ti_lower(t->source, &t->lint, &bursts, !ti_sim_can_open(res->np), &res->actions, err);
    free(host);
    return st;
}

const struct ti_engine ti_engine_stock = {.name = "stock",
                                          .target = &ti_lower_target,
                                          .serves = TI_SERVES_SMPIRUN | TI_SERVES_NOISE,
                                          .actions = true,
                                          .available = ti_smpirun_available,
                                          .ready = ti_sim_available,
                                          .prepare = prepare,
                                          .run = ti_smpirun_run};
