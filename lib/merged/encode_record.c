#include <stdlib.h>
#include <string.h>

#include "merged/builder_internal.h"
#include "merged/encode_internal.h"
#include "merged/layout.h"

/* Qualities that are not exact, and that the trace does not name yet, are metadata. */
static void name_qualities(struct ti_builder *b, const struct ti_encoder *e)
{
    const struct ti_quality *q[2] = {&e->want.volumes, &e->want.extras};
    static const char *const keys[2] = {"volumes", "extras"};
    char text[32];

    for (int i = 0; i < 2; i++) {
        if (q[i]->kind == TI_EXACT || ti_reader_info(e->r, keys[i]) || (i == 1 && e->nvolumes == 1))
            continue;
        ti_quality_text(q[i], text, sizeof text);
        ti_builder_info(b, keys[i], text, false);
    }
}

static void put_tables(struct ti_builder *b, const struct ti_encoder *e)
{
    const struct ti_symbols *s = &e->symbols;

    ti_builder_tables(b, e->r);
    name_qualities(b, e);
    for (size_t i = 0; i < s->site_map.n; i++)
        ti_builder_string(b, TI_STRING_SITE,
                          ti_reader_string(e->r, TI_STRING_SITE, s->site_map.key[i][0]));
}

/* ------------------------------------------------------- vectors and symbols -- */

/* Read `n` values of a column in memory; NULL when memory is short. */
static int64_t *values_of(const struct ti_column *c, size_t n)
{
    size_t cap = 0, at = 0;
    struct ti_run_iterator runs = ti_column_runs(c);
    const struct ti_column_run *run;
    int64_t *value = NULL;

    if (!TI_ROOM(value, &cap, n + 1))
        return NULL;
    while (at < n && (run = ti_run_next(&runs)))
        for (uint64_t k = 0; k < run->n && at < n; k++)
            value[at++] = (int64_t)(run->first + k * run->stride);
    return value;
}

static void put_vectors(struct ti_builder *b, const struct ti_symbols *s)
{
    int64_t *length = values_of(&s->vector_lengths, s->vector_map.n);
    int64_t *value = values_of(&s->vector_elements, (size_t)s->elements), *at = value;

    if (!length || !value)
        ti_builder_no_memory(b);
    else
        for (size_t v = 0; v < s->vector_map.n; at += length[v++])
            ti_builder_vector(b, at, length[v]);
    free(length);
    free(value);
}

static void put_symbol(struct ti_builder *b, const struct ti_symbols *s,
                       const struct ti_symbol *symbol)
{
    const struct ti_event_class *c = &s->class[symbol->class];
    const int64_t *value = s->value + symbol->value;
    uint32_t numbers = ti_symbol_numbers(&c->is);
    struct ti_call call = {.op = c->is.op,
                           .mask = c->is.mask,
                           .columns = c->columns,
                           .vector_columns = c->vector_columns};

    call.site = c->is.site ? (uint32_t)ti_map_find(&s->site_map, c->is.site, 0, 0, 0) + 1 : 0;
    for (uint32_t rest = c->is.mask & ~c->columns; rest; rest &= rest - 1) {
        uint32_t field = (uint32_t)__builtin_ctz(rest);

        call.arg[field] = numbers & 1u << field ? *value++ : ti_kind_value(c->is.kinds, field);
    }
    for (uint32_t rest = c->is.vecs & ~c->vector_columns; rest; rest &= rest - 1)
        call.vector[__builtin_ctz(rest)] = *value++;
    ti_builder_symbol(b, &call);
}

/* -------------------------------------------------------------------- shape -- */

/* Put the columns of a node; those of volumes and extra values with their qualities.  Without
 * `extras`, extra values are left out, and volumes are exact. */
static void put_columns(struct ti_builder *b, const struct ti_encoder *e,
                        const struct ti_fold_node *node, bool extras)
{
    uint32_t volumes = node->child ? 0 : node->arrivals * e->nvolumes;

    for (uint32_t i = 0; i < node->ncolumns; i++) {
        const struct ti_quality *q = i >= volumes || !extras ? NULL
                                     : i % e->nvolumes == 0  ? &e->want.volumes
                                                             : &e->want.extras;

        if (extras || i >= volumes || i % e->nvolumes == 0)
            ti_builder_column(b, &node->column[i], q);
    }
}

static void put_nodes(struct ti_builder *b, const struct ti_encoder *e,
                      const struct ti_fold_node *node, bool extras, uint32_t depth)
{
    /* one loop more than a record may have makes it wrong */
    for (; node && depth <= TI_SHAPE_DEPTH + 1; node = node->next) {
        if (node->child)
            ti_builder_loop(b);
        else
            ti_builder_call(b, node->symbol);
        put_columns(b, e, node, extras);
        if (node->child) {
            put_nodes(b, e, node->child, extras, depth + 1);
            ti_builder_end_loop(b);
        }
    }
}

/* ------------------------------------------------------------------- record -- */

static bool make(struct ti_encoder *e, const struct ti_fold_node *shape, bool core,
                 struct ti_record *out)
{
    struct ti_builder *b = ti_builder_new(ti_reader_rank(e->r), core ? 0 : e->nvolumes - 1);
    bool fine;

    if (!b) {
        e->no_memory = true;
        return false;
    }
    if (!core)
        put_tables(b, e);
    put_vectors(b, &e->symbols);
    for (size_t i = 0; i < e->symbols.symbol_map.n; i++)
        put_symbol(b, &e->symbols, &e->symbols.symbol[i]);
    put_nodes(b, e, shape, !core, 0);
    fine = ti__builder_record(b, core, out);
    e->no_memory |= b->no_memory;
    ti_builder_free(b);
    return fine;
}

bool ti__record_fold(struct ti_encoder *e, const struct ti_fold_node *shape, struct ti_record *out)
{
    struct ti_totals totals;

    if (!make(e, shape, false, out))
        return false;
    if (ti_reader_totals(e->r, &totals))
        ti_record_set(out, 0, (int64_t)e->sums.hash);
    return true;
}

bool ti__record_core(struct ti_encoder *e, const struct ti_fold_node *shape, struct ti_record *out)
{
    return make(e, shape, true, out);
}

bool ti__record_copy(const struct ti_encoder *e, const uint8_t *data, size_t bytes,
                     struct ti_record *out)
{
    static const uint8_t pattern[] = {TI_RECORD_COPY};
    size_t n = (bytes + TI_BLOB_MAX - 1) / TI_BLOB_MAX;
    uint8_t *memory = malloc(n * sizeof(struct ti_bytes) + sizeof pattern + bytes);
    struct ti_bytes *blob = (struct ti_bytes *)(void *)memory;
    uint8_t *at = memory + n * sizeof *blob;

    if (!memory)
        return false;
    *out = (struct ti_record){.rank = ti_reader_rank(e->r),
                              .pattern = {at, sizeof pattern},
                              .blob = blob,
                              .nblobs = n,
                              .memory = memory};
    memcpy(at, pattern, sizeof pattern);
    at += sizeof pattern;
    memcpy(at, data, bytes);
    for (size_t i = 0; i < n; i++, at += TI_BLOB_MAX)
        blob[i] = (struct ti_bytes){at, i + 1 < n ? TI_BLOB_MAX : bytes - i * TI_BLOB_MAX};
    return true;
}
