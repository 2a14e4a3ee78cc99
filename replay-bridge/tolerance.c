#include "replay-bridge/tolerance.h"

#include <math.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/scratch.h"
#include "common/table.h"
#include "replay-bridge/report.h"
#include "replay-bridge/sweep/search.h"
#include "replay-bridge/sweep/study.h"

#define REPLAYS_MOST 10  /* for each share */
#define FACTOR_MOST  1e6 /* farthest from the value as it is */
#define STEP         1.1 /* of the first replay with another value */
#define VALUE_BYTES  (TI_LEVELS_MAX * 34)

/* The value of an option: one number, or one for each level of a network. */
struct quantity {
    const struct ti_opt *opt;
    enum { NUMBER, SPEED, BANDWIDTH, LATENCY } kind; /* NUMBER: a whole one */
    double value[TI_LEVELS_MAX];
    int n;
    bool falls; /* factors divide the value */
};

/* One share, and what was found. */
struct share {
    double slower;
    struct ti_search search;
    int replays;
    char why[sizeof((struct ti_err *)0)->text]; /* a replay failed; "": none did */
};

struct tolerance {
    struct quantity q;
    double base;   /* simulated seconds with the value as it is */
    double step_x; /* of the first other replay, and its time: the sensitivity */
    double step_s;
    struct share share[TI_TOLERANCE_SHARES];
    int nshares;
    int replays; /* all of them */
};

/* ---- values ---- */

static const char *const units[] = {
    [NUMBER] = "", [SPEED] = "f", [BANDWIDTH] = "Bps", [LATENCY] = "s"};

static enum ti_unit unit_of(const struct quantity *q)
{
    return q->kind == SPEED       ? TI_UNIT_SPEED
           : q->kind == BANDWIDTH ? TI_UNIT_BANDWIDTH
                                  : TI_UNIT_LATENCY;
}

static double scaled(const struct quantity *q, int i, double x)
{
    double value = q->falls ? q->value[i] / x : q->value[i] * x;

    return q->kind == NUMBER ? fmax(1, round(value)) : value;
}

/* The value as the option takes it. */
static void put_value(const struct quantity *q, double x, char out[VALUE_BYTES])
{
    size_t used = 0;

    for (int i = 0; i < q->n; i++)
        used += (size_t)snprintf(out + used, VALUE_BYTES - used, "%s%.12g%s", i ? "," : "",
                                 scaled(q, i, x), units[q->kind]);
}

/* The value for people. */
static void put_words(const struct quantity *q, double x, char out[VALUE_BYTES])
{
    char one[TI_UNIT_BYTES_MOST];
    size_t used = 0;

    if (q->kind == NUMBER) {
        put_value(q, x, out);
        return;
    }
    for (int i = 0; i < q->n; i++)
        used += (size_t)snprintf(out + used, VALUE_BYTES - used, "%s%s", i ? ", " : "",
                                 ti_unit_format(scaled(q, i, x), unit_of(q), one, sizeof one));
}

static void take_levels(struct quantity *q, const struct ti_link_values *v, int kind)
{
    q->kind = kind;
    q->n = v->n;
    for (int i = 0; i < v->n; i++)
        q->value[i] = ti_unit_value(v->text[i], unit_of(q));
}

/* The value as it is, by the command line, a calibration, or the default. */
static ti_status take_value(const struct ti_replay_options *o, const struct ti_opt *opt,
                            struct quantity *q, struct ti_err *err)
{
    const char *text =
        opt->kind == TI_KIND_QUANTITY ? *(const char *const *)((const char *)o + opt->at) : NULL;

    *q = (struct quantity){.opt = opt, .n = 1};
    if (!strcmp(opt->name, "latency")) {
        take_levels(q, &o->speeds.latency, LATENCY);
    } else if (!strcmp(opt->name, "bandwidth")) {
        take_levels(q, &o->speeds.bandwidth, BANDWIDTH);
    } else if (opt->kind == TI_KIND_INTEGER) {
        q->kind = NUMBER;
        q->value[0] = (double)*(const int64_t *)((const char *)o + opt->at);
    } else if (text) {
        q->kind = opt->unit == TI_UNIT_SPEED     ? SPEED
                  : opt->unit == TI_UNIT_LATENCY ? LATENCY
                                                 : BANDWIDTH;
        q->value[0] = ti_unit_value(text, opt->unit);
    }
    q->falls = q->kind == SPEED || q->kind == BANDWIDTH;
    for (int i = 0; i < q->n; i++)
        if (q->value[i] > 0)
            return TI_OK;
    ti_err_set(err, TI_ERR_USAGE, "--tolerance %s: there is no value of it to begin with",
               opt->name);
    ti_err_hint(err, "give one above 0: --%s %s", opt->name, opt->arg);
    return TI_ERR_USAGE;
}

/* ---- replays ---- */

/* Replays with the factors x[0] to x[n - 1], side by side. */
static ti_status measure(const struct ti_replay_options *o, struct ti_source *trace,
                         struct tolerance *t, const double *x, int n, double *seconds,
                         struct ti_err *err)
{
    struct ti_sweep_command c = {.jobs = o->sweep.jobs, .runs = o->sweep.runs};
    struct ti_study study;
    char value[VALUE_BYTES], text[TI_TOLERANCE_SHARES * VALUE_BYTES];
    size_t used = (size_t)snprintf(text, sizeof text, "%s=", t->q.opt->name);
    ti_status st;

    for (int i = 0; i < n; i++) {
        put_value(&t->q, x[i], value);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "|" : "", value);
    }
    st = ti_sweep_add(&c.sweep, text, ti_replay_cli.opts, err);
    if (!st && c.runs) {
        snprintf(text, sizeof text, "seed=0..%lld", (long long)c.runs - 1);
        st = ti_sweep_add(&c.sweep, text, ti_replay_cli.opts, err);
    }
    if (st) {
        ti_sweep_free(&c.sweep);
        return st;
    }
    st = ti_study_open(&study, &c.sweep, &o->sweep.base, trace, NULL, err);
    study.runs = c.runs;
    study.all_or_none = true;
    study.step = "searching";
    study.unit = "replays";
    study.runner = o->sweep.runner;
    if (!st)
        st = ti_study_run(&study, ti_sweep_jobs(&c, &study), o->verbose, err);
    for (int i = 0; !st && i < n; i++)
        seconds[i] = ti_study_group_times(&study, i).median;
    t->replays += n;
    ti_study_close(&study);
    ti_sweep_free(&c.sweep);
    return st;
}

/* The smallest change of a whole number, or the first step of another one, as a factor. */
static double step_of(const struct quantity *q)
{
    double value = q->value[0], step = fmax(1, round(value * (STEP - 1)));

    if (q->kind != NUMBER)
        return STEP;
    return q->falls ? value / (value - step) : (value + step) / value;
}

/* The replay with the value as it is, and the first one with another value.  A whole number may
 * have an effect in any direction, and none of the values in the other one may be possible. */
static ti_status begin(const struct ti_replay_options *o, struct ti_source *trace,
                       struct tolerance *t, struct ti_err *err)
{
    double x[2] = {1, step_of(&t->q)}, seconds[2];
    struct ti_err ignored;
    ti_status st;

    t->step_x = x[1];
    if (t->q.kind != NUMBER) {
        st = measure(o, trace, t, x, 2, seconds, err);
        t->base = seconds[0];
        t->step_s = seconds[1];
        return st;
    }
    st = measure(o, trace, t, x, 1, &t->base, err);
    if (st)
        return st;
    if (measure(o, trace, t, x + 1, 1, &t->step_s, &ignored) == TI_OK && t->step_s > t->base)
        return TI_OK;
    t->q.falls = t->q.value[0] > 1;
    t->step_x = x[1] = step_of(&t->q);
    if (t->q.falls && measure(o, trace, t, x + 1, 1, &t->step_s, &ignored) != TI_OK)
        t->step_s = t->base;
    return ti_stop_check(err);
}

/* The factor that a search asks for; 0: there is no other whole number between the ends of its
 * bracket. */
static double ask(const struct quantity *q, const struct ti_search *s)
{
    double x = ti_search_next(s), sign = q->falls ? -1 : 1, value;

    if (q->kind != NUMBER)
        return x;
    value = fmax(sign * scaled(q, 0, x), sign * scaled(q, 0, s->low) + 1);
    if (s->high > 0)
        value = fmin(value, sign * scaled(q, 0, s->high) - 1);
    if (value <= sign * scaled(q, 0, s->low) || (q->falls && value > -1))
        return 0;
    return q->falls ? q->value[0] / -value : value / q->value[0];
}

/* The largest factor: a whole number has a range. */
static double most_of(const struct quantity *q)
{
    double most = q->falls ? q->value[0] / (double)(q->opt->min > 1 ? q->opt->min : 1)
                           : (double)q->opt->max / q->value[0];

    return q->kind == NUMBER ? fmin(most, FACTOR_MOST) : FACTOR_MOST;
}

/* Collects what all searches ask for, each factor once; returns their number. */
static int ask_all(struct tolerance *t, double *x)
{
    int n = 0;

    for (int i = 0; i < t->nshares; i++) {
        struct share *s = &t->share[i];
        double want = 0;
        int k = 0;

        if (s->search.end != TI_SEARCH_GOES_ON || s->why[0] || s->replays >= REPLAYS_MOST)
            continue;
        want = ask(&t->q, &s->search);
        if (!(want > 0)) {
            ti_search_stop(&s->search);
            continue;
        }
        while (k < n && x[k] != want)
            k++;
        x[k] = want;
        n = k == n ? n + 1 : n;
        s->replays++;
    }
    return n;
}

static ti_status search(const struct ti_replay_options *o, struct ti_source *trace,
                        struct tolerance *t, struct ti_err *err)
{
    double x[TI_TOLERANCE_SHARES], seconds[TI_TOLERANCE_SHARES];
    ti_status st = begin(o, trace, t, err);
    int n;

    if (!st && !(t->base > 0))
        st = ti_err_set(err, TI_ERR_INPUT, "the replay takes no time: nothing can be slower");
    for (int i = 0; !st && i < t->nshares; i++) {
        struct share *s = &t->share[i];

        ti_search_begin(&s->search, t->base, t->base * (1 + s->slower), most_of(&t->q));
        ti_search_note(&s->search, t->step_x, t->step_s);
        s->replays = t->replays;
    }
    while (!st && (n = ask_all(t, x)) > 0) {
        struct ti_err why = {0};

        if (measure(o, trace, t, x, n, seconds, &why) != TI_OK) {
            st = ti_stop_check(err);
            for (int i = 0; i < t->nshares; i++)
                if (t->share[i].search.end == TI_SEARCH_GOES_ON)
                    snprintf(t->share[i].why, sizeof t->share[i].why, "%s", why.text);
            break;
        }
        for (int i = 0; i < t->nshares; i++)
            for (int k = 0; k < n; k++)
                ti_search_note(&t->share[i].search, x[k], seconds[k]);
    }
    return st;
}

/* ---- report ---- */

/* Percent by which the time is longer than that of the value as it is. */
static double percent(const struct tolerance *t, double seconds)
{
    return 100 * (seconds / t->base - 1);
}

static double change(const struct quantity *q, double x)
{
    return 100 * ((q->falls ? 1 / x : x) - 1);
}

/* The reason why there is no answer, in words; "" if there is one. */
static void put_reason(const struct tolerance *t, const struct share *s, char *out, size_t bytes)
{
    const struct ti_search *g = &s->search;
    char low[VALUE_BYTES], high[VALUE_BYTES];

    out[0] = '\0';
    put_words(&t->q, g->low, low);
    if (s->why[0])
        snprintf(out, bytes, "not found: beyond %s a replay fails: %s", low, s->why);
    else if (g->end == TI_SEARCH_NEVER && g->low_s <= t->base)
        snprintf(out, bytes, "never: the time does not grow %s to %s", t->q.falls ? "down" : "up",
                 low);
    else if (g->end == TI_SEARCH_NEVER)
        snprintf(out, bytes, "never: with %s, it is slower by %.3g %%", low, percent(t, g->low_s));
    if (out[0] || g->end != TI_SEARCH_GOES_ON)
        return;
    put_words(&t->q, g->high > 0 ? g->high : g->low, high);
    if (g->high > 0)
        snprintf(out, bytes, "between %s (%.3g %%) and %s (%.3g %%): no more after %d replays", low,
                 percent(t, g->low_s), high, percent(t, g->high_s), s->replays);
    else
        snprintf(out, bytes, "not found in %d replays: with %s, it is slower by %.3g %%",
                 s->replays, low, percent(t, g->low_s));
}

static void add_share(const struct tolerance *t, const struct share *s, struct ti_text_table *table)
{
    char words[VALUE_BYTES], reason[2 * VALUE_BYTES + sizeof s->why];

    put_reason(t, s, reason, sizeof reason);
    put_words(&t->q, s->search.x, words);
    if (reason[0]) {
        ti_table_line(table, "  %7.4g %%  %s", 100 * s->slower, reason);
        return;
    }
    ti_table_text(table, "%.4g %%", 100 * s->slower);
    ti_table_text(table, "%s", words);
    ti_table_text(table, "%+.3g %%", change(&t->q, s->search.x));
    ti_table_text(table, "%.4g %%", percent(t, s->search.x_s));
    ti_table_count(table, (uint64_t)s->replays);
    ti_table_text(table, "%s", s->search.end == TI_SEARCH_JUMP ? "a jump" : "");
}

static void print_text(const struct ti_replay_options *o, const struct tolerance *t)
{
    static const struct ti_table_column columns[] = {
        {"  slower by", TI_CELLS_WORDS, 0}, {"with", TI_CELLS_TEXT, 12},
        {"change", TI_CELLS_WORDS, 0},      {"found", TI_CELLS_WORDS, 0},
        {"replays", TI_CELLS_COUNTS, 0},    {"", TI_CELLS_TEXT, 6}};
    struct ti_text_table *table = ti_table_new(columns, 6);
    char words[VALUE_BYTES], median[64] = "";

    put_words(&t->q, 1, words);
    if (o->sweep.runs)
        snprintf(median, sizeof median, ", the median of %lld runs", (long long)o->sweep.runs);
    ti_table_line(table, "%s: %s, simulated time %.9g s%s", t->q.opt->name, words, t->base, median);
    put_words(&t->q, t->step_x, words);
    if (!o->quiet)
        ti_table_line(table, "  with %s (%+.3g %%), slower by %.3g %%", words,
                      change(&t->q, t->step_x), percent(t, t->step_s));
    ti_table_titles(table);
    for (int i = 0; i < t->nshares; i++)
        add_share(t, &t->share[i], table);
    ti_table_print(table, stdout, ti_width(o->width));
}

static json_t *share_json(const struct tolerance *t, const struct share *s)
{
    const struct ti_search *g = &s->search;
    bool found = g->end == TI_SEARCH_FOUND || g->end == TI_SEARCH_JUMP;
    char value[VALUE_BYTES], low[VALUE_BYTES], high[VALUE_BYTES];
    char reason[2 * VALUE_BYTES + sizeof t->share->why];
    json_t *j;

    put_reason(t, s, reason, sizeof reason);
    put_value(&t->q, g->x, value);
    put_value(&t->q, g->low, low);
    put_value(&t->q, g->high > 0 ? g->high : 1, high);
    j = json_pack("{s:f, s:o, s:o, s:o, s:b, s:s, s:f, s:o, s:o, s:i}", "slower_pct",
                  100 * s->slower, "value", found ? json_string(value) : json_null(), "change_pct",
                  found ? json_real(change(&t->q, g->x)) : json_null(), "found_pct",
                  found ? json_real(percent(t, g->x_s)) : json_null(), "jump",
                  g->end == TI_SEARCH_JUMP, "low", low, "low_pct", percent(t, g->low_s), "high",
                  g->high > 0 ? json_string(high) : json_null(), "high_pct",
                  g->high > 0 ? json_real(percent(t, g->high_s)) : json_null(), "replays",
                  s->replays);
    if (reason[0])
        json_object_set_new(j, "reason", json_string(reason));
    return j;
}

static json_t *to_json(const struct tolerance *t)
{
    char value[VALUE_BYTES], step[VALUE_BYTES];
    json_t *shares = json_array();

    put_value(&t->q, 1, value);
    put_value(&t->q, t->step_x, step);
    for (int i = 0; i < t->nshares; i++)
        json_array_append_new(shares, share_json(t, &t->share[i]));
    return json_pack("{s:s, s:s, s:f, s:{s:s, s:f, s:f}, s:i, s:o}", "option", t->q.opt->name,
                     "value", value, "time_s", t->base, "step", "value", step, "change_pct",
                     change(&t->q, t->step_x), "slower_pct", percent(t, t->step_s), "replays",
                     t->replays, "slower", shares);
}

/* ---- the command ---- */

ti_status ti_tolerance_command(const struct ti_replay_options *o,
                               const struct ti_replay_result *res, struct ti_err *err)
{
    struct ti_source *trace = res->trace->source;
    json_t *list = json_array();
    ti_status st = TI_OK;

    for (int i = 0; !st && i < o->ntolerances; i++) {
        const struct ti_tolerance *asked = &o->tolerance[i];
        struct tolerance t = {.nshares = asked->n};

        for (int k = 0; k < asked->n; k++)
            t.share[k].slower = asked->slower[k];
        st = take_value(o, asked->opt, &t.q, err);
        if (!st)
            st = search(o, trace, &t, err);
        if (!st && o->json)
            json_array_append_new(list, to_json(&t));
        else if (!st)
            print_text(o, &t);
    }
    if (!st && o->json)
        ti_replay_print_json(json_pack("{s:o, s:i, s:O}", "trace", ti_json_text(res->trace->path),
                                       "status", 0, "tolerance", list));
    json_decref(list);
    return st;
}
