#include "analysis/shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/line.h"
#include "callsite/symbolizer.h"
#include "common/map.h"
#include "trips/names.h"

static const unsigned peers[] = {TI_F_PEER, TI_F_PEER2, TI_F_FROM};

/* ------------------------------------------------------------------- hashes -- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = ti_hash_word(hash, (unsigned char)*text);
    return ti_hash_word(hash, 256);
}

/* Whether a field is the number of a string in the trace. */
static bool is_name(unsigned field)
{
    return field == TI_F_CALL || field == TI_F_NAME;
}

/* Add the fields of a call that make shapes different: special values, what has no order, and the
 * names of calls. */
static bool hash_fields(const struct ti_reader *r, const struct ti_folded *f, uint32_t i,
                        uint32_t mask, uint64_t *hash)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned field = (unsigned)__builtin_ctz(rest);
        struct ti_column_stats v;

        if (!ti_shape_field(f, i, field, &v))
            return false;
        if (v.min <= TI_SELF || field == TI_F_REDOP || field == TI_F_MODE)
            *hash = ti_hash_word(*hash, (uint64_t)v.min);
        if (field == TI_F_CALL)
            *hash = hash_text(*hash, ti_reader_string(r, TI_STRING_CALL, v.min));
        *hash = ti_hash_word(*hash, field);
    }
    return true;
}

static bool hash_shape(const struct ti_reader *r, const struct ti_folded *f, uint64_t *hash)
{
    *hash = TI_HASH_START;
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        *hash = ti_hash_word(*hash, (uint64_t)node.end << 1 | node.loop);
        if (node.loop)
            continue;
        *hash = ti_hash_word(*hash, (uint64_t)node.op << 32 | node.mask);
        *hash = hash_text(*hash, ti_reader_string(r, TI_STRING_SITE, node.site));
        if (!hash_fields(r, f, i, node.mask, hash))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- a rank -- */

/* A rank while it is added to its shape. */
struct adding {
    struct ti_shapes *all;
    const struct ti_reader *r;
    struct ti_folded *f;
    struct ti_shape_of_ranks *shape;
    bool first;       /* the shape is new */
    uint64_t *volume; /* of the rank, by node */
};

static void add_stats(struct ti_column_stats *to, const struct ti_column_stats *more)
{
    to->n += more->n;
    to->sum += more->sum;
    to->min = more->min < to->min ? more->min : to->min;
    to->max = more->max > to->max ? more->max : to->max;
}

/* False: no memory. */
static bool add_text(const struct adding *a, struct ti_ranks_node *node, int which,
                     const struct ti_line *line)
{
    char **old = &node->text[which];

    if (line->no_memory)
        return false;
    if (a->first)
        *old = strdup(line->text);
    else if (*old && strcmp(*old, line->text) != 0)
        node->differs[which] = true;
    return *old != NULL;
}

/* Add vectors, and the field that is the number of a string.  False if the record is malformed, or
 * memory is short: errno is ENOMEM then, as below. */
static bool add_texts(const struct adding *a, struct ti_ranks_node *node, uint32_t i,
                      const struct ti_event *ev)
{
    const struct ti_op_info *op = ti_op_info(node->op);
    struct ti_line line = {.may_fail = true};
    bool fine;

    ti_line_put(&line, "");
    for (uint32_t rest = node->mask; rest; rest &= rest - 1)
        if (is_name((unsigned)__builtin_ctz(rest)))
            ti_line_field(&line, a->r, ev, (unsigned)__builtin_ctz(rest));
    fine = add_text(a, node, TI_TEXT_NAME, &line);
    for (int v = 0; v < TI_VECS && fine; v++) {
        struct ti_vec vec;
        bool constant;

        fine = ti_shape_vector(a->f, i, v, &constant, &vec);
        if (!fine)
            break;
        line.bytes = 0;
        line.text[0] = '\0';
        if (vec.len)
            ti_line_vector(&line, op->vec[v], &vec);
        else if (!constant)
            ti_line_printf(&line, " %s=[]", op->vec[v]);
        fine = add_text(a, node, TI_TEXT_VECTOR + v, &line);
        node->differs[TI_TEXT_VECTOR + v] |= !constant;
    }
    ti_line_free(&line);
    return fine;
}

static bool add_fields(const struct adding *a, struct ti_ranks_node *node, uint32_t i)
{
    struct ti_event ev = {.op = node->op, .mask = node->mask};
    struct ti_field_range *to = node->field;
    struct ti_column_stats v, bytes = {0}, peer = {0};

    for (uint32_t rest = node->mask; rest; rest &= rest - 1, to++) {
        unsigned field = (unsigned)__builtin_ctz(rest);

        if (!ti_shape_field(a->f, i, field, &v))
            return false;
        to->low = a->first || v.min < to->low ? v.min : to->low;
        to->high = a->first || v.max > to->high ? v.max : to->high;
        ev.arg[field] = v.min;
        bytes = field == TI_F_BYTES ? v : bytes;
        peer = field == TI_F_PEER ? v : peer;
    }
    if (ti_op_is(node->op, TI_T_SENDS) && !ti_op_is(node->op, TI_T_PERSISTENT) &&
        peer.min != TI_NULL)
        node->bytes += bytes.sum;
    for (size_t k = 0; k < sizeof peers / sizeof *peers; k++)
        if (a->first && node->mask & 1u << peers[k] && ev.arg[peers[k]] > TI_SELF)
            node->world[k] =
                ti_reader_world(a->r, ti_reader_event_comm(a->r, &ev), ev.arg[peers[k]]);
    return add_texts(a, node, i, &ev);
}

static bool add_call(const struct adding *a, struct ti_ranks_node *node, uint32_t i)
{
    struct ti_column_stats v;

    if (!ti_shape_volumes(a->f, i, 0, &v))
        return false;
    a->volume[i] = v.sum;
    add_stats(&node->values, &v);
    return add_fields(a, node, i);
}

/* False: no memory. */
static bool start_node(const struct adding *a, struct ti_ranks_node *node,
                       const struct ti_shape_node *from)
{
    const char *site = ti_reader_string(a->r, TI_STRING_SITE, from->site);
    int64_t number;

    *node = (struct ti_ranks_node){.end = from->end,
                                   .loop = from->loop,
                                   .op = from->op,
                                   .mask = from->mask,
                                   .values = {.min = INT64_MAX, .max = INT64_MIN},
                                   .world = {-1, -1, -1}};
    if (node->loop)
        return true;
    number = ti_names_put(&a->all->sites, site ? site : "");
    node->site = number < 0 ? 0 : (size_t)number;
    node->field = calloc((size_t)__builtin_popcount(node->mask) + 1, sizeof *node->field);
    return number >= 0 && node->field;
}

/* Volumes of loops are those of their bodies. */
static void add_up(const struct adding *a)
{
    for (uint32_t i = a->shape->nnodes; i-- > 0;) {
        struct ti_ranks_node *node = &a->shape->node[i];

        for (uint32_t k = i + 1; node->loop && k < node->end; k = a->shape->node[k].end)
            a->volume[i] += a->volume[k];
        ti_rank_sums_add(&node->volume, ti_reader_rank(a->r), a->volume[i]);
    }
}

static bool add_rank(const struct adding *a)
{
    for (uint32_t i = 0; i < a->shape->nnodes; i++) {
        struct ti_shape_node from = ti_shape_node(a->f, i);
        struct ti_ranks_node *node = &a->shape->node[i];
        struct ti_column_stats trips;

        if (a->first && !start_node(a, node, &from))
            return false;
        if (!from.loop) {
            node->events += from.passes;
            if (!add_call(a, node, i))
                return false;
        } else {
            if (!ti_shape_trips(a->f, i, &trips))
                return false;
            add_stats(&node->values, &trips);
        }
    }
    add_up(a);
    return true;
}

/* ------------------------------------------------------------------ shapes -- */

/* Find the shape with a hash, or begin one with `nnodes` nodes: *first is then true.  NULL: no
 * memory. */
static struct ti_shape_of_ranks *shape_of(struct ti_shapes *all, uint64_t hash, uint32_t nnodes,
                                          bool *first)
{
    struct ti_ranks_node *node;

    *first = false;
    for (size_t i = 0; i < all->n; i++)
        if (all->shape[i].hash == hash && all->shape[i].nnodes == nnodes)
            return &all->shape[i];
    *first = true;
    node = calloc((size_t)nnodes + 1, sizeof *node);
    if (!node || !TI_ROOM(all->shape, &all->cap, all->n + 1)) {
        free(node);
        return NULL;
    }
    all->shape[all->n] = (struct ti_shape_of_ranks){.hash = hash, .nnodes = nnodes, .node = node};
    return &all->shape[all->n++];
}

/* Name the loops of a shape that is new.  False: no memory. */
static bool name_loops(const struct adding *a)
{
    struct ti_loop_names *names = ti_loop_names_of(a->r, a->all->symbolizer);
    char text[TI_LOOP_NAME_BYTES];
    bool fine = names != NULL;

    for (uint32_t i = 0; fine && i < a->shape->nnodes; i++) {
        struct ti_ranks_node *node = &a->shape->node[i];

        if (!node->loop)
            continue;
        node->name = strdup(ti_loop_name(names, i, text, sizeof text));
        fine = node->name != NULL;
    }
    ti_loop_names_free(names);
    return fine;
}

/* Note what the metadata of a rank says.  False: no memory. */
static bool add_metadata(const struct adding *a)
{
    const char *unit = ti_reader_info(a->r, "unit");

    a->all->estimate |= ti_info_estimate(a->r);
    ti_caveats_add_quality(&a->all->quality, a->r, false);
    if (!a->all->unit && unit)
        a->all->unit = strdup(unit);
    ti_symbolizer_add_rank(a->all->symbolizer, a->r);
    return !unit || a->all->unit;
}

static ti_status take_rank(void *arg, struct ti_reader *r, struct ti_err *err)
{
    struct ti_shapes *all = arg;
    struct adding a = {.all = all, .r = r, .f = ti_reader_folded(r)};
    uint32_t nnodes = ti_shape_nodes(a.f);
    int64_t rank = ti_reader_rank(r);
    uint64_t hash;
    bool fine;

    errno = 0;
    if (!hash_shape(r, a.f, &hash))
        return ti_reader_malformed(r, err);
    a.shape = shape_of(all, hash, nnodes, &a.first);
    a.volume = calloc((size_t)nnodes + 1, sizeof *a.volume);
    fine = a.shape && a.volume && add_metadata(&a) && ti_ranges_put(&a.shape->ranks, rank, rank) &&
           add_rank(&a) && (!a.first || name_loops(&a));
    free(a.volume);
    return fine ? TI_OK : ti_reader_malformed(r, err);
}

ti_status ti_shapes_read(struct ti_source *s, int64_t only, struct ti_symbolizer *symbolizer,
                         struct ti_shapes *out, struct ti_err *err)
{
    ti_status st;

    *out = (struct ti_shapes){.symbolizer = symbolizer};
    st = ti_folded_each(s, only, take_rank, out, &out->ranks, err);
    /* events and bytes of loops are those of their bodies */
    for (size_t i = 0; i < out->n; i++) {
        struct ti_ranks_node *node = out->shape[i].node;

        for (uint32_t k = out->shape[i].nnodes; k-- > 0;)
            for (uint32_t c = k + 1; node[k].loop && c < node[k].end; c = node[c].end) {
                node[k].events += node[c].events;
                node[k].bytes += node[c].bytes;
            }
    }
    return st;
}

void ti_shapes_free(struct ti_shapes *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (uint32_t k = 0; k < s->shape[i].nnodes; k++) {
            free(s->shape[i].node[k].field);
            free(s->shape[i].node[k].name);
            for (int t = 0; t < TI_TEXTS; t++)
                free(s->shape[i].node[k].text[t]);
        }
        free(s->shape[i].node);
        ti_ranges_free(&s->shape[i].ranks);
    }
    free(s->shape);
    free(s->unit);
    ti_folded_ranks_free(&s->ranks);
    ti_names_free(&s->sites);
    *s = (struct ti_shapes){.n = 0};
}
