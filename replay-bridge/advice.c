#include "replay-bridge/advice.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/doubts.h"
#include "common/cli.h"
#include "fold/values.h"
#include "replay-bridge/simulation/engines.h"

/* Whether a valid speed equals 1Gf, in any notation. */
static bool is_gigaflop(const char *speed)
{
    char *unit;
    double value = strtod(speed, &unit);

    for (const char *p = "kMGTPE"; unit[0] != 'f' && *p; p++) {
        value *= 1e3;
        if (*p == unit[0])
            break;
    }
    return value == 1e9;
}

void ti_replay_warn_of_volumes(const struct ti_replay_options *o, const struct ti_volumes *v)
{
    bool time = !strcmp(v->unit, "nanoseconds");
    const char *which = strcmp(v->counter, "otf2") != 0 ? "CPU time" : "elapsed time";

    if (!strcmp(v->counter, "mixed"))
        ti_warn("the ranks were not counted by one counter: their volumes cannot be compared, and "
                "the simulated time is meaningless");
    if (time && o->rates)
        ti_warn("volumes are nanoseconds of %s, an estimate", which);
    else if (time && (o->platform || o->sites_path))
        ti_warn("volumes are nanoseconds of %s, an estimate; a host speed of 1Gf in '%s' "
                "replays them as measured, other speeds scale them",
                which, o->platform ? o->platform : o->sites_path);
    else if (time && !is_gigaflop(o->speeds.speed))
        ti_warn("volumes are nanoseconds of %s, an estimate; --speed %s scales them, --speed "
                "1Gf replays them as measured",
                which, o->speeds.speed);
    else if (time)
        ti_warn("volumes are nanoseconds of %s, an estimate; --speed 1Gf replays them as "
                "measured",
                which);
    else if (!o->rates && v->unit[0] && strcmp(v->unit, "instructions") != 0 &&
             strcmp(v->unit, "flops") != 0)
        ti_warn("volumes are not instructions (counter %s, unit %s%s); each unit is replayed as a "
                "flop",
                v->counter, v->unit, v->inexact ? ", not exact" : "");
    else if (v->inexact)
        ti_warn("volumes are %s: the counter is %s", v->estimate ? "an estimate" : "not exact",
                v->counter);
}

/* Typical cause: the program was rebuilt, so its sites have changed.  Ranks mostly have the same
 * sites, so a single rank is checked. */
void ti_replay_warn_of_sites(struct ti_source *s, const struct ti_replay_options *o)
{
    const char *site;
    struct ti_reader *r;
    bool known = false;

    if (!o->rates->nsites || ti_source_reader(s, 0, &r, NULL) != TI_OK)
        return;
    if (ti_reader_skip(r, NULL) == TI_OK)
        for (int64_t i = 1; !known && (site = ti_reader_string(r, TI_STRING_SITE, i)); i++)
            known = ti_rates_site(o->rates, site) != NULL;
    ti_reader_close(r);
    if (!known)
        ti_warn("rank 0 of '%s' has none of the call sites of '%s': the rates of classes are used; "
                "call sites change when the program is compiled",
                ti_source_path(s), o->rate);
}

/* Volumes and durations of the bursts of a rank. */
struct rank_sums {
    int burst; /* extra column of durations */
    double volume, ns;
};

static bool add_values(void *arg, const struct ti_values *v)
{
    struct rank_sums *sums = arg;
    uint64_t volume, ns;

    if (ti_values_sum(v, 0, &volume) && ti_values_sum(v, 1 + (uint32_t)sums->burst, &ns)) {
        sums->volume += (double)volume;
        sums->ns += (double)ns;
    }
    return true;
}

/* Sums up a rank; of a folded trace no event is read. */
static void sum_rank(struct ti_reader *r, struct rank_sums *sums)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct ti_event ev;

    *sums = (struct rank_sums){.burst = ti_reader_extra(r, TI_EXTRA_BURST)};
    if (sums->burst < 0)
        return;
    if (!f)
        ti_reader_want_extras(r);
    while (!f && ti_reader_next(r, &ev, NULL) > 0)
        if (ev.extra) {
            sums->volume += (double)ev.volume;
            sums->ns += (double)ev.extra[sums->burst];
        }
    for (uint32_t i = 0; f && i < ti_shape_nodes(f); i++)
        if (!ti_shape_node(f, i).loop)
            ti_shape_values(f, i, 1 | 2u << sums->burst, add_values, sums);
}

/* Adds the doubt whether the ranks ran at one speed. */
static void add_doubt_of_rates(struct ti_source *s, const char *unit, struct ti_doubts *doubts)
{
    double least = 0, most = 0, rate;
    struct rank_sums sums;
    struct ti_reader *r;
    bool any = false;

    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        if (ti_source_reader(s, rank, &r, NULL) != TI_OK)
            continue;
        sum_rank(r, &sums);
        ti_reader_close(r);
        if (!(sums.ns > 0))
            continue;
        rate = sums.volume * 1e9 / sums.ns;
        least = any && least < rate ? least : rate;
        most = any && most > rate ? most : rate;
        any = true;
    }
    if (any)
        ti_doubts_of_rates(least, most, unit, doubts);
}

void ti_replay_warn_of_times(struct ti_source *s, const struct ti_volumes *v)
{
    struct ti_doubts doubts;
    struct ti_err why;

    if (ti_source_manifest_status(s, &why) != TI_OK)
        ti_warn("%s; whether bursts waited for a core is not known", why.text);
    ti_doubts_of_durations(ti_source_manifest(s), ti_doubts_slowed(v->counter), &doubts);
    add_doubt_of_rates(s, v->unit[0] ? v->unit : "volume", &doubts);
    for (int i = 0; i < doubts.n; i++)
        ti_warn("%s", doubts.text[i]);
}

void ti_replay_warn_of_caveats(struct ti_source *s, struct ti_caveats *c)
{
    const json_t *run = ti_source_manifest(s), *own = json_object_get(run, "acquisition");
    char text[512];

    ti_caveats_run(c, own ? own : run);
    for (int i = 0; ti_caveats_text(c, i, text, sizeof text); i++)
        ti_warn("%s", text);
}

/* Whether an engine refuses the trace, too. */
static bool refuses(const struct ti_engine *engine, const struct ti_replay_trace *t)
{
    struct ti_problems problems;
    struct ti_lint lint;
    struct ti_err ignored;
    ti_status st =
        ti_lint(t->source, engine->target, t->lint.eager_bytes, &lint, &problems, &ignored);

    ti_lint_free(&lint);
    return st || problems.n;
}

void ti_replay_hint(const struct ti_replay_options *o, const struct ti_replay_result *res,
                    const struct ti_replay_trace *t, struct ti_err *err)
{
    const struct ti_engine *best = res->engine;
    const struct ti_lint *lint = &t->lint;
    struct ti_replay_options any = *o;
    struct ti_err none;
    bool refused = lint->refused == t->problems.n;

    any.engine = 0;
    ti_engine_choose(&any, &best, &none);

    if (lint->missing)
        ti_err_hint(err,
                    "only complete traces can be replayed: 'ti-info %s' lists what is missing; "
                    "ti-gather fetches it if nodes still have it, else trace the program again",
                    t->path);
    else if (lint->check.unmatched && lint->check.interrupted)
        ti_err_hint(err, "the trace has MPI_Pcontrol(0): all ranks must stop and resume recording "
                         "at matching points, between the same calls");
    else if (refused && res->engine->actions && best != res->engine && !refuses(best, t))
        ti_err_hint(err, "SimGrid's own replay has no such calls; --engine %s can replay them",
                    best->name);
    else if (refused)
        ti_err_hint(err, "the trace is sound, but SimGrid cannot simulate such calls.  To leave "
                         "out a part of the program whose time does not matter, call "
                         "MPI_Pcontrol(0) before it and MPI_Pcontrol(1) after it, on all ranks");
    else if (lint->refused + lint->untraced == t->problems.n)
        ti_err_hint(
            err,
            "calls that are not traced cannot be replayed.  To leave out that part of the program, "
            "call MPI_Pcontrol(0) before it and MPI_Pcontrol(1) after it, on all ranks");
    else
        ti_err_hint(err,
                    "%s'ti-info --verify %s' lists all errors of the trace; if the program is "
                    "correct, please report them as a defect of Tiara",
                    lint->refused + lint->untraced
                        ? "SimGrid lacks some of these calls, others are "
                          "wrong: "
                        : "",
                    t->path);
}
