/* ti-info --traffic: the traffic between ranks. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/traffic.h"
#include "common/cli.h"
#include "common/map.h"
#include "common/table.h"
#include "info/info.h"
#include "terminal/pictures.h"

#define PAIRS_SHOWN 20

static int by_bytes(const void *a, const void *b, void *arg)
{
    const struct ti_traffic *t = arg;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct ti_traffic_pair *x = &t->pair[i], *y = &t->pair[k];
    uint64_t xb = x->messages.bytes + x->one_sided.bytes,
             yb = y->messages.bytes + y->one_sided.bytes;
    uint64_t xn = x->messages.n + x->one_sided.n, yn = y->messages.n + y->one_sided.n;

    if (xb != yb)
        return xb > yb ? -1 : 1;
    if (xn != yn)
        return xn > yn ? -1 : 1;
    for (int part = 0; part < 2; part++)
        if (t->keys.key[i][part] != t->keys.key[k][part])
            return t->keys.key[i][part] < t->keys.key[k][part] ? -1 : 1;
    return 0;
}

/* The numbers of all pairs, the busiest first: free() it. */
static size_t *sort_pairs(struct ti_traffic *t)
{
    size_t none = 0, *order = ti_grow(NULL, &none, t->keys.n, sizeof *order);

    for (size_t i = 0; i < t->keys.n; i++)
        order[i] = i;
    if (t->keys.n)
        qsort_r(order, t->keys.n, sizeof *order, by_bytes, t);
    return order;
}

/* ------------------------------------------------------------------- text -- */

static void put_sizes(struct ti_text_table *t, const struct ti_size_sums *s)
{
    ti_table_count(t, s->n);
    ti_table_count(t, s->bytes);
    if (!s->n) {
        for (int i = 0; i < 4; i++)
            ti_table_skip(t);
        return;
    }
    ti_table_value(t, ti_sizes_mean(s));
    ti_table_value(t, ti_sizes_deviation(s));
    ti_table_count(t, s->least);
    ti_table_count(t, s->most);
}

/* The columns that all tables have, for a table whose first columns are others. */
#define SIZES                                                                                      \
    {"number", TI_CELLS_COUNTS, 0}, {"bytes", TI_CELLS_COUNTS, 0}, {"mean", TI_CELLS_MEANS, 0},    \
        {"deviation", TI_CELLS_MEANS, 0}, {"minimum", TI_CELLS_COUNTS, 0},                         \
    {                                                                                              \
        "maximum", TI_CELLS_COUNTS, 0                                                              \
    }

/* A table whose first column has names. */
static struct ti_text_table *begin(const char *what)
{
    const struct ti_table_column columns[] = {{what, TI_CELLS_TEXT, 0}, SIZES};
    struct ti_text_table *t = ti_table_new(columns, 7);

    ti_table_line(t, "%s", "");
    ti_table_titles(t);
    return t;
}

static void put_row(struct ti_text_table *t, const int64_t *key, const char *what,
                    const struct ti_size_sums *s)
{
    if (!s->n)
        return;
    ti_table_count(t, (uint64_t)key[0]);
    ti_table_count(t, (uint64_t)key[1]);
    ti_table_text(t, "%s", what);
    put_sizes(t, s);
}

static void print_pairs(const struct ti_traffic *t, const size_t *order,
                        const struct info_style *style)
{
    static const struct ti_table_column columns[] = {
        {"from", TI_CELLS_RANKS, 0}, {"to", TI_CELLS_RANKS, 0}, {"", TI_CELLS_TEXT, 0}, SIZES};
    size_t most = style->top ? (size_t)style->top : PAIRS_SHOWN;
    size_t n = style->all || t->keys.n <= most ? t->keys.n : most;
    uint64_t bytes = t->messages.bytes + t->one_sided.bytes, shown = 0;
    struct ti_text_table *table;
    char text[32];

    if (!n)
        return;
    table = ti_table_new(columns, 9);
    ti_table_line(table, "%s", "");
    ti_table_titles(table);
    for (size_t i = 0; i < n; i++) {
        const struct ti_traffic_pair *p = &t->pair[order[i]];

        put_row(table, t->keys.key[order[i]], "message", &p->messages);
        put_row(table, t->keys.key[order[i]], "one-sided", &p->one_sided);
        shown += p->messages.bytes + p->one_sided.bytes;
    }
    if (n < t->keys.n)
        ti_table_line(table, "... and %s further pairs with %.1f %% of the bytes; --all shows them",
                      ti_format_count(t->keys.n - n, text, sizeof text),
                      bytes ? 100 * (double)(bytes - shown) / (double)bytes : 0);
    ti_table_print(table, stdout, style->width);
}

/* Draw the bytes of all pairs. */
static void draw_pairs(const struct ti_traffic *t, int width)
{
    enum ti_ink ink = ti_ink_of(stdout);
    struct ti_matrix *m;

    if (ink == TI_INK_NONE)
        return;
    m = ti_matrix_new(t->pass.np, width, ink);
    for (size_t i = 0; i < t->keys.n; i++)
        ti_matrix_add(m, t->keys.key[i][0], t->keys.key[i][1],
                      (double)(t->pair[i].messages.bytes + t->pair[i].one_sided.bytes));
    ti_matrix_print(m, stdout, "bytes from ranks (left) to ranks (above)", TI_UNIT_SIZE);
}

static void print_collectives(const struct ti_traffic *t, int width)
{
    struct ti_text_table *table = NULL;

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (!t->collective[op].n)
            continue;
        if (!table)
            table = begin("collective, by rank");
        ti_table_text(table, "%s", ti_op_info(op)->text);
        put_sizes(table, &t->collective[op]);
    }
    if (table)
        ti_table_print(table, stdout, width);
}

static void print_text(const struct ti_source *s, const struct ti_traffic *t, const size_t *order,
                       const struct info_style *style)
{
    struct ti_text_table *table;
    char n[32];

    ti_print_wide(stdout, style->width,
                  "%s: traffic of %" PRId64 " of %" PRId64 " ranks, %s pair%s", ti_source_path(s),
                  t->pass.ranks, t->pass.np, ti_format_count(t->keys.n, n, sizeof n),
                  t->keys.n == 1 ? "" : "s");
    table = begin("all pairs");
    ti_table_text(table, "messages");
    put_sizes(table, &t->messages);
    if (t->one_sided.n) {
        ti_table_text(table, "one-sided");
        put_sizes(table, &t->one_sided);
    }
    ti_table_print(table, stdout, style->width);
    print_pairs(t, order, style);
    draw_pairs(t, style->width);
    print_collectives(t, style->width);
}

/* ------------------------------------------------------------------- JSON -- */

static json_t *sizes_json(const struct ti_size_sums *s)
{
    json_t *out = json_object();

    json_object_set_new(out, "number", ti_json_u64(s->n));
    json_object_set_new(out, "bytes", ti_json_u64(s->bytes));
    json_object_set_new(out, "mean", json_real(ti_sizes_mean(s)));
    json_object_set_new(out, "deviation", json_real(ti_sizes_deviation(s)));
    json_object_set_new(out, "minimum", ti_json_u64(s->least));
    json_object_set_new(out, "maximum", ti_json_u64(s->most));
    return out;
}

static json_t *collectives_json(const struct ti_traffic *t)
{
    json_t *out = json_object();

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (t->collective[op].n)
            json_object_set_new(out, ti_op_info(op)->text, sizes_json(&t->collective[op]));
    return out;
}

static void print_sizes_json(const struct ti_size_sums *s)
{
    printf(", %" PRIu64 ", %" PRIu64 ", %.17g, %.17g, %" PRIu64 ", %" PRIu64, s->n, s->bytes,
           ti_sizes_mean(s), ti_sizes_deviation(s), s->least, s->most);
}

/* There may be millions of pairs, so they are not kept as JSON.  Each is a row after all other
 * keys. */
static void print_pairs_json(const struct ti_traffic *t, const size_t *order)
{
    printf(",\n \"columns\": [\"from\", \"to\", \"messages\", \"bytes\", \"mean\", \"deviation\", "
           "\"minimum\", \"maximum\", \"one_sided\", \"one_sided_bytes\"],\n \"pairs\": [");
    for (size_t i = 0; i < t->keys.n; i++) {
        const struct ti_traffic_pair *p = &t->pair[order[i]];
        const int64_t *key = t->keys.key[order[i]];

        printf("%s  [%" PRId64 ", %" PRId64, i ? ",\n" : "\n", key[0], key[1]);
        print_sizes_json(&p->messages);
        printf(", %" PRIu64 ", %" PRIu64 "]", p->one_sided.n, p->one_sided.bytes);
    }
    printf("\n ]\n}\n");
}

static void print_json(const struct ti_source *s, const struct ti_traffic *t, const size_t *order)
{
    json_t *out = json_object();

    json_object_set_new(out, "path", info_json_text(ti_source_path(s)));
    info_pass_json(&t->pass, out);
    json_object_set_new(out, "pairs_with_messages", json_integer((json_int_t)t->talking));
    json_object_set_new(out, "messages", sizes_json(&t->messages));
    json_object_set_new(out, "one_sided", sizes_json(&t->one_sided));
    json_object_set_new(out, "collectives", collectives_json(t));
    info_print_json_open(out);
    print_pairs_json(t, order);
    json_decref(out);
}

ti_status info_traffic(struct ti_source *s, int64_t rank, const struct info_style *style,
                       struct ti_err *err)
{
    struct ti_traffic t;
    ti_status st = ti_traffic_read(s, rank, &t, err);

    if (st == TI_OK) {
        size_t *order = sort_pairs(&t);

        info_pass_warn(&t.pass);
        if (style->json)
            print_json(s, &t, order);
        else if (!style->quiet)
            print_text(s, &t, order, style);
        st = t.pass.st;
        free(order);
    }
    ti_traffic_free(&t);
    return st;
}
