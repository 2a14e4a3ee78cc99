#include "fold/shape.h"

#include <string.h>

#include "fold/decode_internal.h"

uint32_t ti_shape_nodes(const struct ti_folded *f)
{
    return (uint32_t)f->nnodes;
}

/* Number of columns of a call. */
static uint32_t columns_of(const struct ti_folded *f, const struct node *leaf)
{
    const struct symbol *s = &f->symbol[leaf->symbol];

    return leaf->arrivals * f->nvolumes +
           (uint32_t)(__builtin_popcount(s->columns) + __builtin_popcount(s->vector_columns));
}

struct ti_shape_node ti_shape_node(const struct ti_folded *f, uint32_t i)
{
    const struct node *node = &f->node[i];
    const struct symbol *s;

    if (node->symbol == LOOP)
        return (struct ti_shape_node){
            .end = node->end, .loop = true, .passes = node->passes, .columns = 1};
    s = &f->symbol[node->symbol];
    return (struct ti_shape_node){.end = i + 1,
                                  .passes = node->passes,
                                  .columns = columns_of(f, node),
                                  .symbol = node->symbol,
                                  .arrivals = node->arrivals,
                                  .op = s->is.op,
                                  .site = s->is.site,
                                  .mask = s->is.mask};
}

uint32_t ti_shape_symbols(const struct ti_folded *f)
{
    return (uint32_t)f->nsymbols;
}

void ti_shape_symbol(const struct ti_folded *f, uint32_t symbol, struct ti_call *out)
{
    const struct symbol *s = &f->symbol[symbol];

    *out = (struct ti_call){.op = s->is.op,
                            .site = s->is.site,
                            .mask = s->is.mask,
                            .columns = s->columns,
                            .vector_columns = s->vector_columns};
    for (uint32_t k = 0; k < s->nconstants; k++)
        out->arg[f->constant[s->constants + k].field] = f->constant[s->constants + k].value;
    memcpy(out->vector, s->vector, sizeof out->vector);
}

uint32_t ti_shape_vectors(const struct ti_folded *f)
{
    return (uint32_t)f->nvectors;
}

bool ti_shape_vector_at(struct ti_folded *f, uint32_t number, struct ti_vec *out)
{
    return ti__folded_vector(f, number, out);
}

/* The bit number `k` of those that are set in a mask. */
static uint32_t bit_at(uint32_t mask, uint32_t k)
{
    while (k--)
        mask &= mask - 1;
    return (uint32_t)__builtin_ctz(mask);
}

/* The meaning of column `k` of a node, and how many values it has. */
static struct ti_record_part part_of(const struct ti_folded *f, uint32_t i, uint32_t k, uint64_t *n)
{
    const struct node *node = &f->node[i];
    const struct symbol *s = &f->symbol[node->symbol == LOOP ? 0 : node->symbol];
    struct ti_record_part part = {.kind = TI_PART_TRIPS, .of = i};
    uint32_t fields;

    *n = node->passes;
    if (node->symbol == LOOP)
        return part;
    if (k < node->arrivals * f->nvolumes) {
        part.arrival = k / f->nvolumes;
        *n = ti__leaf_arrivals(node, part.arrival);
        part.kind = k % f->nvolumes ? TI_PART_EXTRAS : TI_PART_VOLUMES;
        part.which = (uint8_t)(k % f->nvolumes ? k % f->nvolumes - 1 : 0);
        return part;
    }
    k -= node->arrivals * f->nvolumes;
    fields = (uint32_t)__builtin_popcount(s->columns);
    part.kind = k < fields ? TI_PART_FIELDS : TI_PART_VECTOR_NUMBERS;
    part.which =
        (uint8_t)(k < fields ? bit_at(s->columns, k) : bit_at(s->vector_columns, k - fields));
    return part;
}

struct ti_shape_column ti_shape_column(const struct ti_folded *f, uint32_t i, uint32_t k)
{
    uint32_t column = f->node[i].cursor + k;
    struct ti_shape_column out = {.first = f->column_first[column],
                                  .blob = f->column_blob[column],
                                  .tokens = !f->cursor[column].draw};

    out.part = part_of(f, i, k, &out.n);
    return out;
}

static bool column_stats(const struct ti_folded *f, uint32_t column, uint64_t n,
                         struct ti_column_stats *out)
{
    const struct ti_bytes *blob = &f->column_blob[column];

    if (f->cursor[column].draw) {
        ti_draw_stats(f->cursor[column].draw, out);
        return true;
    }
    return ti_column_stats((uint64_t)f->column_first[column], blob->data, blob->n, n, out);
}

bool ti_shape_trips(const struct ti_folded *f, uint32_t i, struct ti_column_stats *out)
{
    return column_stats(f, f->node[i].cursor, f->node[i].passes, out);
}

bool ti_shape_same_loops(const struct ti_folded *a, const struct ti_folded *b)
{
    if (a->nnodes != b->nnodes)
        return false;
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct node *x = &a->node[i], *y = &b->node[i];
        const struct ti_bytes *p = &a->column_blob[x->cursor], *q = &b->column_blob[y->cursor];

        if ((x->symbol == LOOP) != (y->symbol == LOOP))
            return false;
        if (x->symbol == LOOP &&
            (x->end != y->end || a->column_first[x->cursor] != b->column_first[y->cursor] ||
             p->n != q->n || (p->n && memcmp(p->data, q->data, p->n) != 0)))
            return false;
    }
    return true;
}

bool ti_shape_volumes(const struct ti_folded *f, uint32_t i, uint32_t which,
                      struct ti_column_stats *out)
{
    const struct node *leaf = &f->node[i];

    *out = (struct ti_column_stats){.min = INT64_MAX, .max = INT64_MIN};
    for (uint32_t a = 0; a < leaf->arrivals; a++) {
        struct ti_column_stats more;

        if (!column_stats(f, leaf->cursor + a * f->nvolumes + which, ti__leaf_arrivals(leaf, a),
                          &more))
            return false;
        out->n += more.n;
        out->sum += more.sum;
        out->min = more.min < out->min ? more.min : out->min;
        out->max = more.max > out->max ? more.max : out->max;
    }
    return true;
}

bool ti_shape_sum(const struct ti_folded *f, uint32_t which, uint64_t *sum)
{
    struct ti_column_stats v;

    *sum = 0;
    for (uint32_t i = 0; i < f->nnodes; i++) {
        if (f->node[i].symbol == LOOP)
            continue;
        if (!ti_shape_volumes(f, i, which, &v))
            return false;
        *sum += v.sum;
    }
    return true;
}

/* Find the column of a field of a call; false if the field is a constant, which goes to *constant.
 */
static bool column_of(const struct ti_folded *f, uint32_t i, uint32_t field, uint32_t *column,
                      int64_t *constant)
{
    const struct node *leaf = &f->node[i];
    const struct symbol *s = &f->symbol[leaf->symbol];
    const struct constant *c = f->constant + s->constants;
    uint32_t before = s->columns & ((1u << field) - 1);

    if (s->columns & 1u << field) {
        *column =
            leaf->cursor + leaf->arrivals * f->nvolumes + (uint32_t)__builtin_popcount(before);
        return true;
    }
    while (c->field != field)
        c++;
    *constant = c->value;
    return false;
}

bool ti_shape_field(const struct ti_folded *f, uint32_t i, uint32_t field,
                    struct ti_column_stats *out)
{
    uint64_t n = f->node[i].passes;
    uint32_t column;
    int64_t value;

    if (column_of(f, i, field, &column, &value))
        return column_stats(f, column, n, out);
    *out = (struct ti_column_stats){n, (uint64_t)value * n, value, value};
    return true;
}

bool ti_shape_field_values(const struct ti_folded *f, uint32_t i, uint32_t field, uint64_t n,
                           int64_t *out)
{
    struct ti_cursor cursor;
    uint64_t value;
    uint32_t column;

    if (!column_of(f, i, field, &column, out)) {
        for (uint64_t k = 1; k < n; k++)
            out[k] = out[0];
        return true;
    }
    ti_cursor_start(&cursor, (uint64_t)f->column_first[column], f->column_blob[column].data,
                    f->column_blob[column].n);
    for (uint64_t k = 0; k < n; k++) {
        if (!ti_cursor_next(&cursor, &value))
            return false;
        out[k] = (int64_t)value;
    }
    return true;
}

bool ti_shape_vector(struct ti_folded *f, uint32_t i, int v, bool *constant, struct ti_vec *out)
{
    const struct symbol *s = &f->symbol[f->node[i].symbol];

    *constant = s->vector_is[v] != VECTOR_COLUMN;
    *out = (struct ti_vec){NULL, 8, 0};
    return s->vector_is[v] != VECTOR_CONSTANT || ti__folded_vector(f, (uint64_t)s->vector[v], out);
}
