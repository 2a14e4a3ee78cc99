#include "replay-bridge/simulation/engines.h"

#define ROW(name) &ti_engine_##name,
static const struct ti_engine *const engines[] = {TI_ENGINES(ROW)};
enum { ENGINES = sizeof engines / sizeof *engines };

const struct ti_engine *ti_engine_asked(const struct ti_replay_options *o)
{
    return engines[o->engine ? o->engine - 1 : ENGINES - 1];
}

const char *ti_engine_timing(void)
{
    int i = ENGINES - 1;

    while (i > 0 && engines[i]->actions)
        i--;
    return engines[i]->name;
}

const char *ti_engine_lacks(unsigned serves, const struct ti_replay_options *o)
{
    const struct {
        unsigned what;
        bool given;
        const char *option;
    } list[] = {
        {TI_SERVES_SMPIRUN, o->links, "--links"},
        {TI_SERVES_SMPIRUN, o->collectives != NULL, "--collectives"},
        {TI_SERVES_SMPIRUN, o->ncfg > 0, "--cfg"},
        {TI_SERVES_SMPIRUN, o->keep != NULL, "--keep"},
        {TI_SERVES_WILDCARDS, o->any, "--wildcards any"},
        {TI_SERVES_RATES, o->reduce_rate != NULL, "--reduce-rate"},
        {TI_SERVES_RATES, o->copy_rate && o->copy_rate != o->calibrated.copy, "--copy-rate"},
        {TI_SERVES_RATES, o->contention_given && o->speeds.contention, "--contention"},
        {TI_SERVES_PROFILE, o->profile, "--profile"},
        {TI_SERVES_PROFILE, o->causes, "--causes"},
        {TI_SERVES_PROFILE, o->versus != NULL, "--versus"},
        {TI_SERVES_PROFILE, o->scaling != TI_SCALING_NONE, "--scaling"},
        {TI_SERVES_TIMELINE, o->timeline != NULL, "--timeline"},
        {TI_SERVES_NOISE, ti_noise_any(&o->noise) || o->noise.calibration, "--noise"},
        {TI_SERVES_JOBS, o->copies > 1 || (o->ntraces > 1 && !ti_replay_compares(o)),
         "more than one job"},
        {TI_SERVES_JOBS, o->start_text != NULL, "--start"},
        {TI_SERVES_STEADY, o->steady != NULL, "--steady"},
        {TI_SERVES_ENERGY, o->speeds.watts.given, "--watts"},
        {TI_SERVES_DISKS, o->speeds.disk.bandwidth > 0, "--disk"}};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].given && !(list[i].what & serves))
            return list[i].option;
    return NULL;
}

ti_status ti_engine_check(const struct ti_replay_options *o, struct ti_err *err)
{
    const char *lacks = ti_engine_lacks(ti_engine_asked(o)->serves, o);

    return lacks ? ti_err_set(err, TI_ERR_USAGE, "%s needs --engine %s", lacks,
                              engines[ENGINES - 1]->name)
                 : TI_OK;
}

ti_status ti_engine_choose(const struct ti_replay_options *o, const struct ti_engine **out,
                           struct ti_err *err)
{
    ti_status st, first = TI_OK;
    struct ti_err other;

    for (int i = ENGINES; i-- > 0;) {
        const struct ti_engine *e = engines[i];

        if (o->engine ? e != ti_engine_asked(o) : ti_engine_lacks(e->serves, o) != NULL)
            continue;
        st = e->available ? e->available(o, first ? &other : err) : TI_OK;
        if (!st) {
            *out = e;
            return TI_OK;
        }
        first = first ? first : st;
    }
    return first;
}
