#include <stdlib.h>
#include <string.h>

#include "fold/column.h"
#include "merged/builder_internal.h"

int64_t ti_builder_vector(struct ti_builder *b, const int64_t *element, int64_t n)
{
    size_t at = b->nvectors ? b->start[b->nvectors] : 0, length = (size_t)n;

    if (!TI_ROOM(b->start, &b->starts_cap, b->nvectors + 2) ||
        !TI_ROOM(b->element, &b->elements_cap, at + length + 1)) {
        b->no_memory = true;
        return (int64_t)b->nvectors;
    }
    if (length)
        memcpy(b->element + at, element, length * sizeof *element);
    b->start[b->nvectors + 1] = at + length;
    return (int64_t)b->nvectors++;
}

/* Bytes of `n` varints: of values, or with a model of the differences to it. */
static size_t values_bytes(const int64_t *value, const int64_t *model, size_t n)
{
    uint8_t bytes[TI_VARINT_MAX];
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (size_t)ti_put_varint(
            bytes, ti_zigzag((int64_t)((uint64_t)value[i] - (model ? (uint64_t)model[i] : 0))));
    return sum;
}

/* Choose the model of vector `v`.  Vector i is from value[start[i]] to value[start[i + 1]]. */
static size_t choose_model(const int64_t *value, const size_t *start, size_t v)
{
    size_t length = start[v + 1] - start[v], best = 0;
    size_t least = values_bytes(value + start[v], NULL, length);

    for (size_t k = 1; k <= v && k <= TI_MODELS; k++) {
        size_t bytes;

        if (start[v - k + 1] - start[v - k] != length)
            continue;
        bytes = values_bytes(value + start[v], value + start[v - k], length);
        if (bytes < least) {
            least = bytes;
            best = k;
        }
    }
    return best;
}

/* Put the elements of vectors: as a column if there are long runs or repetitions, else as plain
 * values, which deflate makes smaller than the tokens of a column. */
static void put_elements(struct parts *p, const int64_t *value, size_t n)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    struct ti_buffer blob = {.data = NULL};
    uint8_t plain = TI_PLAIN;

    for (size_t i = 0; i < n; i++)
        ti_column_add(&pool, &column, (uint64_t)value[i]);
    ti_column_put(&blob, &column);
    if (2 * blob.n <= values_bytes(value, NULL, n)) {
        ti__put_number(p, (int64_t)ti_column_first(&column));
        ti_buffer_put(&p->blobs, blob.data, blob.n);
    } else {
        ti__put_number(p, 0);
        ti_buffer_put(&p->blobs, &plain, 1);
        for (size_t i = 0; i < n; i++)
            ti_buffer_varint(&p->blobs, ti_zigzag(value[i]));
    }
    ti__end_blob(p);
    p->no_memory |= pool.no_memory || blob.no_memory;
    ti_pool_free(&pool);
    free(blob.data);
}

static void put_column(struct parts *p, const struct ti_column *column)
{
    ti__put_number(p, (int64_t)ti_column_first(column));
    ti_column_put(&p->blobs, column);
    ti__end_blob(p);
}

void ti__put_vectors(struct parts *p, const struct ti_builder *b)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column lengths = {.head = NULL}, models = {.head = NULL};
    const size_t *start = b->start;
    size_t n = b->nvectors, cap = 0, elements = n ? start[n] : 0;
    int64_t *value = NULL;

    if (!TI_ROOM(value, &cap, elements + 1)) {
        p->no_memory = true;
        return;
    }
    if (elements)
        memcpy(value, b->element, elements * sizeof *value);
    for (size_t v = 0; v < n; v++) {
        size_t model = choose_model(b->element, start, v);

        ti_column_add(&pool, &lengths, start[v + 1] - start[v]);
        ti_column_add(&pool, &models, model);
        for (size_t i = start[v]; model && i < start[v + 1]; i++)
            value[i] = (int64_t)((uint64_t)value[i] -
                                 (uint64_t)b->element[i - start[v] + start[v - model]]);
    }
    ti__put_number(p, (int64_t)n);
    put_column(p, &lengths);
    put_column(p, &models);
    put_elements(p, value, elements);
    p->no_memory |= pool.no_memory;
    ti_pool_free(&pool);
    free(value);
}
