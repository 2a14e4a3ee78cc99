#include "replay-bridge/steps.h"

#include <string.h>

#include "replay-bridge/advice.h"
#include "replay-bridge/simulation/engines.h"

/* Whether a warning about the volumes of one trace also covers the other. */
static bool same_volumes(const struct ti_replay_trace *a, const struct ti_replay_trace *b)
{
    const struct ti_volumes *x = &a->lint.volumes, *y = &b->lint.volumes;

    return !strcmp(x->counter, y->counter) && !strcmp(x->unit, y->unit) &&
           x->inexact == y->inexact && x->estimate == y->estimate;
}

static ti_status lint_trace(struct ti_replay_options *o, const struct ti_replay_result *res,
                            struct ti_replay_trace *t, struct ti_err *err)
{
    const struct ti_bursts asked = {.as = o->rates                           ? TI_BURSTS_RATES
                                          : o->times                         ? TI_BURSTS_TIMES
                                          : o->threads == TI_THREADS_LONGEST ? TI_BURSTS_THREADS
                                                                             : TI_BURSTS_VOLUME,
                                    .rates = o->rates,
                                    .rates_path = o->rate};
    ti_status st = asked.as ? ti_bursts_check(t->source, &asked, err) : TI_OK;

    if (o->rates)
        t->bursts = asked;
    if (!st)
        st = ti_lint(t->source, res->engine->target, o->eager_bytes, &t->lint, &t->problems, err);
    t->linted = st == TI_OK;
    if (st)
        return st;
    ti_replay_speed_for(o, &t->lint.volumes);
    ti_replay_warn_of_caveats(t->source, &t->lint.caveats);
    if (!t->problems.n && o->times)
        ti_replay_warn_of_times(t->source, &t->lint.volumes);
    else if (!t->problems.n && (t == res->trace || !same_volumes(t, res->trace)))
        ti_replay_warn_of_volumes(o, &t->lint.volumes);
    if (!t->problems.n && o->rates)
        ti_replay_warn_of_sites(t->source, o);
    if (!t->problems.n)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be replayed: %llu problem%s", t->path,
               (unsigned long long)t->problems.n, t->problems.n > 1 ? "s" : "");
    ti_replay_hint(o, res, t, err);
    return TI_ERR_INPUT;
}

ti_status ti_replay_check(struct ti_replay_options *o, struct ti_replay_result *res,
                          struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int i = 0; !st && i < res->ntraces; i++)
        st = lint_trace(o, res, &res->trace[i], err);
    return st;
}

bool ti_replay_mostly_missing(const struct ti_replay_result *res)
{
    for (int i = 0; i < res->ntraces; i++)
        if (ti_lint_mostly_missing(res->trace[i].source))
            return true;
    return false;
}
