/* ti-replay A B C --scaling: speedup and efficiency, and where time is lost. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/table.h"
#include "replay-bridge/replays.h"
#include "replay-bridge/report.h"

#define NAME_BYTES 3000
#define NAME_LEAST 24  /* of the name of a loop or call site, in characters */
#define MOST_OF    0.5 /* share of a loop's loss from which the loop in it is where time is lost */

/*
 * What scales.  The first trace has the fewest ranks, p0.  Ideally, p ranks take the time of p0
 *   strong   times p0 / p: the work of all ranks stays
 *   weak     as it is: the work of a rank stays
 * What a rank spends in a part beyond that is lost there.
 */
struct scaling {
    struct ti_replays r;
    uint64_t *volume; /* of each trace */
    bool weak;
};

static double ranks_of(const struct ti_replays *r, int trace)
{
    return (double)ti_source_nranks(r->source[trace]);
}

/* The factor of the first trace's time that is the ideal one. */
static double ideal_of(const struct scaling *s, int trace)
{
    return s->weak ? 1 : ranks_of(&s->r, 0) / ranks_of(&s->r, trace);
}

static double loss_in(const struct scaling *s, const double *seconds, int trace)
{
    return seconds[trace] - ideal_of(s, trace) * seconds[0];
}

/* For ti_replays_order(): the loss in the last trace. */
static const struct scaling *ordering;

static double last_loss(const struct ti_replays *r, const struct ti_replay_part *p)
{
    return loss_in(ordering, p->s, r->n - 1);
}

/* ----------------------------------------------------------- what scales -- */

/* The volume of all ranks. */
static ti_status read_volume(struct ti_source *s, uint64_t *volume, struct ti_err *err)
{
    struct ti_totals totals;

    for (int64_t rank = 0; rank < ti_source_nranks(s); rank++) {
        struct ti_reader *r;
        ti_status st = ti_source_reader(s, rank, &r, err);

        if (!st)
            st = ti_reader_skip(r, err);
        if (!st && ti_reader_totals(r, &totals))
            *volume += totals.volume;
        if (r)
            ti_reader_close(r);
        if (st)
            return st;
    }
    return TI_OK;
}

/* Weak if, from the fewest ranks to the most, the volume of a rank changes less than that of all.
 */
static bool looks_weak(const struct scaling *s)
{
    int last = s->r.n - 1;
    double all = fabs(log((double)s->volume[last] / (double)s->volume[0]));
    double rank = fabs(log((double)s->volume[last] / (double)s->volume[0] * ranks_of(&s->r, 0) /
                           ranks_of(&s->r, last)));

    return s->volume[0] && s->volume[last] && rank < all;
}

/* ------------------------------------------------------------------- text -- */

static double percent(double now, double before)
{
    return before > 0 ? 100 * (now / before - 1) : 0;
}

static void print_kind(const struct scaling *s)
{
    int last = s->r.n - 1;
    double before = (double)s->volume[0], now = (double)s->volume[last];

    ti_replay_print_line(s->r.o, "scaling:",
                         "%s%s; from %.0f to %.0f ranks, the volume of all ranks changes by %+.1f "
                         "%%, that of a rank "
                         "by %+.1f %%",
                         s->weak ? "weak" : "strong",
                         s->r.o->scaling == TI_SCALING_AUTO ? "" : ", as asked for",
                         ranks_of(&s->r, 0), ranks_of(&s->r, last), percent(now, before),
                         percent(now / ranks_of(&s->r, last), before / ranks_of(&s->r, 0)));
}

/* Speedup: how much more work is done in a second. */
static double speedup_of(const struct scaling *s, int trace)
{
    double now = s->r.time[trace].median, more = ranks_of(&s->r, trace) / ranks_of(&s->r, 0);

    return now > 0 ? s->r.time[0].median / now * (s->weak ? more : 1) : 0;
}

static double efficiency_of(const struct scaling *s, int trace)
{
    return speedup_of(s, trace) * ranks_of(&s->r, 0) / ranks_of(&s->r, trace);
}

static void put_size(const struct scaling *s, int i, struct ti_text_table *t)
{
    const struct ti_interval *time = &s->r.time[i];

    ti_table_count(t, (uint64_t)ranks_of(&s->r, i));
    ti_table_value(t, time->median);
    if (s->r.nruns > 1)
        ti_table_text(t, "%.6g to %.6g", time->low, time->high);
    ti_table_text(t, "%.2f", speedup_of(s, i));
    ti_table_text(t, "%.2f", ranks_of(&s->r, i) / ranks_of(&s->r, 0));
    ti_table_text(t, "%.1f %%", 100 * efficiency_of(s, i));
    ti_table_value(t, time->median - ideal_of(s, i) * s->r.time[0].median);
    ti_table_text(t, "%s", ti_replays_path(&s->r, i));
}

static void print_sizes(const struct scaling *s)
{
    struct ti_table_column columns[8] = {{"ranks", TI_CELLS_RANKS, 0}, {"", TI_CELLS_SECONDS, 0}};
    char time[16], lost[16], interval[32];
    struct ti_text_table *t;
    int n = 2;

    if (s->r.nruns > 1)
        columns[n++] = (struct ti_table_column){interval, TI_CELLS_WORDS, 0};
    columns[n++] = (struct ti_table_column){"speedup", TI_CELLS_WORDS, 0};
    columns[n++] = (struct ti_table_column){"ideal", TI_CELLS_WORDS, 0};
    columns[n++] = (struct ti_table_column){"efficiency", TI_CELLS_WORDS, 0};
    columns[n++] = (struct ti_table_column){"", TI_CELLS_SECONDS, 0};
    columns[n++] = (struct ti_table_column){"trace", TI_CELLS_TEXT, 12};
    snprintf(interval, sizeof interval, "s, in %.1f %%", 100 * s->r.time[0].confidence);
    t = ti_table_new(columns, n);
    ti_table_titles(t);
    for (int i = 0; i < s->r.n; i++)
        put_size(s, i, t);
    snprintf(time, sizeof time, "time %s", ti_table_time_unit(t));
    snprintf(lost, sizeof lost, "lost %s", ti_table_time_unit(t));
    ti_table_title(t, 1, time);
    ti_table_title(t, n - 2, lost);
    ti_table_print(t, stdout, ti_width(s->r.o->width));
}

static void put_part(const struct scaling *s, const struct ti_replay_part *p, bool loop,
                     const struct ti_replay_unit *unit, struct ti_text_table *t)
{
    int last = s->r.n - 1;
    double whole = loss_in(s, s->r.mean, last), lost = loss_in(s, p->s, last);
    char name[NAME_BYTES];

    ti_table_text(t, "%+.4f", unit->factor * lost);
    if (whole > 0 || whole < 0)
        ti_table_text(t, "%.1f %%", 100 * lost / whole);
    else
        ti_table_skip(t);
    for (int k = 0; k < TI_SPENT_ON; k++)
        ti_table_text(t, "%+.4f",
                      unit->factor *
                          (p->spent[last].on[k] - ideal_of(s, last) * p->spent[0].on[k]));
    for (int i = 1; i < s->r.n; i++) {
        double ideal = ideal_of(s, i) * p->s[0];

        if (p->s[i] > 0)
            ti_table_text(t, "%.0f %%", 100 * ideal / p->s[i]);
        else
            ti_table_skip(t);
    }
    ti_table_text(t, "%*s%s", 2 * p->depth, "", ti_replays_name(&s->r, p, loop, name, sizeof name));
}

static void print_parts(const struct scaling *s, const struct ti_replay_part *part, size_t n,
                        bool loop)
{
    struct ti_replay_unit unit = ti_replays_unit(s->r.mean[s->r.n - 1]);
    size_t cap = 0, columns = (size_t)s->r.n + 5, k = 0, left = 0;
    struct ti_table_column *column = ti_grow(NULL, &cap, columns, sizeof *column);
    char lost[16], (*title)[32] = ti_grow(NULL, &k, (size_t)s->r.n, sizeof *title);
    struct ti_text_table *t;
    double least, rounding = ti_replays_rounding(&s->r);
    size_t *order = ti_replays_order(&s->r, part, n, last_loss, &least);

    snprintf(lost, sizeof lost, "lost %s", unit.text);
    k = 0;
    column[k++] = (struct ti_table_column){lost, TI_CELLS_WORDS, 0};
    column[k++] = (struct ti_table_column){"share", TI_CELLS_WORDS, 0};
    column[k++] = (struct ti_table_column){"computing", TI_CELLS_WORDS, 0};
    column[k++] = (struct ti_table_column){"communicating", TI_CELLS_WORDS, 0};
    column[k++] = (struct ti_table_column){"waiting", TI_CELLS_WORDS, 0};
    for (int i = 1; i < s->r.n; i++) {
        snprintf(title[i], sizeof title[i], "eff. %.0f", ranks_of(&s->r, i));
        column[k++] = (struct ti_table_column){title[i], TI_CELLS_WORDS, 0};
    }
    column[k++] = (struct ti_table_column){
        loop ? "loop" : "call site, with the computing before it", TI_CELLS_TEXT, NAME_LEAST};
    t = ti_table_new(column, (int)k);
    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    for (size_t i = 0; i < n; i++) {
        double by = fabs(last_loss(&s->r, &part[order[i]]));

        if (by >= least)
            put_part(s, &part[order[i]], loop, &unit, t);
        else
            left += by >= rounding;
    }
    if (left)
        ti_table_line(t, "... and %zu more: --json has all", left);
    ti_table_print(t, stdout, ti_width(s->r.o->width));
    free(order);
    free(column);
    free(title);
}

/* The part in which most is lost: the outermost loop that loses most, and then the one in it, as
 * long as that loses most of it.  NULL: nothing is lost. */
static const struct ti_replay_part *worst(const struct scaling *s,
                                          const struct ti_replay_part *part, size_t n)
{
    const struct ti_replay_part *at = NULL;
    double loss = 0;

    for (;;) {
        const struct ti_replay_part *next = NULL;
        double most = MOST_OF * loss;

        for (size_t i = 0; i < n; i++) {
            const struct ti_replay_part *around =
                part[i].around == TI_VERSIONS_NONE ? NULL : &part[part[i].around];

            if (around == at && !(at && part[i].rest) && last_loss(&s->r, &part[i]) > most) {
                most = last_loss(&s->r, &part[i]);
                next = &part[i];
            }
        }
        if (!next)
            return at;
        at = next;
        loss = most;
    }
}

/* The sentence that says where time is lost. */
static void print_worst(const struct scaling *s)
{
    static const char *const what[] = {"computing", "communicating", "waiting"};
    int last = s->r.n - 1, k = 0;
    bool loop = !s->r.flat;
    const struct ti_replay_part *p =
        loop ? worst(s, s->r.loop, s->r.nloops) : worst(s, s->r.site, s->r.nsites);
    double whole = loss_in(s, s->r.mean, last), on[TI_SPENT_ON], lost;
    char name[NAME_BYTES];

    if (!p || whole <= 0) {
        ti_replay_print_line(s->r.o, "lost:", "nothing, with %.0f ranks", ranks_of(&s->r, last));
        return;
    }
    lost = last_loss(&s->r, p);
    for (int i = 0; i < TI_SPENT_ON; i++) {
        on[i] = p->spent[last].on[i] - ideal_of(s, last) * p->spent[0].on[i];
        k = on[i] > on[k] ? i : k;
    }
    ti_replays_name(&s->r, p, loop, name, sizeof name);
    if (p->rest && on[k] <= 0)
        ti_replay_print_line(s->r.o,
                             "lost:", "%.0f %% of the time that is lost with %.0f ranks is lost %s",
                             100 * lost / whole, ranks_of(&s->r, last), name);
    else
        ti_replay_print_line(
            s->r.o, "lost:",
            "%.0f %% of the time that is lost with %.0f ranks is lost %s%s; %.0f %% "
            "of that is %s",
            100 * lost / whole, ranks_of(&s->r, last), p->rest ? "" : "in ", name,
            100 * on[k] / lost, what[k]);
}

static void print_text(const struct scaling *s)
{
    int last = s->r.n - 1;
    char factor[64] = "";

    print_sizes(s);
    if (s->r.o->quiet)
        return;
    putchar('\n');
    print_kind(s);
    print_worst(s);
    ti_replays_print_common(&s->r);
    putchar('\n');
    if (!s->weak)
        snprintf(factor, sizeof factor, " times %.0f/%.0f", ranks_of(&s->r, 0),
                 ranks_of(&s->r, last));
    ti_print_wide(
        stdout, ti_width(s->r.o->width),
        "lost is the mean time of the %.0f ranks less the ideal time, which is that of %.0f "
        "ranks%s; lines that are not indented add up to all that is lost; eff., the "
        "efficiency, is the ideal time by the real one%s",
        ranks_of(&s->r, last), ranks_of(&s->r, 0), factor,
        s->r.nruns > 1 ? "; all are means of the runs" : "");
    if (s->r.flat)
        ti_print_wide(stdout, ti_width(s->r.o->width),
                      "'%s' has rank files, so loops are not known; ti-info --merge makes a trace "
                      "that has them",
                      s->r.flat);
    else
        print_parts(s, s->r.loop, s->r.nloops, true);
    print_parts(s, s->r.site, s->r.nsites, false);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *list_of(const struct scaling *s, double (*value)(const struct scaling *, int))
{
    json_t *list = json_array();

    for (int i = 0; i < s->r.n; i++)
        json_array_append_new(list, json_real(value(s, i)));
    return list;
}

static void add_losses(const struct scaling *s, const double *seconds, json_t *j)
{
    json_t *lost = json_array(), *share = json_array(), *efficiency = json_array();

    for (int i = 0; i < s->r.n; i++) {
        double whole = loss_in(s, s->r.mean, i), ideal = ideal_of(s, i) * seconds[0];

        json_array_append_new(lost, json_real(loss_in(s, seconds, i)));
        json_array_append_new(share, whole > 0 || whole < 0
                                         ? json_real(loss_in(s, seconds, i) / whole)
                                         : json_null());
        json_array_append_new(efficiency,
                              seconds[i] > 0 ? json_real(ideal / seconds[i]) : json_null());
    }
    json_object_set_new(j, "lost_s", lost);
    json_object_set_new(j, "share", share);
    json_object_set_new(j, "efficiency", efficiency);
}

static void add_part(const void *of, const struct ti_replay_part *p, json_t *j)
{
    const struct scaling *s = of;

    json_object_set_new(j, "time_s", ti_replays_numbers(&s->r, p->s));
    add_losses(s, p->s, j);
    for (int k = 0; k < TI_SPENT_ON; k++) {
        json_t *list = json_array();

        for (int i = 0; i < s->r.n; i++)
            json_array_append_new(list, json_real(p->spent[i].on[k]));
        json_object_set_new(j, ti_spent_keys[k], list);
    }
}

static void print_json(const struct scaling *s)
{
    json_t *out = ti_replays_json(&s->r), *volumes = json_array();

    for (int i = 0; i < s->r.n; i++)
        json_array_append_new(volumes, ti_json_u64(s->volume[i]));
    json_object_set_new(out, "kind", json_string(s->weak ? "weak" : "strong"));
    json_object_set_new(out, "volume", volumes);
    json_object_set_new(out, "speedup", list_of(s, speedup_of));
    json_object_set_new(out, "mean_time_s", ti_replays_numbers(&s->r, s->r.mean));
    add_losses(s, s->r.mean, out);
    json_object_set_new(out, "efficiency", list_of(s, efficiency_of));
    json_object_set_new(out, "loops",
                        ti_replays_parts_json(&s->r, true, last_loss, 0, add_part, s, out));
    json_object_set_new(out, "sites",
                        ti_replays_parts_json(&s->r, false, last_loss, 0, add_part, s, out));
    ti_replays_print_json(&s->r, "scaling", out);
}

/* ----------------------------------------------------------------- command -- */

static int by_ranks(const void *a, const void *b)
{
    int64_t x = ti_source_nranks(((const struct ti_replay_trace *)a)->source);
    int64_t y = ti_source_nranks(((const struct ti_replay_trace *)b)->source);

    return x < y ? -1 : x > y;
}

/* Sort the traces by their ranks, which must differ. */
static ti_status sort_traces(const struct ti_replay_result *res, struct ti_err *err)
{
    qsort(res->trace, (size_t)res->ntraces, sizeof *res->trace, by_ranks);
    for (int i = 1; i < res->ntraces; i++)
        if (!by_ranks(&res->trace[i - 1], &res->trace[i])) {
            ti_err_set(err, TI_ERR_USAGE, "--scaling: '%s' and '%s' both have %" PRId64 " ranks",
                       res->trace[i - 1].path, res->trace[i].path,
                       ti_source_nranks(res->trace[i].source));
            ti_err_hint(err, "ti-replay '%s' --versus '%s' compares them", res->trace[i - 1].path,
                        res->trace[i].path);
            return TI_ERR_USAGE;
        }
    return TI_OK;
}

ti_status ti_scaling_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                             struct ti_err *err)
{
    struct scaling s = {.volume = NULL};
    size_t cap = 0;
    ti_status st = sort_traces(res, err);

    if (st)
        return st;
    s.volume = ti_grow(NULL, &cap, (size_t)res->ntraces, sizeof *s.volume);
    for (int i = 0; i < res->ntraces && !st; i++)
        st = read_volume(res->trace[i].source, &s.volume[i], err);
    if (!st)
        st = ti_replays_run(o, res, &s.r, err);
    ordering = &s;
    s.weak =
        !st && (o->scaling == TI_SCALING_WEAK || (o->scaling == TI_SCALING_AUTO && looks_weak(&s)));
    if (!st && o->json)
        print_json(&s);
    else if (!st)
        print_text(&s);
    ti_replays_free(&s.r);
    free(s.volume);
    return st;
}
