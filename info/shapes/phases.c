/* ti-info --phases: the loops of ranks as pseudo-code. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "info/line.h"
#include "info/shapes/shapes.h"
#include "info/symbolizer.h"

#define NODES_SHOWN 40 /* of a body, unless all are wanted */
#define RANKS_BYTES 256
#define SITE_BYTES  600

struct printing {
    const struct info_shapes *all;
    const struct info_shape *shape;
    int64_t ranks; /* of the shape */
    uint64_t volume;
    bool everything; /* no limit */
    struct info_line line;
};

static void put_count(struct info_line *line, uint64_t n)
{
    char text[32];

    info_line_put(line, ti_format_count(n, text, sizeof text));
}

/* Append "5", or "3 to 7". */
static void put_range(struct info_line *line, uint64_t least, uint64_t most)
{
    put_count(line, least);
    if (least == most)
        return;
    info_line_put(line, " to ");
    put_count(line, most);
}

/* Append the columns at the left: share, volume, events, bytes. */
static void put_figures(struct printing *p, uint64_t volume, uint64_t events, uint64_t bytes)
{
    char text[3][32];

    p->line.bytes = 0;
    info_line_printf(&p->line, "%5.1f %%  %18s %12s %16s  ",
                     p->volume ? 100.0 * (double)volume / (double)p->volume : 0.0,
                     ti_format_count(volume, text[0], sizeof text[0]),
                     ti_format_count(events, text[1], sizeof text[1]),
                     ti_format_count(bytes, text[2], sizeof text[2]));
}

static void put_line(struct printing *p)
{
    puts(p->line.text);
}

/* Append the volumes of single bursts, and of ranks. */
static void put_volumes(struct printing *p, const struct info_node *node)
{
    const struct ti_column_stats *v = &node->values;
    const struct info_sums *s = &node->volume;

    if (v->n > 1) {
        put_count(&p->line, v->sum / v->n);
        if (v->min != v->max) {
            info_line_put(&p->line, " (");
            put_range(&p->line, (uint64_t)v->min, (uint64_t)v->max);
            info_line_put(&p->line, ")");
        }
    }
    if (p->ranks > 1 && (uint64_t)p->ranks != v->n && s->least != s->most) {
        info_line_put(&p->line, ", a rank ");
        put_range(&p->line, s->least, s->most);
    }
}

/* Append a field: its value, or the range of its values. */
static void put_field(struct printing *p, const struct info_node *node, unsigned field,
                      const struct info_values *v)
{
    static const unsigned peers[] = {TI_F_PEER, TI_F_PEER2, TI_F_FROM};

    info_line_printf(&p->line, " %s=", ti_field_text(field));
    info_line_value(&p->line, NULL, field, v->low);
    if (v->low != v->high) {
        info_line_put(&p->line, "..");
        info_line_value(&p->line, NULL, field, v->high);
    }
    for (int k = 0; p->ranks == 1 && v->low == v->high && k < 3; k++)
        if (peers[k] == field && node->world[k] >= 0)
            info_line_printf(&p->line, "(%" PRId64 ")", node->world[k]);
}

static void put_text(struct printing *p, const struct info_node *node, int which)
{
    const char *text = node->text[which];

    if (!node->differs[which])
        info_line_put(&p->line, text);
    else
        info_line_printf(&p->line, "%.*s...%s", (int)strcspn(text, "[\"") + 1, text,
                         which == INFO_TEXT_NAME ? "\"" : "]");
}

static void put_call(struct printing *p, const struct info_node *node)
{
    const struct info_values *v = node->field;
    char site[SITE_BYTES];
    size_t bytes;

    info_line_put(&p->line, ti_op_info(node->op)->text);
    for (uint32_t rest = node->mask; rest; rest &= rest - 1, v++) {
        unsigned field = (unsigned)__builtin_ctz(rest);

        if (field == TI_F_CALL || field == TI_F_NAME)
            put_text(p, node, INFO_TEXT_NAME);
        else
            put_field(p, node, field, v);
    }
    for (int t = INFO_TEXT_VECTOR; t < INFO_TEXTS; t++)
        put_text(p, node, t);
    info_line_put(&p->line, "  # ");
    bytes = p->line.bytes;
    put_volumes(p, node);
    info_site_text(p->all->symbolizer, p->all->sites.text[node->site], site, sizeof site);
    if (*site)
        info_line_printf(&p->line, "%s%s", p->line.bytes > bytes ? "; " : "", site);
    else if (p->line.bytes == bytes) /* there is nothing to say */
        p->line.text[p->line.bytes -= 4] = '\0';
}

static void put_loop(struct printing *p, const struct info_node *node)
{
    const struct ti_column_stats *trips = &node->values;

    info_line_put(&p->line, "loop ");
    put_range(&p->line, (uint64_t)trips->min, (uint64_t)trips->max);
    info_line_put(&p->line, trips->max == 1 ? " time" : " times");
    if (trips->min != trips->max) {
        info_line_put(&p->line, ", ");
        put_count(&p->line, trips->sum);
        info_line_put(&p->line, " in all");
    }
    info_line_put(&p->line, " {");
}

static void indent(struct printing *p, int depth)
{
    info_line_printf(&p->line, "%*s", 4 * depth, "");
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
    uint64_t volume = 0, events = 0, bytes = 0, nodes = 0;

    for (; i < end; i = p->shape->node[i].end, nodes++) {
        volume += p->shape->node[i].volume.sum;
        events += p->shape->node[i].events;
        bytes += p->shape->node[i].bytes;
    }
    put_figures(p, volume, events, bytes);
    indent(p, depth);
    info_line_put(&p->line, "... and ");
    put_count(&p->line, nodes);
    info_line_put(&p->line, " further calls and loops; --all shows them");
    put_line(p);
}

/* Print the nodes from `i` to `end`. */
static void print_nodes(struct printing *p, uint32_t i, uint32_t end, int depth)
{
    uint32_t shown = last_shown(p, i, end);

    for (; i < shown; i = p->shape->node[i].end) {
        const struct info_node *node = &p->shape->node[i];

        put_figures(p, node->volume.sum, node->events, node->bytes);
        indent(p, depth);
        if (!node->loop) {
            put_call(p, node);
            put_line(p);
            continue;
        }
        put_loop(p, node);
        put_line(p);
        print_nodes(p, i + 1, node->end, depth + 1);
        p->line.bytes = 0;
        info_line_printf(&p->line, "%58s", "");
        indent(p, depth);
        info_line_put(&p->line, "}");
        put_line(p);
    }
    if (i < end)
        print_rest(p, i, end, depth);
}

static void print_shape(const struct info_shapes *all, const struct info_shape *shape,
                        bool everything)
{
    struct printing p = {.all = all,
                         .shape = shape,
                         .ranks = ti_ranges_count(&shape->ranks),
                         .everything = everything};
    uint64_t events = 0, bytes = 0;
    char ranks[RANKS_BYTES], text[3][32];

    for (uint32_t i = 0; i < shape->nnodes; i = shape->node[i].end) {
        p.volume += shape->node[i].volume.sum;
        events += shape->node[i].events;
        bytes += shape->node[i].bytes;
    }
    printf("\nrank%s %s: volume %s, %s events, %s bytes in messages\n", p.ranks == 1 ? "" : "s",
           ti_ranges_text(&shape->ranks, ranks, sizeof ranks),
           ti_format_count(p.volume, text[0], sizeof text[0]),
           ti_format_count(events, text[1], sizeof text[1]),
           ti_format_count(bytes, text[2], sizeof text[2]));
    printf("  share  %18s %12s %16s\n", "volume", "events", "message bytes");
    print_nodes(&p, 0, shape->nnodes, 0);
    info_line_free(&p.line);
}

ti_status info_phases(struct ti_source *s, int64_t rank, const struct info_style *style,
                      struct ti_err *err)
{
    struct info_shapes shapes;
    int64_t ranks = 0;
    ti_status st = info_shapes_read(s, rank, style->symbolizer, &shapes, err);

    for (size_t i = 0; i < shapes.n; i++)
        ranks += ti_ranges_count(&shapes.shape[i].ranks);
    if (ranks && !style->quiet) {
        printf("phases of %" PRId64 " of %" PRId64 " ranks, %zu shape%s; volumes are ", ranks,
               ti_source_nranks(s), shapes.n, shapes.n == 1 ? "" : "s");
        if (shapes.estimate)
            printf("an estimate, in ");
        info_put_clean(shapes.unit ? shapes.unit : "of unknown unit");
        putchar('\n');
        for (size_t i = 0; i < shapes.n; i++)
            print_shape(&shapes, &shapes.shape[i], style->all);
    }
    info_shapes_free(&shapes);
    return st;
}
