/* ti-replay A --versus B: what of the simulated time differs. */
#include <math.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/map.h"
#include "common/table.h"
#include "replay-bridge/replays.h"
#include "replay-bridge/report.h"

#define NAME_BYTES 3000
#define NAME_LEAST 24 /* of the name of a loop or call site, in characters */

/* How much longer the first trace spends there. */
static double change(const struct ti_replays *r, const struct ti_replay_part *p)
{
    (void)r;
    return p->s[0] - p->s[1];
}

/* The difference of runs with the same seed. */
static struct ti_interval differences(const struct ti_replays *r)
{
    size_t none = 0;
    double *d = ti_grow(NULL, &none, (size_t)r->nruns, sizeof *d);
    struct ti_interval all;

    for (int i = 0; i < r->nruns; i++)
        d[i] = r->run[i] - r->run[r->nruns + i];
    all = ti_interval_of(d, r->nruns);
    free(d);
    return all;
}

/* ------------------------------------------------------------------- text -- */

static void put_part(const struct ti_replays *r, const struct ti_replay_part *p, bool loop,
                     const struct ti_replay_unit *unit, struct ti_text_table *t)
{
    double whole = r->mean[0] - r->mean[1], by = change(r, p);
    char name[NAME_BYTES];

    ti_table_text(t, "%+.4f", unit->factor * by);
    if (whole > 0 || whole < 0)
        ti_table_text(t, "%.1f %%", 100 * by / whole);
    else
        ti_table_skip(t);
    ti_table_text(t, "%.4f", unit->factor * p->s[1]);
    ti_table_text(t, "%.4f", unit->factor * p->s[0]);
    for (int k = 0; k < TI_SPENT_ON; k++)
        ti_table_text(t, "%+.4f", unit->factor * (p->spent[0].on[k] - p->spent[1].on[k]));
    ti_table_text(t, "%*s%s", 2 * p->depth, "", ti_replays_name(r, p, loop, name, sizeof name));
}

static void print_parts(const struct ti_replays *r, const struct ti_replay_part *part, size_t n,
                        bool loop)
{
    struct ti_replay_unit unit = ti_replays_unit(r->mean[0] > r->mean[1] ? r->mean[0] : r->mean[1]);
    const struct ti_table_column columns[] = {
        {unit.text, TI_CELLS_WORDS, 0},
        {"share", TI_CELLS_WORDS, 0},
        {ti_replays_path(r, 1), TI_CELLS_WORDS, 0},
        {ti_replays_path(r, 0), TI_CELLS_WORDS, 0},
        {"computing", TI_CELLS_WORDS, 0},
        {"communicating", TI_CELLS_WORDS, 0},
        {"waiting", TI_CELLS_WORDS, 0},
        {loop ? "loop" : "call site, with the computing before it", TI_CELLS_TEXT, NAME_LEAST}};
    struct ti_text_table *t = ti_table_new(columns, 8);
    double least, rounding = ti_replays_rounding(r);
    size_t *order = ti_replays_order(r, part, n, change, &least), left = 0;

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n; i++) {
        double by = fabs(change(r, &part[order[i]]));

        if (by >= least)
            put_part(r, &part[order[i]], loop, &unit, t);
        else
            left += by >= rounding;
    }
    if (left)
        ti_table_line(t, "... and %zu more: --json has all", left);
    ti_table_print(t, stdout, ti_width(r->o->width));
    free(order);
}

static void print_time(const struct ti_replays *r, const char *label, int trace)
{
    const struct ti_interval *time = &r->time[trace];

    if (r->nruns > 1)
        ti_replay_print_line(r->o, label,
                             "%.9g s, %lld ranks, %s; median of %d runs, %.9g to %.9g s",
                             time->median, (long long)ti_source_nranks(r->source[trace]),
                             ti_replays_path(r, trace), r->nruns, time->low, time->high);
    else
        ti_replay_print_line(r->o, label, "%.9g s, %lld ranks, %s", time->median,
                             (long long)ti_source_nranks(r->source[trace]),
                             ti_replays_path(r, trace));
}

/* Whether any part differs. */
static bool any_change(const struct ti_replays *r)
{
    for (size_t i = 0; i < r->nsites; i++)
        if (fabs(change(r, &r->site[i])) >= ti_replays_rounding(r))
            return true;
    return false;
}

/* Whether all runs could differ by chance. */
static void print_interval(const struct ti_replays *r, const struct ti_interval *d)
{
    bool zero = d->low <= 0 && d->high >= 0;

    ti_replay_print_line(r->o, "interval:",
                         "%+.9g to %+.9g s has the median of all possible differences with a "
                         "probability of %.1f %%; %s",
                         d->low, d->high, 100 * d->confidence,
                         zero ? "0 is in it: the difference may be noise" : "0 is not in it");
}

static void print_text(const struct ti_replays *r)
{
    struct ti_interval d = differences(r);
    double before = r->time[1].median;

    print_time(r, "simulated time:", 0);
    print_time(r, "versus:", 1);
    ti_replay_print_line(r->o, "difference:", "%+.9g s (%+.2f %%); + is longer in %s", d.median,
                         before > 0 ? 100 * d.median / before : 0, ti_replays_path(r, 0));
    if (r->nruns > 1)
        print_interval(r, &d);
    if (r->o->quiet)
        return;
    ti_replays_print_common(r);
    if (!any_change(r)) {
        ti_replay_print_line(r->o, "call sites:", "the same time at each");
        return;
    }
    putchar('\n');
    ti_print_wide(stdout, ti_width(r->o->width),
                  "where the difference is, by the mean time of a rank%s; lines that are not "
                  "indented add up to it",
                  r->nruns > 1 ? " in all runs" : "");
    if (r->flat)
        ti_print_wide(stdout, ti_width(r->o->width),
                      "'%s' has rank files, so loops are not known; ti-info --merge makes a trace "
                      "that has them",
                      r->flat);
    else
        print_parts(r, r->loop, r->nloops, true);
    print_parts(r, r->site, r->nsites, false);
}

/* ------------------------------------------------------------------- JSON -- */

static void add_part(const void *of, const struct ti_replay_part *p, json_t *j)
{
    const struct ti_replays *r = of;
    double whole = r->mean[0] - r->mean[1], by = change(r, p);

    json_object_set_new(j, "time_s", ti_replays_numbers(r, p->s));
    json_object_set_new(j, "difference_s", json_real(by));
    json_object_set_new(j, "share", whole > 0 || whole < 0 ? json_real(by / whole) : json_null());
    for (int k = 0; k < TI_SPENT_ON && !(p->rest && !p->spent[0].on[k] && !p->spent[1].on[k]); k++)
        json_object_set_new(j, ti_spent_keys[k],
                            json_pack("[f, f]", p->spent[0].on[k], p->spent[1].on[k]));
}

static void print_json(const struct ti_replays *r)
{
    struct ti_interval d = differences(r);
    json_t *out = ti_replays_json(r);
    double least = ti_replays_rounding(r);

    json_object_set_new(out, "difference_s", json_real(d.median));
    json_object_set_new(out, "difference_pct",
                        r->time[1].median > 0 ? json_real(100 * d.median / r->time[1].median)
                                              : json_null());
    if (r->nruns > 1)
        json_object_set_new(out, "differences", ti_interval_json(&d));
    json_object_set_new(out, "mean_difference_s", json_real(r->mean[0] - r->mean[1]));
    json_object_set_new(out, "loops",
                        ti_replays_parts_json(r, true, change, least, add_part, r, out));
    json_object_set_new(out, "sites",
                        ti_replays_parts_json(r, false, change, least, add_part, r, out));
    ti_replays_print_json(r, "versus", out);
}

ti_status ti_versus_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                            struct ti_err *err)
{
    struct ti_replays r;
    ti_status st = ti_replays_run(o, res, &r, err);

    if (!st && o->json)
        print_json(&r);
    else if (!st)
        print_text(&r);
    ti_replays_free(&r);
    return st;
}
