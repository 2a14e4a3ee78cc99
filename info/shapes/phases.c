/* ti-info --phases: the loops of ranks as pseudo-code. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/line.h"
#include "analysis/shapes.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/table.h"
#include "info/info.h"
#include "terminal/pictures.h"

#define NODES_SHOWN 40 /* of a body, unless all are wanted */
#define RANKS_BYTES 256
#define SITE_BYTES  600
#define CODE_LEAST  48 /* characters of a line of code, while figures can be rounded */

struct printing {
    const struct ti_shapes *all;
    const struct ti_shape_of_ranks *shape;
    int64_t ranks; /* of the shape */
    uint64_t volume;
    bool everything;   /* no limit */
    const bool *among; /* by node: it is among those of --top; NULL: all are */
    struct ti_line line;
    struct ti_text_table *table;
};

/* Sums over the nodes from `i` to `end`, which are side by side; or one of them. */
struct figures {
    uint64_t volume, events, bytes, nodes;
};

static struct figures figures_of(const struct ti_ranks_node *node)
{
    return (struct figures){node->volume.sum, node->events, node->bytes, 1};
}

static struct figures sum_up(const struct ti_shape_of_ranks *shape, uint32_t i, uint32_t end)
{
    struct figures sum = {0};

    for (; i < end; i = shape->node[i].end) {
        sum.volume += shape->node[i].volume.sum;
        sum.events += shape->node[i].events;
        sum.bytes += shape->node[i].bytes;
        sum.nodes++;
    }
    return sum;
}

static void put_count(struct ti_line *line, uint64_t n)
{
    char text[32];

    ti_line_put(line, ti_format_count(n, text, sizeof text));
}

/* Append "5", or "3 to 7". */
static void put_range(struct ti_line *line, uint64_t least, uint64_t most)
{
    put_count(line, least);
    if (least == most)
        return;
    ti_line_put(line, " to ");
    put_count(line, most);
}

/* Begin a row by its figures: share, volume, events, bytes.  NULL: it has none. */
static void put_figures(struct printing *p, const struct figures *sum)
{
    p->line.bytes = 0;
    for (int i = 0; !sum && i < 5; i++)
        ti_table_skip(p->table);
    if (!sum)
        return;
    ti_table_text(p->table, "%.1f %%",
                  p->volume ? 100.0 * (double)sum->volume / (double)p->volume : 0.0);
    ti_table_bar(p->table, 1, &(double){(double)sum->volume});
    ti_table_count(p->table, sum->volume);
    ti_table_count(p->table, sum->events);
    ti_table_count(p->table, sum->bytes);
}

/* End a row by its line of code. */
static void put_line(struct printing *p)
{
    ti_table_text(p->table, "%s", p->line.text);
}

/* Append the volumes of single bursts, and of ranks. */
static void put_volumes(struct printing *p, const struct ti_ranks_node *node)
{
    const struct ti_column_stats *v = &node->values;
    const struct ti_rank_sums *s = &node->volume;

    if (v->n > 1) {
        put_count(&p->line, v->sum / v->n);
        if (v->min != v->max) {
            ti_line_put(&p->line, " (");
            put_range(&p->line, (uint64_t)v->min, (uint64_t)v->max);
            ti_line_put(&p->line, ")");
        }
    }
    if (p->ranks > 1 && (uint64_t)p->ranks != v->n && s->least != s->most) {
        ti_line_put(&p->line, ", a rank ");
        put_range(&p->line, s->least, s->most);
    }
}

/* Append a field: its value, or the range of its values. */
static void put_field(struct printing *p, const struct ti_ranks_node *node, unsigned field,
                      const struct ti_field_range *v)
{
    static const unsigned peers[] = {TI_F_PEER, TI_F_PEER2, TI_F_FROM};

    ti_line_printf(&p->line, " %s=", ti_field_text(field));
    ti_line_value(&p->line, NULL, field, v->low);
    if (v->low != v->high) {
        ti_line_put(&p->line, "..");
        ti_line_value(&p->line, NULL, field, v->high);
    }
    for (int k = 0; p->ranks == 1 && v->low == v->high && k < 3; k++)
        if (peers[k] == field && node->world[k] >= 0)
            ti_line_printf(&p->line, "(%" PRId64 ")", node->world[k]);
}

static void put_text(struct printing *p, const struct ti_ranks_node *node, int which)
{
    const char *text = node->text[which];

    if (!node->differs[which])
        ti_line_put(&p->line, text);
    else
        ti_line_printf(&p->line, "%.*s...%s", (int)strcspn(text, "[\"") + 1, text,
                       which == TI_TEXT_NAME ? "\"" : "]");
}

static void put_call(struct printing *p, const struct ti_ranks_node *node)
{
    const struct ti_field_range *v = node->field;
    char site[SITE_BYTES];
    size_t bytes;

    ti_line_put(&p->line, ti_op_info(node->op)->text);
    for (uint32_t rest = node->mask; rest; rest &= rest - 1, v++) {
        unsigned field = (unsigned)__builtin_ctz(rest);

        if (field == TI_F_CALL || field == TI_F_NAME)
            put_text(p, node, TI_TEXT_NAME);
        else
            put_field(p, node, field, v);
    }
    for (int t = TI_TEXT_VECTOR; t < TI_TEXTS; t++)
        put_text(p, node, t);
    ti_line_put(&p->line, "  # ");
    bytes = p->line.bytes;
    put_volumes(p, node);
    ti_site_text(p->all->symbolizer, p->all->sites.text[node->site], site, sizeof site);
    if (*site)
        ti_line_printf(&p->line, "%s%s", p->line.bytes > bytes ? "; " : "", site);
    else if (p->line.bytes == bytes) /* there is nothing to say */
        p->line.text[p->line.bytes -= 4] = '\0';
}

static void put_loop(struct printing *p, const struct ti_ranks_node *node)
{
    const struct ti_column_stats *trips = &node->values;

    ti_line_put(&p->line, "loop ");
    put_range(&p->line, (uint64_t)trips->min, (uint64_t)trips->max);
    ti_line_put(&p->line, trips->max == 1 ? " time" : " times");
    if (trips->min != trips->max) {
        ti_line_put(&p->line, ", ");
        put_count(&p->line, trips->sum);
        ti_line_put(&p->line, " in all");
    }
    ti_line_printf(&p->line, " {  # %s", node->name);
}

static void indent(struct printing *p, int depth)
{
    ti_line_printf(&p->line, "%*s", 4 * depth, "");
}

/* The first node of a body, from `i` on, that is not shown. */
static uint32_t last_shown(const struct printing *p, uint32_t i, uint32_t end)
{
    uint32_t n = 0, at = i;

    for (; at < end && n < NODES_SHOWN; n++)
        at = p->shape->node[at].end;
    /* what is left out must be more than the line that says so */
    return p->everything || at == end || p->shape->node[at].end == end ? end : at;
}

/* Print that the nodes from `i` to `end` are left out. */
static void print_rest(struct printing *p, uint32_t i, uint32_t end, int depth)
{
    struct figures sum = sum_up(p->shape, i, end);

    put_figures(p, &sum);
    indent(p, depth);
    ti_line_put(&p->line, p->among ? "... " : "... and ");
    put_count(&p->line, sum.nodes);
    ti_line_put(&p->line, p->among ? " more" : " further calls and loops; --all shows them");
    put_line(p);
}

/* Print the nodes from `i` to `end`. */
static void print_nodes(struct printing *p, uint32_t i, uint32_t end, int depth)
{
    uint32_t limit = p->among ? end : last_shown(p, i, end);

    for (; i < limit; i = p->shape->node[i].end) {
        const struct ti_ranks_node *node = &p->shape->node[i];
        struct figures sum = figures_of(node);
        uint32_t rest = i;

        while (p->among && rest < limit && !p->among[rest])
            rest = p->shape->node[rest].end;
        if (rest > i) {
            print_rest(p, i, rest, depth);
            if (rest == limit)
                return;
            i = rest;
            node = &p->shape->node[i];
            sum = figures_of(node);
        }
        put_figures(p, &sum);
        indent(p, depth);
        if (!node->loop) {
            put_call(p, node);
            put_line(p);
            continue;
        }
        put_loop(p, node);
        put_line(p);
        print_nodes(p, i + 1, node->end, depth + 1);
        put_figures(p, NULL);
        indent(p, depth);
        ti_line_put(&p->line, "}");
        put_line(p);
    }
    if (i < end)
        print_rest(p, i, end, depth);
}

static void print_shape(const struct ti_shapes *all, const struct ti_shape_of_ranks *shape,
                        const bool *among, const struct info_style *style)
{
    static const struct ti_table_column columns[] = {
        {"share", TI_CELLS_WORDS, 0},   {"", TI_CELLS_BARS, 6},
        {"volume", TI_CELLS_COUNTS, 0}, {"events", TI_CELLS_COUNTS, 0},
        {"bytes", TI_CELLS_COUNTS, 0},  {"", TI_CELLS_TEXT, CODE_LEAST}};
    struct printing p = {.all = all,
                         .shape = shape,
                         .ranks = ti_ranges_count(&shape->ranks),
                         .everything = style->all,
                         .among = among,
                         .table = ti_table_new(columns, 6)};
    struct figures sum = sum_up(shape, 0, shape->nnodes);
    char ranks[RANKS_BYTES], text[3][32];

    p.volume = sum.volume;
    ti_table_line(p.table, "%s", "");
    ti_table_line(p.table, "rank%s %s: volume %s, %s events, %s bytes in messages",
                  p.ranks == 1 ? "" : "s", ti_ranges_text(&shape->ranks, ranks, sizeof ranks),
                  ti_format_count(p.volume, text[0], sizeof text[0]),
                  ti_format_count(sum.events, text[1], sizeof text[1]),
                  ti_format_count(sum.bytes, text[2], sizeof text[2]));
    ti_table_titles(p.table);
    print_nodes(&p, 0, shape->nnodes, 0);
    ti_paint_table(p.table, stdout, style->width, ti_ink_of(stdout));
    ti_line_free(&p.line);
}

/* --------------------------------------------------------------------- JSON -- */

/* The value of a field: a number, or the text of --dump for a value that is none. */
static json_t *value_json(unsigned field, int64_t v)
{
    struct ti_line line = {0};
    char *end;
    json_t *out;

    ti_line_value(&line, NULL, field, v);
    strtoll(line.text, &end, 10);
    out = *end ? info_json_text(line.text) : json_integer(v);
    ti_line_free(&line);
    return out;
}

/* The value in " NAME=VALUE", a text of a call, without quotes.  JSON null if the value differs
 * from call to call. */
static json_t *text_json(const struct ti_ranks_node *node, int which)
{
    const char *text = strchr(node->text[which], '=') + 1;
    bool quoted = *text == '"';
    size_t n = strlen(text) - 2 * quoted;
    char *copy;
    json_t *out;

    if (node->differs[which])
        return json_null();
    copy = strndup(text + quoted, n);
    out = info_json_text(copy);
    free(copy);
    return out;
}

/* A range.  Takes over both references. */
static json_t *range_json(json_t *least, json_t *most)
{
    json_t *out = json_object();

    json_object_set_new(out, "minimum", least);
    json_object_set_new(out, "maximum", most);
    return out;
}

static json_t *fields_json(const struct ti_ranks_node *node)
{
    const struct ti_field_range *v = node->field;
    json_t *out = json_object();

    for (uint32_t rest = node->mask; rest; rest &= rest - 1, v++) {
        unsigned field = (unsigned)__builtin_ctz(rest);
        bool name = field == TI_F_CALL || field == TI_F_NAME;

        json_object_set_new(
            out, ti_field_text(field),
            name ? text_json(node, TI_TEXT_NAME)
                 : range_json(value_json(field, v->low), value_json(field, v->high)));
    }
    for (int k = 0; k < TI_VECS; k++)
        if (*node->text[TI_TEXT_VECTOR + k])
            json_object_set_new(out, ti_op_info(node->op)->vec[k],
                                text_json(node, TI_TEXT_VECTOR + k));
    return out;
}

/* Add the keys that phases, loops and calls have. */
static void add_figures(json_t *out, struct figures sum)
{
    json_object_set_new(out, "volume", ti_json_u64(sum.volume));
    json_object_set_new(out, "events", ti_json_u64(sum.events));
    json_object_set_new(out, "message_bytes", ti_json_u64(sum.bytes));
}

static json_t *call_json(const struct ti_shapes *all, const struct ti_ranks_node *node)
{
    json_t *out = json_object();
    const char *site = all->sites.text[node->site];

    json_object_set_new(out, "call", json_string(ti_op_info(node->op)->text));
    add_figures(out, figures_of(node));
    json_object_set_new(out, "burst",
                        range_json(json_integer(node->values.min), json_integer(node->values.max)));
    json_object_set_new(
        out, "rank_volume",
        range_json(ti_json_u64(node->volume.least), ti_json_u64(node->volume.most)));
    json_object_set_new(out, "fields", fields_json(node));
    json_object_set_new(out, "site", ti_json_text(*site ? site : NULL));
    ti_site_line_json(ti_symbolizer_find(all->symbolizer, site), out);
    return out;
}

/* The nodes from `i` to `end`. */
static json_t *nodes_json(const struct ti_shapes *all, const struct ti_shape_of_ranks *shape,
                          uint32_t i, uint32_t end)
{
    json_t *list = json_array();

    for (; i < end; i = shape->node[i].end) {
        const struct ti_ranks_node *node = &shape->node[i];
        json_t *out;

        if (!node->loop) {
            json_array_append_new(list, call_json(all, node));
            continue;
        }
        out = json_object();
        json_object_set_new(out, "loop", info_json_text(node->name));
        json_object_set_new(out, "passes", ti_json_u64(node->values.n));
        json_object_set_new(
            out, "trips",
            range_json(json_integer(node->values.min), json_integer(node->values.max)));
        json_object_set_new(out, "all_trips", ti_json_u64(node->values.sum));
        add_figures(out, figures_of(node));
        json_object_set_new(out, "body", nodes_json(all, shape, i + 1, node->end));
        json_array_append_new(list, out);
    }
    return list;
}

static void print_json(const struct ti_source *s, const struct ti_shapes *all)
{
    json_t *out = json_object(), *list = json_array();

    info_folded_json(s, &all->ranks, out);
    json_object_set_new(out, "volume_unit", info_json_text(all->unit));
    json_object_set_new(out, "estimate", json_boolean(all->estimate));
    for (size_t i = 0; i < all->n; i++) {
        const struct ti_shape_of_ranks *shape = &all->shape[i];
        json_t *item = json_object();

        json_object_set_new(item, "ranks", ti_ranges_json(&shape->ranks));
        add_figures(item, sum_up(shape, 0, shape->nnodes));
        json_object_set_new(item, "body", nodes_json(all, shape, 0, shape->nnodes));
        json_array_append_new(list, item);
    }
    json_object_set_new(out, "shapes", list);
    info_print_json(out);
    json_decref(out);
}

/* ---------------------------------------------------------------------- all -- */

/* A call, by its place in `ti_shapes`. */
struct call {
    uint64_t volume;
    size_t shape;
    uint32_t node;
};

/* The costliest call first; among equals, in the order of the trace. */
static int by_volume(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->volume != y->volume)
        return x->volume > y->volume ? -1 : 1;
    if (x->shape != y->shape)
        return x->shape < y->shape ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Find the `top` costliest calls of all ranks.  Returns a list for each shape: whether a node is
 * one of them, or a loop around one; NULL if the shape has none.  free() it and its lists. */
static bool **find_top(const struct ti_shapes *all, uint64_t top)
{
    struct call *call = NULL;
    size_t n = 0, cap = 0, none = 0;
    bool **among = ti_grow(NULL, &none, all->n, sizeof *among);

    for (size_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; k < all->shape[i].nnodes; k++) {
            const struct ti_ranks_node *node = &all->shape[i].node[k];

            if (node->loop)
                continue;
            call = ti_grow(call, &cap, n + 1, sizeof *call);
            call[n++] = (struct call){node->volume.sum, i, k};
        }
    if (n)
        qsort(call, n, sizeof *call, by_volume);
    for (size_t i = 0; i < n && i < top; i++) {
        const struct ti_shape_of_ranks *shape = &all->shape[call[i].shape];
        bool **list = &among[call[i].shape];

        none = 0;
        if (!*list)
            *list = ti_grow(NULL, &none, shape->nnodes, sizeof **list);
        for (uint32_t k = 0; k <= call[i].node; k++)
            (*list)[k] |= k == call[i].node || shape->node[k].end > call[i].node;
    }
    free(call);
    return among;
}

static void print_text(const struct ti_shapes *shapes, const struct info_style *style)
{
    bool **among = style->top ? find_top(shapes, (uint64_t)style->top) : NULL;
    size_t left_out = 0;

    ti_print_wide(stdout, style->width,
                  "phases of %" PRId64 " of %" PRId64 " ranks, %zu shape%s; volumes are %s%s",
                  shapes->ranks.taken, shapes->ranks.np, shapes->n, shapes->n == 1 ? "" : "s",
                  shapes->estimate ? "an estimate, in " : "",
                  shapes->unit ? shapes->unit : "of unknown unit");
    for (size_t i = 0; i < shapes->n; i++) {
        if (!among || among[i])
            print_shape(shapes, &shapes->shape[i], among ? among[i] : NULL, style);
        else
            left_out++;
        if (among)
            free(among[i]);
    }
    if (left_out)
        printf("\n... and %zu further shape%s; --all shows %s\n", left_out,
               left_out == 1 ? "" : "s", left_out == 1 ? "it" : "them");
    free(among);
}

ti_status info_phases(struct ti_source *s, int64_t rank, const struct info_style *style,
                      struct ti_err *err)
{
    struct ti_shapes shapes;
    ti_status st = ti_shapes_read(s, rank, style->line.symbolizer, &shapes, err);

    info_folded_warn(&shapes.ranks);
    info_warn_of_caveats(&shapes.quality);
    if (style->json && !err->text[0])
        print_json(s, &shapes);
    else if (shapes.n && !style->json && !style->quiet)
        print_text(&shapes, style);
    ti_shapes_free(&shapes);
    return st;
}
