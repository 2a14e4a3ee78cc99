/* ti-info --histogram: sizes of messages and volumes of bursts, in powers of two. */
#include <inttypes.h>
#include <string.h>

#include "analysis/histogram.h"
#include "common/cli.h"
#include "common/table.h"
#include "info/info.h"
#include "terminal/pictures.h"

#define BAR 14 /* width in characters */

static const struct {
    const char *name, *title, *sum, *unit; /* unit NULL: that of volumes */
} kinds[] = {
#define KIND(name, title, sum, unit) {#name, title, sum, unit},
    TI_HISTOGRAMS(KIND)
#undef KIND
};

/* The first class that is not empty, and the number of classes up to the last such one. */
static int span(const struct ti_class_counts *c, int *first)
{
    int last = TI_CLASSES - 1;

    for (*first = 0; *first < TI_CLASSES && !c->count[*first]; ++*first)
        ;
    while (last >= 0 && !c->count[last])
        last--;
    return last + 1;
}

/* ------------------------------------------------------------------- text -- */

static uint64_t most(const uint64_t *v)
{
    uint64_t m = 0;

    for (int i = 0; i < TI_CLASSES; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* Add a bar in proportion to the value: drawn, or of at least one character if the value is not 0.
 */
static void put_bar(struct ti_text_table *t, enum ti_ink ink, uint64_t v, uint64_t largest)
{
    char text[BAR + 1];
    int n = largest ? (int)((double)v / (double)largest * BAR + 0.5) : 0;

    if (v && !n)
        n = 1;
    memset(text, '#', (size_t)n);
    text[n] = '\0';
    if (ink == TI_INK_NONE)
        ti_table_text(t, "%s", text);
    else
        ti_table_bar(t, 1, &(double){(double)v});
}

static void print_classes(const struct ti_class_counts *c, const char *title, const char *unit,
                          int width)
{
    enum ti_ink ink = ti_ink_of(stdout);
    enum ti_cells bars = ink == TI_INK_NONE ? TI_CELLS_TEXT : TI_CELLS_BARS;
    const struct ti_table_column columns[] = {{"from", TI_CELLS_COUNTS, 0},
                                              {"number", TI_CELLS_COUNTS, 0},
                                              {"", bars, BAR},
                                              {"sum", TI_CELLS_COUNTS, 0},
                                              {"", bars, BAR}};
    uint64_t most_count = most(c->count), most_sum = most(c->sum);
    struct ti_text_table *t;
    char n[32], total[32];
    int first, end = span(c, &first);

    if (!c->n)
        return;
    t = ti_table_new(columns, 5);
    ti_table_line(t, "%s", "");
    ti_table_line(t, "%s: %s, %s %s", title, ti_format_count(c->n, n, sizeof n),
                  ti_format_count(c->total, total, sizeof total), unit);
    ti_table_titles(t);
    for (int i = first; i < end; i++) {
        ti_table_count(t, ti_class_from(i));
        ti_table_count(t, c->count[i]);
        put_bar(t, ink, c->count[i], most_count);
        ti_table_count(t, c->sum[i]);
        put_bar(t, ink, c->sum[i], most_sum);
    }
    ti_paint_table(t, stdout, width, ink);
}

static void print_text(const struct ti_source *s, const struct ti_histogram *h, int width)
{
    ti_print_wide(stdout, width, "%s: histograms of %" PRId64 " of %" PRId64 " ranks",
                  ti_source_path(s), h->pass.ranks, h->pass.np);
    for (int k = 0; k < TI_HISTOGRAM_COUNT; k++)
        print_classes(&h->of[k], kinds[k].title, kinds[k].unit ? kinds[k].unit : h->unit, width);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *classes_json(const struct ti_class_counts *c, const char *sum)
{
    json_t *out = json_object(), *list = json_array();
    int first, end = span(c, &first);

    for (int i = first; i < end; i++) {
        json_t *one = json_object();

        json_object_set_new(one, "from", ti_json_u64(ti_class_from(i)));
        json_object_set_new(one, "number", ti_json_u64(c->count[i]));
        json_object_set_new(one, sum, ti_json_u64(c->sum[i]));
        json_array_append_new(list, one);
    }
    json_object_set_new(out, "number", ti_json_u64(c->n));
    json_object_set_new(out, sum, ti_json_u64(c->total));
    json_object_set_new(out, "classes", list);
    return out;
}

static void print_json(const struct ti_source *s, const struct ti_histogram *h)
{
    json_t *out = json_object();

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    info_pass_json(&h->pass, out);
    json_object_set_new(out, "volume_unit", info_json_text(h->unit));
    for (int k = 0; k < TI_HISTOGRAM_COUNT; k++)
        json_object_set_new(out, kinds[k].name, classes_json(&h->of[k], kinds[k].sum));
    info_print_json(out);
    json_decref(out);
}

ti_status info_histogram(struct ti_source *s, int64_t rank, const struct info_style *style,
                         struct ti_err *err)
{
    struct ti_histogram h;
    ti_status st = ti_histogram_read(s, rank, &h, err);

    if (st == TI_OK) {
        info_pass_warn(&h.pass);
        info_warn_of_caveats(&h.quality);
        if (style->json)
            print_json(s, &h);
        else if (!style->quiet)
            print_text(s, &h, style->width);
        st = h.pass.st;
    }
    ti_histogram_free(&h);
    return st;
}
