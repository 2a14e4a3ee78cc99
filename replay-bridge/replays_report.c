/* The common parts of the reports of several replays (replays.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "replay-bridge/replays.h"
#include "replay-bridge/report.h"

#define CLOCK 2e-12 /* what the digits of SimGrid's clock leave open */

/* ------------------------------------------------------------------- names -- */

#define SITE_BYTES 700

/* The name of a part in a trace; NULL: the trace does not have it. */
static const char *name_in(const struct ti_replays *r, const struct ti_replay_part *p, bool loop,
                           int trace, char *text, size_t bytes)
{
    const char *site;

    if (loop)
        return ti_versions_name(r->v, p->number, trace);
    site = ti_versions_text(r->v, p->number, trace);
    return site ? ti_site_text(r->symbolizer, site, text, bytes) : NULL;
}

const char *ti_replays_name(const struct ti_replays *r, const struct ti_replay_part *p, bool loop,
                            char *text, size_t bytes)
{
    char first[SITE_BYTES], other[SITE_BYTES];
    const char *is = NULL, *name, *differs = NULL;
    int has = 0, of = 0;

    if (p->rest) {
        snprintf(text, bytes, "%s", p->rest);
        return text;
    }
    for (int t = 0; t < r->n; t++) {
        name = name_in(r, p, loop, t, is ? other : first, SITE_BYTES);
        has += name != NULL;
        if (name && is && !differs && strcmp(name, is) != 0)
            differs = name;
        if (name && (!is || differs == name))
            of = t;
        is = is ? is : name;
        if (differs)
            break;
    }
    snprintf(text, bytes, "%s%s%s", loop ? "" : ti_op_info(ti_versions_op(r->v, p->number))->text,
             loop || !is || !*is ? "" : " ", is ? is : "");
    bytes -= strlen(text);
    if (differs)
        snprintf(text + strlen(text), bytes, " (%s in %s)", differs, ti_replays_path(r, of));
    else if (has == 1)
        snprintf(text + strlen(text), bytes, " (only in %s)", ti_replays_path(r, of));
    return text;
}

json_t *ti_replays_name_json(const struct ti_replays *r, const struct ti_replay_part *p, bool loop)
{
    json_t *out = json_object(), *names = json_array();

    for (int t = 0; t < r->n; t++) {
        const char *text =
            loop ? ti_versions_name(r->v, p->number, t) : ti_versions_text(r->v, p->number, t);
        json_t *name = !text  ? json_null()
                       : loop ? ti_json_text(text)
                              : json_pack("{s:o}", "site", ti_json_text(text));

        if (text && !loop)
            ti_site_line_json(*text ? ti_symbolizer_find(r->symbolizer, text) : NULL, name);
        json_array_append_new(names, name);
    }
    if (!loop)
        json_object_set_new(out, "operation",
                            json_string(ti_op_info(ti_versions_op(r->v, p->number))->text));
    json_object_set_new(out, loop ? "loops" : "sites", names);
    if (loop) {
        json_object_set_new(out, "number", json_integer((json_int_t)p->number));
        json_object_set_new(out, "in",
                            p->around == TI_VERSIONS_NONE ? json_null()
                                                          : json_integer((json_int_t)p->around));
    }
    return out;
}

json_t *ti_replays_numbers(const struct ti_replays *r, const double *value)
{
    json_t *list = json_array();

    for (int t = 0; t < r->n; t++)
        json_array_append_new(list, json_real(value[t]));
    return list;
}

/* ------------------------------------------------------------------- order -- */

/* A part that is sorted. */
struct sorted {
    size_t index, around;
    bool inner; /* others stand in it */
    double change;
};

static int by_change(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    return x->change > y->change   ? -1
           : x->change < y->change ? 1
           : x->index < y->index   ? -1
                                   : x->index > y->index;
}

/* Append the parts that stand in the part `around` to the order, each followed by those in it. */
static size_t put_in_order(const struct sorted *s, size_t n, size_t around, size_t *order,
                           size_t used)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].around == around) {
            order[used++] = s[i].index;
            if (s[i].inner)
                used = put_in_order(s, n, s[i].index, order, used);
        }
    return used;
}

size_t *ti_replays_order(const struct ti_replays *r, const struct ti_replay_part *part, size_t n,
                         ti_replay_change *change, double *least)
{
    size_t a = 0, b = 0;
    struct sorted *s = ti_grow(NULL, &a, n + 1, sizeof *s);
    size_t *order = ti_grow(NULL, &b, n + 1, sizeof *order);

    for (size_t i = 0; i < n; i++)
        s[i] = (struct sorted){i, part[i].around, false, fabs(change(r, &part[i]))};
    for (size_t i = 0; i < n; i++)
        if (part[i].around != TI_VERSIONS_NONE)
            s[part[i].around].inner = true;
    qsort(s, n, sizeof *s, by_change);
    *least = n > TI_REPLAYS_ROWS ? s[TI_REPLAYS_ROWS - 1].change : 0;
    *least = fmax(*least, ti_replays_rounding(r));
    put_in_order(s, n, TI_VERSIONS_NONE, order, 0);
    free(s);
    return order;
}

json_t *ti_replays_parts_json(const struct ti_replays *r, bool loop, ti_replay_change *change,
                              double least, ti_replay_tell *tell, const void *of, json_t *rests)
{
    const struct ti_replay_part *part = loop ? r->loop : r->site;
    size_t n = loop ? r->nloops : r->nsites;
    json_t *list = json_array();
    double unused;
    size_t *order = ti_replays_order(r, part, n, change, &unused);

    for (size_t i = 0; i < n; i++) {
        const struct ti_replay_part *p = &part[order[i]];
        json_t *j;

        if (p->rest ? json_object_get(rests, p->key) != NULL : fabs(change(r, p)) < least)
            continue;
        j = p->rest ? json_object() : ti_replays_name_json(r, p, loop);
        tell(of, p, j);
        if (p->rest)
            json_object_set_new(rests, p->key, j);
        else
            json_array_append_new(list, j);
    }
    free(order);
    return list;
}

double ti_replays_rounding(const struct ti_replays *r)
{
    double most = 0;

    for (int t = 0; t < r->n; t++)
        most = r->mean[t] > most ? r->mean[t] : most;
    return fmax(1e-9 * most, CLOCK);
}

struct ti_replay_unit ti_replays_unit(double s)
{
    return s >= 1      ? (struct ti_replay_unit){"s", 1}
           : s >= 1e-3 ? (struct ti_replay_unit){"ms", 1e3}
                       : (struct ti_replay_unit){"us", 1e6};
}

/* -------------------------------------------------------------- what is common -- */

static const json_t *result_of(const struct ti_replays *r, int trace)
{
    return json_object_get(r->study.point[trace * r->nruns].record, "result");
}

/* A line for each value of `key` that the traces have: those with the first one's share its line.
 */
static void print_each(const struct ti_replays *r, const char *label, const char *key)
{
    for (int t = 0; t < r->n; t++) {
        const char *text = ti_json_string(result_of(r, t), key);
        bool told = false;

        for (int i = 0; i < t; i++)
            told = told || !strcmp(text, ti_json_string(result_of(r, i), key));
        if (!told && *text)
            ti_replay_print_line(r->o, t ? "" : label, "%s", text);
    }
}

/* The joules of a trace's replays, on average; NAN: they are not known. */
static double energy_of(const struct ti_replays *r, int trace)
{
    double joules = 0;

    for (int i = 0; i < r->nruns; i++) {
        const json_t *record = r->study.point[trace * r->nruns + i].record;
        const json_t *j =
            json_object_get(json_object_get(json_object_get(record, "result"), "energy"), "joules");

        joules += json_is_number(j) ? json_number_value(j) / r->nruns : NAN;
    }
    return joules;
}

static void print_energy(const struct ti_replays *r)
{
    for (int t = 0; t < r->n; t++)
        if (!isnan(energy_of(r, t)))
            ti_replay_print_line(r->o, t ? "" : "energy:", "%.9g J, %s%s", energy_of(r, t),
                                 ti_replays_path(r, t), r->nruns > 1 ? ", mean of the runs" : "");
}

void ti_replays_print_common(const struct ti_replays *r)
{
    double wall_s = 0;

    for (int64_t i = 0; i < r->study.n; i++)
        wall_s +=
            ti_json_number(json_object_get(r->study.point[i].record, "result"), "wall_time_s");
    print_each(r, "engine:", "engine");
    print_each(r, "platform:", "platform");
    print_energy(r);
    ti_replay_print_noise(r->o);
    ti_replay_print_line(r->o, "wall time:", "%.2f s of all replays", wall_s);
}

json_t *ti_replays_json(const struct ti_replays *r)
{
    json_t *traces = json_array(), *np = json_array(), *times = json_array(), *runs = json_array();
    json_t *platforms = json_array(), *energy = json_array(), *out;

    for (int t = 0; t < r->n; t++) {
        json_array_append_new(traces, ti_json_text(ti_replays_path(r, t)));
        json_array_append_new(np, json_integer((json_int_t)ti_source_nranks(r->source[t])));
        json_array_append_new(times, json_real(r->time[t].median));
        json_array_append_new(runs, ti_interval_json(&r->time[t]));
        json_array_append_new(platforms, ti_json_text(ti_json_string(result_of(r, t), "platform")));
    }
    if (r->nruns == 1)
        json_array_clear(runs);
    out = json_pack("{s:o, s:o, s:o, s:o, s:o}", "traces", traces, "np", np, "platforms", platforms,
                    "time_s", times, "runs", runs);
    for (int t = 0; t < r->n; t++)
        json_array_append_new(energy,
                              isnan(energy_of(r, t)) ? json_null() : json_real(energy_of(r, t)));
    if (r->o->speeds.watts.given)
        json_object_set(out, "energy_J", energy);
    json_decref(energy);
    return out;
}

void ti_replays_print_json(const struct ti_replays *r, const char *key, json_t *value)
{
    static const char *const common[] = {"status", "engine", "collective_algorithms",
                                         "rates",  "noise",  "reduce_rate"};
    json_t *out = json_object();

    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        json_t *is = json_object_get(result_of(r, 0), common[i]);

        if (is)
            json_object_set(out, common[i], is);
    }
    json_object_set_new(out, key, value);
    ti_replay_print_json(out);
}
