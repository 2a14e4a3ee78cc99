#include <stdbool.h>

#include "fold/decode.h"
#include "fold/quality_columns.h"
#include "fold/record_layout.h"
#include "merged/builder.h"
#include "merged/encode.h"
#include "tests/unit/work.h"
#include "trace/reader.h"

unsigned work_copies;

static void add_record(uint64_t *hash, const struct ti_record *record)
{
    *hash = ti_hash_word(*hash, ti_record_hash(record));
    if (record->nnumbers)
        *hash = ti_hash_word(*hash, (uint64_t)record->number[0]);
    work_copies += ti_record_is_copy(record);
}

/* Encode a rank file; `q` as of ti_folded_encode(), or `shape`: ti_folded_encode_shape(). */
static ti_status encode(const char *path, const struct ti_qualities *q, bool shape, uint64_t *hash,
                        struct ti_err *err)
{
    struct ti_record record;
    struct ti_reader *r;
    ti_status st = ti_reader_open(path, &r, err);

    if (st)
        return st;
    st = shape ? ti_folded_encode_shape(r, &record, err) : ti_folded_encode(r, q, &record, err);
    ti_reader_close(r);
    if (st)
        return st;
    add_record(hash, &record);
    ti_record_free(&record);
    return TI_OK;
}

ti_status work_encode(const char *path, uint64_t *hash, struct ti_err *err)
{
    return encode(path, NULL, false, hash, err);
}

ti_status work_encode_bounded(const char *path, uint64_t *hash, struct ti_err *err)
{
    static const struct ti_qualities q = {{TI_BOUNDED, 20000}, {TI_BOUNDED, 50000}};

    return encode(path, &q, false, hash, err);
}

ti_status work_encode_statistics(const char *path, uint64_t *hash, struct ti_err *err)
{
    static const struct ti_qualities q = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};

    return encode(path, &q, false, hash, err);
}

ti_status work_encode_shape(const char *path, uint64_t *hash, struct ti_err *err)
{
    return encode(path, NULL, true, hash, err);
}

/* Give a builder a column as values in memory, unless these are drawn. */
static bool put_column(struct ti_builder *b, const struct ti_shape_column *c)
{
    bool tokens = !c->blob.n || c->blob.data[0] > TI_HISTOGRAM;
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    struct ti_cursor cursor;
    uint64_t runs = TI_RUNS_MAX;
    bool fine = true;

    if (!tokens || !c->n) {
        ti_builder_encoded(b, c->first, &c->blob);
        return true;
    }
    ti_cursor_start(&cursor, (uint64_t)c->first, c->blob.data, c->blob.n);
    fine = ti_cursor_take(&cursor, c->n, &runs, &pool, &column);
    ti_builder_column(b, &column, NULL);
    if (pool.no_memory)
        ti_builder_no_memory(b);
    ti_pool_free(&pool);
    return fine;
}

static bool put_nodes(struct ti_builder *b, struct ti_folded *f)
{
    uint32_t end[TI_SHAPE_DEPTH + 1], depth = 0;
    bool fine = true;

    for (uint32_t i = 0; fine && i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        for (; depth && end[depth - 1] == i; depth--)
            ti_builder_end_loop(b);
        if (node.loop)
            ti_builder_loop(b);
        else
            ti_builder_call(b, node.symbol);
        for (uint32_t k = 0; fine && k < node.columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);

            fine = put_column(b, &c);
        }
        if (node.loop)
            end[depth++] = node.end;
    }
    while (depth--)
        ti_builder_end_loop(b);
    return fine;
}

/* Make the record that `r` reads again. */
static ti_status rebuild(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_builder *b = ti_builder_new(ti_reader_rank(r), (uint32_t)ti_reader_extras(r));
    struct ti_record record;
    ti_status st;

    if (!b)
        return ti_err_memory(err, "make a builder");
    st = ti_builder_all_but_shape(b, r) && put_nodes(b, ti_reader_folded(r))
             ? ti_builder_finish(b, ti_reader_nranks(r), TI_HASH_ALL, &record, err)
             : ti_err_set(err, TI_ERR_INPUT, "a vector or a column is malformed");
    ti_builder_free(b);
    if (st)
        return st;
    add_record(hash, &record);
    ti_record_free(&record);
    return TI_OK;
}

ti_status work_rebuild(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_record record;
    struct ti_reader *r;
    ti_status st = ti_reader_open(path, &r, err);

    if (st)
        return st;
    st = ti_folded_encode_shape(r, &record, err);
    if (!st) {
        struct ti_reader *file = r;

        st = ti_reader_open_record(&record, ti_reader_nranks(file), ti_reader_run_id(file),
                                   ti_reader_name(file), &r, err);
        ti_reader_close(file);
        if (st)
            return st;
        st = ti_reader_skip(r, err);
    }
    if (!st)
        st = rebuild(r, hash, err);
    ti_reader_close(r);
    return st;
}
