/* ti-info --histogram: sizes of messages and volumes of bursts, in powers of two. */
#include <inttypes.h>
#include <string.h>

#include "common/cli.h"
#include "common/sums.h"
#include "common/table.h"
#include "info/info.h"
#include "info/pass.h"

#define BAR 14 /* width in characters */

/* Histograms: X(name in JSON, title, name of the sum in JSON, title of the sum) */
#define KINDS(X)                                                                                   \
    X(messages, "messages", "bytes", "bytes")                                                      \
    X(one_sided, "one-sided operations", "bytes", "bytes")                                         \
    X(collectives, "collectives, a rank's share in a call", "bytes", "bytes")                      \
    X(bursts, "bursts", "volume", NULL)
#define KIND(name, title, sum, unit) K_##name,
enum kind { KINDS(KIND) K_COUNT };
#undef KIND

static const struct {
    const char *name, *title, *sum, *unit; /* unit NULL: that of volumes */
} kinds[] = {
#define KIND(name, title, sum, unit) {#name, title, sum, unit},
    KINDS(KIND)
#undef KIND
};

struct classes {
    uint64_t n, total; /* of all */
    uint64_t count[INFO_CLASSES], sum[INFO_CLASSES];
};

struct histogram {
    struct classes of[K_COUNT];
    char unit[64];             /* of volumes */
    struct ti_caveats quality; /* of volumes */
    bool overflow;             /* a sum is above 2^64 - 1 */
};

/* Add values of a class: how many, and their sum. */
static void add(struct histogram *h, enum kind kind, int class, uint64_t n, uint64_t sum)
{
    struct classes *c = &h->of[kind];

    h->overflow |= !ti_sum_add(&c->n, n, 1) || !ti_sum_add(&c->total, sum, 1);
    c->count[class] += n;
    c->sum[class] += sum;
}

/* Add a value that occurs `times` times. */
static void add_value(struct histogram *h, enum kind kind, uint64_t value, uint64_t times)
{
    uint64_t sum = 0;

    h->overflow |= !ti_sum_add(&sum, value, times);
    add(h, kind, info_class(value), times, sum);
}

/* Add volumes that grow by a stride, class by class. */
static void add_growing(struct histogram *h, const struct ti_values *v)
{
    int64_t stride = (int64_t)v->stride[0];
    struct ti_values rest = {.n = v->n, .times = v->times, .first = {v->first[0]}};
    uint64_t step = stride < 0 ? -(uint64_t)stride : (uint64_t)stride, sum;

    if (!ti_values_sum(v, 0, &sum)) {
        h->overflow = true;
        return;
    }
    if (stride < 0)
        rest.first[0] -= (v->n - 1) * step;
    rest.stride[0] = step;
    while (rest.n) {
        struct ti_values some = rest;
        int class = info_class(rest.first[0]);
        uint64_t last = class == INFO_CLASSES - 1 ? UINT64_MAX : info_class_from(class + 1) - 1;

        some.n = (last - rest.first[0]) / step + 1;
        some.n = some.n < rest.n ? some.n : rest.n;
        ti_values_sum(&some, 0, &sum);
        add(h, K_bursts, class, some.n * some.times, sum);
        rest.n -= some.n;
        rest.first[0] += some.n * step;
    }
}

static ti_status add_rank(void *arg, const struct ti_reader *r, struct ti_err *err)
{
    struct histogram *h = arg;
    const char *unit = ti_reader_info(r, "unit");

    (void)err;
    if (!h->unit[0] && unit)
        snprintf(h->unit, sizeof h->unit, "%s", unit);
    ti_caveats_add_quality(&h->quality, r, false);
    return TI_OK;
}

static void add_bursts(void *arg, const struct ti_reader *r, uint32_t site,
                       const struct ti_values *v, bool has_extras)
{
    (void)r;
    (void)site;
    (void)has_extras;
    if (v->n == 1 || v->stride[0] == 0)
        add_value(arg, K_bursts, v->first[0], v->n * v->times);
    else
        add_growing(arg, v);
}

static void add_message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)from;
    (void)to;
    add_value(arg, K_messages, bytes, times);
}

static void add_one_sided(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)from;
    (void)to;
    add_value(arg, K_one_sided, bytes, times);
}

static void add_collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    (void)op;
    add_value(arg, K_collectives, bytes, times);
}

/* The first class that is not empty, and the number of classes up to the last such one. */
static int span(const struct classes *c, int *first)
{
    int last = INFO_CLASSES - 1;

    for (*first = 0; *first < INFO_CLASSES && !c->count[*first]; ++*first)
        ;
    while (last >= 0 && !c->count[last])
        last--;
    return last + 1;
}

/* ------------------------------------------------------------------- text -- */

static uint64_t most(const uint64_t *v)
{
    uint64_t m = 0;

    for (int i = 0; i < INFO_CLASSES; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* A bar in proportion to the value; at least one character if the value is not 0. */
static const char *bar(uint64_t v, uint64_t largest, char text[BAR + 1])
{
    int n = largest ? (int)((double)v / (double)largest * BAR + 0.5) : 0;

    if (v && !n)
        n = 1;
    memset(text, '#', (size_t)n);
    text[n] = '\0';
    return text;
}

static void print_classes(const struct classes *c, const char *title, const char *unit, int width)
{
    static const struct ti_table_column columns[] = {{"from", TI_CELLS_COUNTS, 0},
                                                     {"number", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_TEXT, BAR},
                                                     {"sum", TI_CELLS_COUNTS, 0},
                                                     {"", TI_CELLS_TEXT, BAR}};
    uint64_t most_count = most(c->count), most_sum = most(c->sum);
    struct ti_text_table *t;
    char n[32], total[32], text[BAR + 1];
    int first, end = span(c, &first);

    if (!c->n)
        return;
    t = ti_table_new(columns, 5);
    ti_table_line(t, "%s", "");
    ti_table_line(t, "%s: %s, %s %s", title, ti_format_count(c->n, n, sizeof n),
                  ti_format_count(c->total, total, sizeof total), unit);
    ti_table_titles(t);
    for (int i = first; i < end; i++) {
        ti_table_count(t, info_class_from(i));
        ti_table_count(t, c->count[i]);
        ti_table_text(t, "%s", bar(c->count[i], most_count, text));
        ti_table_count(t, c->sum[i]);
        ti_table_text(t, "%s", bar(c->sum[i], most_sum, text));
    }
    ti_table_print(t, stdout, width);
}

static void print_text(const struct ti_source *s, const struct info_pass *p,
                       const struct histogram *h, int width)
{
    ti_print_wide(stdout, width, "%s: histograms of %" PRId64 " of %" PRId64 " ranks",
                  ti_source_path(s), p->ranks, p->np);
    for (int k = 0; k < K_COUNT; k++)
        print_classes(&h->of[k], kinds[k].title, kinds[k].unit ? kinds[k].unit : h->unit, width);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *classes_json(const struct classes *c, const char *sum)
{
    json_t *out = json_object(), *list = json_array();
    int first, end = span(c, &first);

    for (int i = first; i < end; i++) {
        json_t *one = json_object();

        json_object_set_new(one, "from", ti_json_u64(info_class_from(i)));
        json_object_set_new(one, "number", ti_json_u64(c->count[i]));
        json_object_set_new(one, sum, ti_json_u64(c->sum[i]));
        json_array_append_new(list, one);
    }
    json_object_set_new(out, "number", ti_json_u64(c->n));
    json_object_set_new(out, sum, ti_json_u64(c->total));
    json_object_set_new(out, "classes", list);
    return out;
}

static void print_json(const struct ti_source *s, const struct info_pass *p,
                       const struct histogram *h)
{
    json_t *out = json_object();

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    info_pass_json(p, out);
    json_object_set_new(out, "volume_unit", info_json_text(h->unit));
    for (int k = 0; k < K_COUNT; k++)
        json_object_set_new(out, kinds[k].name, classes_json(&h->of[k], kinds[k].sum));
    info_print_json(out);
    json_decref(out);
}

ti_status info_histogram(struct ti_source *s, int64_t rank, const struct info_style *style,
                         struct ti_err *err)
{
    struct histogram h = {0};
    const struct info_visitor visitor = {.arg = &h,
                                         .rank = add_rank,
                                         .bursts = add_bursts,
                                         .message = add_message,
                                         .one_sided = add_one_sided,
                                         .collective = add_collective};
    struct info_pass pass;
    ti_status st = info_pass(s, rank, &visitor, &pass, err);

    if (st == TI_OK && h.overflow)
        st = info_too_large(s, "bytes or volumes", err);
    if (st == TI_OK) {
        info_pass_warn(&pass);
        info_warn_of_caveats(&h.quality);
        if (style->json)
            print_json(s, &pass, &h);
        else if (!style->quiet)
            print_text(s, &pass, &h, style->width);
        st = pass.st;
    }
    info_pass_free(&pass);
    return st;
}
