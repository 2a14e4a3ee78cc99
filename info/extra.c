#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass.h"
#include "bundle/doubts.h"
#include "common/cli.h"
#include "common/order.h"
#include "common/sums.h"
#include "common/table.h"
#include "fold/values.h"
#include "info/info.h"

/* Rates are counted in a histogram with steps of 2^(1/STEPS), about 1 %.  Its first place is for 0.
 */
#define STEPS      64
#define LOG2_LEAST (-40)
#define LOG2_MOST  80
#define PLACES     ((LOG2_MOST - LOG2_LEAST) * STEPS + 2)

struct info_extras {
    int n;
    char *name[TI_EXTRAS_MAX], *unit[TI_EXTRAS_MAX];
    uint64_t total[TI_EXTRAS_MAX];
    int64_t ranks, without; /* ranks read; those of them without these columns */

    int burst; /* index of the column of durations; -1: none */
    char *volume_unit;
    bool slowed;                          /* measured under valgrind */
    struct ti_doubts doubts;              /* of durations and rates */
    uint64_t volume, bursts, long_bursts; /* of events with a duration; of INFO_LONG_NS or more */
    uint64_t long_ns;
    double least, most, *rank_rate; /* extreme rates of long bursts; rate of each rank */
    int64_t nrates;
    uint64_t *weight; /* [PLACES]: nanoseconds of long bursts at this rate */
    bool overflow;    /* a sum is above 2^64 - 1 */
};

static ti_status no_memory(struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot sum up the extra columns");
}

static int place_of(double rate)
{
    double log2_rate = rate > 0 ? log2(rate) : LOG2_LEAST - 1;

    if (log2_rate < LOG2_LEAST)
        return 0;
    return 1 + (int)((fmin(log2_rate, LOG2_MOST) - LOG2_LEAST) * STEPS);
}

/* The rate in the middle of a place of the histogram. */
static double rate_at(int place)
{
    return place ? exp2(LOG2_LEAST + (place - 0.5) / STEPS) : 0;
}

/* The rate that is not exceeded during `share` of the time. */
static double quantile(const struct info_extras *x, double share)
{
    uint64_t sum = 0;
    int place = 0;

    while (place < PLACES - 1 && (double)(sum += x->weight[place]) < share * (double)x->long_ns)
        place++;
    return fmin(fmax(rate_at(place), x->least), x->most);
}

/* Add a burst that occurs `times` times. */
static void add_burst(struct info_extras *x, uint64_t volume, uint64_t ns, uint64_t times)
{
    double rate;

    x->overflow |= !ti_sum_add(&x->bursts, 1, times);
    if (ns < INFO_LONG_NS)
        return;
    rate = (double)volume * 1e9 / (double)ns;
    x->least = x->long_bursts && x->least < rate ? x->least : rate;
    x->most = x->long_bursts && x->most > rate ? x->most : rate;
    x->long_bursts += times;
    x->overflow |= !ti_sum_add(&x->long_ns, ns, times);
    ti_sum_add(&x->weight[place_of(rate)], ns, times);
}

static bool same_names(const struct info_extras *x, const struct ti_reader *r)
{
    if (ti_reader_extras(r) != x->n)
        return false;
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->name[i], ti_reader_extra_name(r, i)) != 0)
            return false;
    return true;
}

static bool read_names(struct info_extras *x, const struct ti_reader *r)
{
    const char *unit = ti_reader_info(r, "unit");

    for (int i = 0; i < ti_reader_extras(r); i++) {
        x->name[i] = strdup(ti_reader_extra_name(r, i));
        x->unit[i] = strdup(ti_reader_extra_unit(r, i));
        if (!x->name[i] || !x->unit[i])
            return false;
        x->n++;
    }
    x->burst = ti_reader_extra(r, TI_EXTRA_BURST);
    x->volume_unit = strdup(unit ? unit : "");
    x->slowed = ti_doubts_slowed(ti_reader_info(r, "counter"));
    return x->volume_unit != NULL;
}

/* A rank that is being added up. */
struct adding {
    struct info_extras *x;
    uint64_t volume, ns;
};

static bool add_one(void *arg, const struct ti_values *v)
{
    struct info_extras *x = arg;

    add_burst(x, v->first[0], v->first[1 + x->burst], v->times);
    return true;
}

static bool add_values(void *arg, const struct ti_values *v)
{
    struct adding *a = arg;
    struct info_extras *x = a->x;
    uint64_t sum;

    for (int i = 0; i < x->n; i++) {
        x->overflow |=
            !ti_values_sum(v, (uint32_t)i + 1, &sum) || !ti_sum_add(&x->total[i], sum, 1);
        if (i == x->burst)
            ti_sum_add(&a->ns, sum, 1);
    }
    if (x->burst < 0)
        return true;
    x->overflow |= !ti_values_sum(v, 0, &sum) || !ti_sum_add(&a->volume, sum, 1);
    return ti_values_each(v, add_one, x);
}

/* Add the values of a folded trace, of which no event need be read. */
static void add_folded(struct adding *a, const struct ti_folded *f)
{
    bool fine = true;

    for (uint32_t i = 0; fine && i < ti_shape_nodes(f); i++)
        if (!ti_shape_node(f, i).loop)
            fine = ti_shape_values(f, i, (2u << a->x->n) - 1, add_values, a);
}

/* Add a rank; of a damaged trace, the part before the damage. */
static bool add_rank(struct info_extras *x, struct ti_reader *r)
{
    struct adding a = {.x = x};
    struct ti_event ev;
    struct ti_err ignored;

    x->ranks++;
    if (x->n == 0 && !read_names(x, r))
        return false;
    if (!x->n || !same_names(x, r)) {
        x->without++;
        return true;
    }
    if (ti_reader_folded(r))
        add_folded(&a, ti_reader_folded(r));
    else
        ti_reader_want_extras(r);
    while (!ti_reader_folded(r) && ti_reader_next(r, &ev, &ignored) > 0) {
        struct ti_values one = {.n = 1, .times = 1, .first = {ev.volume}};

        if (!ev.extra)
            continue;
        memcpy(one.first + 1, ev.extra, (size_t)x->n * sizeof *ev.extra);
        add_values(&a, &one);
    }
    x->overflow |= !ti_sum_add(&x->volume, a.volume, 1);
    if (a.ns)
        x->rank_rate[x->nrates++] = (double)a.volume * 1e9 / (double)a.ns;
    return true;
}

TI_ORDER_NUMBERS(by_rate, double)

ti_status info_extras_read(struct ti_source *s, int64_t only, struct info_extras **out,
                           struct ti_err *err)
{
    int64_t nranks = ti_source_nranks(s);
    struct info_extras *x = calloc(1, sizeof *x);
    struct ti_err why;

    if (!x || !(x->weight = calloc(PLACES, sizeof *x->weight)) ||
        !(x->rank_rate = calloc((size_t)nranks, sizeof *x->rank_rate))) {
        info_extras_free(x);
        return no_memory(err);
    }
    x->burst = -1;
    for (int64_t rank = 0; rank < nranks; rank++) {
        struct ti_reader *r;
        bool enough;

        if ((only >= 0 && rank != only) || !ti_source_has(s, rank) ||
            ti_source_reader(s, rank, &r, &why) != TI_OK)
            continue;
        enough = add_rank(x, r);
        ti_reader_close(r);
        if (!enough) {
            info_extras_free(x);
            return no_memory(err);
        }
    }
    if (x->overflow) {
        info_extras_free(x);
        return ti_pass_too_large(s, "volumes or extra columns", err);
    }
    qsort(x->rank_rate, (size_t)x->nrates, sizeof *x->rank_rate, by_rate);
    if (x->nrates) {
        ti_doubts_of_durations(ti_source_manifest(s), x->slowed, &x->doubts);
        ti_doubts_of_rates(x->rank_rate[0], x->rank_rate[x->nrates - 1], x->volume_unit,
                           &x->doubts);
    }
    *out = x;
    return TI_OK;
}

void info_extras_free(struct info_extras *x)
{
    if (!x)
        return;
    for (int i = 0; i < TI_EXTRAS_MAX; i++) {
        free(x->name[i]);
        free(x->unit[i]);
    }
    free(x->volume_unit);
    free(x->rank_rate);
    free(x->weight);
    free(x);
}

/* ------------------------------------------------------------------- text -- */

static struct ti_text_table *new_table(enum ti_cells cells)
{
    const struct ti_table_column columns[] = {{"", TI_CELLS_TEXT, 16},    {"minimum", cells, 0},
                                              {"1st quartile", cells, 0}, {"median", cells, 0},
                                              {"3rd quartile", cells, 0}, {"maximum", cells, 0}};
    struct ti_text_table *t = ti_table_new(columns, 6);

    ti_table_titles(t);
    return t;
}

/* A rate that is too large for a count has six digits. */
static void add_rates(struct ti_text_table *t, bool large, const char *what, const double rate[5])
{
    ti_table_text(t, "%s", what);
    for (int i = 0; i < 5; i++)
        if (large)
            ti_table_text(t, "%.6g", rate[i]);
        else
            ti_table_count(t, (uint64_t)(rate[i] + 0.5));
}

/* A quantile of sorted values, interpolated linearly. */
static double at_share(const double *rate, int64_t n, double share)
{
    double at = share * (double)(n - 1);
    int64_t below = (int64_t)at, above = below + (below < n - 1);

    return rate[below] + (at - (double)below) * (rate[above] - rate[below]);
}

static void rank_rates(const struct info_extras *x, double rate[5])
{
    for (int i = 0; i < 5; i++)
        rate[i] = at_share(x->rank_rate, x->nrates, 0.25 * i);
}

static void burst_rates(const struct info_extras *x, double rate[5])
{
    rate[0] = x->least;
    for (int i = 1; i < 4; i++)
        rate[i] = quantile(x, 0.25 * i);
    rate[4] = x->most;
}

/* The share of long bursts in the time of all bursts. */
static double long_share(const struct info_extras *x)
{
    return (double)x->long_ns / (double)x->total[x->burst];
}

/* The rates of ranks and of bursts, and one for all. */
static void print_rates(const struct info_extras *x, int width)
{
    double overall = (double)x->volume * 1e9 / (double)x->total[x->burst], of_ranks[5],
           of_bursts[5] = {0};
    char n[32], of[32], line[128];
    struct ti_text_table *t;
    bool large;

    rank_rates(x, of_ranks);
    if (x->long_bursts)
        burst_rates(x, of_bursts);
    large = of_ranks[4] >= 1e18 || of_bursts[4] >= 1e18;
    putchar('\n');
    info_put_clean(x->volume_unit);
    printf(" a second\n");
    snprintf(line, sizeof line, "%-16s %s", "overall",
             ti_format_count((uint64_t)overall, n, sizeof n));
    if (x->doubts.n)
        printf("%s: not the speed of a core\n", line);
    else
        printf("%s: ti-replay --speed %.4gMf\n", line, overall / 1e6);
    for (int i = 0; i < x->doubts.n; i++) {
        char doubt[sizeof x->doubts.text[i] + 32];

        snprintf(doubt, sizeof doubt, "%-16s %s", "", x->doubts.text[i]);
        ti_print_labelled(stdout, width, 17, doubt);
    }
    t = new_table(large ? TI_CELLS_WORDS : TI_CELLS_COUNTS);
    add_rates(t, large, "ranks", of_ranks);
    if (x->long_bursts) {
        add_rates(t, large, "bursts, by time", of_bursts);
        ti_table_line(t, "bursts are the %s of %s that take %d us or more, %.1f %% of the time",
                      ti_format_count(x->long_bursts, n, sizeof n),
                      ti_format_count(x->bursts, of, sizeof of), INFO_LONG_NS / 1000,
                      100 * long_share(x));
    }
    ti_table_print(t, stdout, width);
}

void info_extras_print(const struct info_extras *x, int width)
{
    char n[32];

    for (int i = 0; i < x->n; i++) {
        printf("%s%-12s ", i ? "" : "\n", i ? "" : "extra");
        info_put_clean(x->name[i]);
        printf(" %s ", ti_format_count(x->total[i], n, sizeof n));
        info_put_clean(x->unit[i]);
        putchar('\n');
    }
    if (x->without)
        printf("%-12s %" PRId64 " of %" PRId64 " ranks have no such columns\n", "", x->without,
               x->ranks);
    if (!x->nrates)
        return;
    print_rates(x, width);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *rates_json(const double rate[5])
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "minimum", rate[0], "quartile1", rate[1],
                     "median", rate[2], "quartile3", rate[3], "maximum", rate[4]);
}

void info_extras_json(const struct info_extras *x, json_t *out)
{
    json_t *columns = json_array(), *rate = json_object(), *bursts;
    double rates[5];

    for (int i = 0; i < x->n; i++)
        json_array_append_new(
            columns, json_pack("{s:o, s:o, s:o}", "name", info_json_text(x->name[i]), "unit",
                               info_json_text(x->unit[i]), "total", ti_json_u64(x->total[i])));
    json_object_set_new(out, "extra", columns);
    if (!x->nrates) {
        json_decref(rate);
        return;
    }
    json_object_set_new(rate, "volume_unit", info_json_text(x->volume_unit));
    json_object_set_new(rate, "overall",
                        json_real((double)x->volume * 1e9 / (double)x->total[x->burst]));
    json_object_set_new(rate, "slowed", json_boolean(x->slowed));
    json_object_set_new(rate, "doubts", json_array());
    for (int i = 0; i < x->doubts.n; i++)
        json_array_append_new(json_object_get(rate, "doubts"), json_string(x->doubts.text[i]));
    rank_rates(x, rates);
    json_object_set_new(rate, "per_rank", rates_json(rates));
    if (x->long_bursts) {
        burst_rates(x, rates);
        bursts = rates_json(rates);
        json_object_set_new(bursts, "at_least_ns", json_integer(INFO_LONG_NS));
        json_object_set_new(bursts, "bursts", ti_json_u64(x->long_bursts));
        json_object_set_new(bursts, "of", ti_json_u64(x->bursts));
        json_object_set_new(bursts, "share_of_time", json_real(long_share(x)));
        json_object_set_new(rate, "per_burst", bursts);
    }
    json_object_set_new(out, "rate", rate);
}
