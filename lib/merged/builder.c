#include "merged/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/decode.h"
#include "fold/quality_columns.h"
#include "merged/builder_internal.h"
#include "merged/layout.h"

struct ti_builder *ti_builder_new(uint32_t rank, uint32_t extras)
{
    struct ti_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->rank = rank;
    b->nvolumes = 1 + extras;
    b->end = TI_END_KILLED;
    return b;
}

static void free_parts(struct parts *p)
{
    free(p->pattern.data);
    free(p->blobs.data);
    free(p->number);
    free(p->blob_end);
}

void ti_builder_free(struct ti_builder *b)
{
    if (!b)
        return;
    for (int i = 0; i < 2; i++) {
        free(b->keys[i].data);
        free_parts(&b->value[i]);
    }
    for (int i = 0; i < 3; i++)
        free_parts(&b->strings[i]);
    free_parts(&b->comms);
    free_parts(&b->symbols);
    free_parts(&b->shape);
    free(b->element);
    free(b->start);
    free(b->word);
    free(b);
}

/* -------------------------------------------------------------------- parts -- */

void ti__put_number(struct parts *p, int64_t number)
{
    if (TI_ROOM(p->number, &p->numbers_cap, p->nnumbers + 1))
        p->number[p->nnumbers++] = number;
    else
        p->no_memory = true;
}

void ti__end_blob(struct parts *p)
{
    if (TI_ROOM(p->blob_end, &p->blobs_cap, p->nblobs + 1))
        p->blob_end[p->nblobs++] = p->blobs.n;
    else
        p->no_memory = true;
}

static void put_blob(struct parts *p, const void *data, size_t bytes)
{
    ti_buffer_put(&p->blobs, data, bytes);
    ti__end_blob(p);
}

static void put_byte(struct parts *p, uint8_t byte)
{
    ti_buffer_put(&p->pattern, &byte, 1);
}

/* Append a section, which is empty afterwards: a record is in memory twice at most. */
static void join(struct parts *p, struct parts *more)
{
    size_t start = p->blobs.n;

    ti_buffer_join(&p->pattern, &more->pattern);
    ti_buffer_join(&p->blobs, &more->blobs);
    for (size_t i = 0; i < more->nnumbers; i++)
        ti__put_number(p, more->number[i]);
    p->no_memory |=
        more->no_memory || !TI_ROOM(p->blob_end, &p->blobs_cap, p->nblobs + more->nblobs + 1);
    for (size_t i = 0; !p->no_memory && i < more->nblobs; i++)
        p->blob_end[p->nblobs++] = start + more->blob_end[i];
    free_parts(more);
    *more = (struct parts){.nnumbers = 0};
}

/* ------------------------------------------------------------------- tables -- */

void ti_builder_end(struct ti_builder *b, enum ti_end end)
{
    b->end = end;
}

/* The form of a value; *number is set if it is not 0. */
static uint8_t form_of(const char *text, int64_t *number)
{
    size_t digits = strspn(text, "0123456789"), decimals = 0;
    const char *rest = text + digits;

    if (digits == 0 || (digits > 1 && text[0] == '0'))
        return 0;
    *number = 0;
    if (*rest == '.')
        decimals = strspn(++rest, "0123456789");
    if (rest[decimals] || (rest > text + digits && decimals == 0) || decimals > TI_DECIMALS_MAX ||
        digits + decimals > 18)
        return 0;
    for (const char *c = text; *c; c++)
        if (*c != '.')
            *number = *number * 10 + (*c - '0');
    return (uint8_t)(1 + decimals);
}

/* Whether a pair says that a quality is not exact. */
static bool is_inexact(const struct ti_builder *b, const char *key, const char *value)
{
    struct ti_quality q;

    return (strcmp(key, "volumes") == 0 || (strcmp(key, "extras") == 0 && b->nvolumes > 1)) &&
           ti_quality_parse(value, &q) && q.kind != TI_EXACT;
}

void ti_builder_info(struct ti_builder *b, const char *key, const char *value, bool at_end)
{
    struct parts *p = &b->value[at_end];
    int64_t number;
    uint8_t form = form_of(value, &number);

    b->npairs[at_end]++;
    b->inexact |= is_inexact(b, key, value);
    ti_buffer_put(&b->keys[at_end], key, strlen(key) + 1);
    put_byte(p, form);
    if (form)
        ti__put_number(p, number);
    else
        put_blob(p, value, strlen(value));
}

void ti_builder_leave_out(struct ti_builder *b, const char *const *keys)
{
    b->left_out = keys;
}

static bool is_left_out(const struct ti_builder *b, const char *key)
{
    for (const char *const *k = b->left_out; k && *k; k++)
        if (strcmp(*k, key) == 0)
            return true;
    return false;
}

static void put_members(struct parts *p, const int32_t *member, int64_t size)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};

    for (int64_t i = 0; i < size; i++)
        ti_column_add(&pool, &column, (uint64_t)member[i]);
    ti__put_number(p, (int64_t)ti_column_first(&column));
    ti_column_put(&p->blobs, &column);
    p->no_memory |= pool.no_memory;
    ti_pool_free(&pool);
    ti__end_blob(p);
}

static void put_comm(struct ti_builder *b, const struct ti_comm *comm)
{
    struct parts *p = &b->comms;

    b->ncomms++;
    ti_buffer_varint(&p->pattern, comm->index);
    put_byte(p, (uint8_t)comm->kind);
    put_byte(p, comm->remote != NULL);
    ti__put_number(p, comm->rank);
    ti__put_number(p, comm->size);
}

void ti_builder_comm(struct ti_builder *b, const struct ti_comm *comm)
{
    struct parts *p = &b->comms;

    put_comm(b, comm);
    if (comm->remote)
        ti__put_number(p, comm->remote_size);
    put_members(p, comm->member, comm->size);
    if (comm->remote)
        put_members(p, comm->remote, comm->remote_size);
}

void ti_builder_comm_encoded(struct ti_builder *b, const struct ti_comm *comm, int64_t first,
                             const struct ti_bytes *blob)
{
    put_comm(b, comm);
    ti__put_number(&b->comms, first);
    put_blob(&b->comms, blob->data, blob->n);
}

/* Put a call site: its offset, and what is around it. */
static void put_site(struct parts *p, const char *text)
{
    const char *start = strstr(text, TI_OFFSET_MARK), *end;
    size_t digits;

    start = start ? start + strlen(TI_OFFSET_MARK) : "";
    digits = strspn(start, "0123456789abcdef");
    end = start + digits;
    if (digits == 0 || digits > TI_OFFSET_DIGITS || start[0] == '0') {
        ti__put_number(p, -1);
        put_blob(p, text, strlen(text));
        return;
    }
    ti__put_number(p, strtoll(start, NULL, 16));
    ti_buffer_put(&p->blobs, text, (size_t)(start - text));
    put_blob(p, end, strlen(end));
}

uint32_t ti_builder_string(struct ti_builder *b, enum ti_string kind, const char *text)
{
    int i = kind == TI_STRING_SITE ? 0 : kind == TI_STRING_CALL ? 1 : 2;

    if (i == 0)
        put_site(&b->strings[i], text);
    else
        put_blob(&b->strings[i], text, strlen(text));
    return ++b->nstrings[i];
}

void ti_builder_tables(struct ti_builder *b, const struct ti_reader *r)
{
    static const enum ti_string kinds[] = {TI_STRING_CALL, TI_STRING_FILE};
    const char *key, *value, *text;
    struct ti_totals totals;

    ti_builder_end(b, ti_reader_totals(r, &totals) ? ti_reader_end(r) : TI_END_KILLED);
    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++)
        if (!is_left_out(b, key))
            ti_builder_info(b, key, value, i >= ti_reader_info_first(r));
    for (int64_t i = 0; ti_reader_comm(r, i); i++)
        ti_builder_comm(b, ti_reader_comm(r, i));
    for (int k = 0; k < 2; k++)
        for (int64_t i = 1; (text = ti_reader_string(r, kinds[k], i)); i++)
            ti_builder_string(b, kinds[k], text);
}

/* ------------------------------------------------------------------ symbols -- */

uint32_t ti_builder_symbol(struct ti_builder *b, const struct ti_call *call)
{
    struct parts *p = &b->symbols;
    struct ti_event constant = {.op = call->op, .mask = call->mask & ~call->columns};
    uint64_t number[] = {call->op, call->site, call->mask, 0};
    struct ti_event_symbol is;

    for (uint32_t rest = constant.mask; rest; rest &= rest - 1)
        if (__builtin_ctz(rest) < TI_F_COUNT)
            constant.arg[__builtin_ctz(rest)] = call->arg[__builtin_ctz(rest)];
    number[3] = ti_event_kinds(&constant);
    for (int i = 0; i < 4; i++)
        ti_buffer_varint(&p->pattern, number[i]);
    ti_buffer_varint(&p->pattern, call->columns);
    ti_buffer_varint(&p->pattern, call->vector_columns);
    if (!ti_symbol_read(number, UINT32_MAX, &is)) /* readers will refuse it */
        return b->nsymbols++;
    for (uint32_t rest = ti_symbol_numbers(&is) & ~call->columns; rest; rest &= rest - 1)
        ti__put_number(p, constant.arg[__builtin_ctz(rest)]);
    for (uint32_t rest = is.vecs & ~call->vector_columns; rest; rest &= rest - 1)
        ti__put_number(p, call->vector[__builtin_ctz(rest)]);
    return b->nsymbols++;
}

bool ti_builder_all_but_shape(struct ti_builder *b, const struct ti_reader *r)
{
    struct ti_folded *f = ti_reader_folded(r);
    const char *site;
    struct ti_vec vec;
    struct ti_call call;

    ti_builder_tables(b, r);
    for (int64_t i = 1; (site = ti_reader_string(r, TI_STRING_SITE, i)); i++)
        ti_builder_string(b, TI_STRING_SITE, site);
    for (uint32_t i = 0; i < ti_shape_vectors(f); i++) {
        if (ti_shape_vector_at(f, i, &vec))
            ti_builder_vector(b, vec.data, vec.len);
        else if (ti_folded_no_memory(f))
            b->no_memory = true;
        else
            return false;
    }
    for (uint32_t i = 0; i < ti_shape_symbols(f); i++) {
        ti_shape_symbol(f, i, &call);
        ti_builder_symbol(b, &call);
    }
    return true;
}

/* -------------------------------------------------------------------- shape -- */

static void put_word(struct ti_builder *b, uint64_t word)
{
    if (TI_ROOM(b->word, &b->words_cap, b->nnodes + 1))
        b->word[b->nnodes++] = word;
    else
        b->no_memory = true;
    b->children[b->depth]++;
}

void ti_builder_loop(struct ti_builder *b)
{
    put_word(b, 0);
    b->begun++;
    if (b->depth == TI_SHAPE_DEPTH) {
        b->wrong = true;
        return;
    }
    b->open[++b->depth] = b->nnodes - 1;
    b->children[b->depth] = 0;
}

void ti_builder_end_loop(struct ti_builder *b)
{
    b->wrong |= b->depth == 0;
    if (b->wrong || b->no_memory)
        return;
    b->word[b->open[b->depth]] = b->children[b->depth] << 1 | 1;
    b->depth--;
}

uint32_t ti_builder_call(struct ti_builder *b, uint32_t symbol)
{
    uint32_t arrivals = 1 + b->begun;

    put_word(b, (uint64_t)symbol << 1);
    b->begun = 0;
    return arrivals;
}

void ti_builder_column(struct ti_builder *b, const struct ti_column *c, const struct ti_quality *q)
{
    static const struct ti_quality exact = {TI_EXACT, 0};
    int64_t first;

    q = q ? q : &exact;
    b->inexact |= q->kind != TI_EXACT;
    ti_quality_put(&b->shape.blobs, c, q, &first);
    ti__end_blob(&b->shape);
    ti__put_number(&b->shape, first);
}

void ti_builder_encoded(struct ti_builder *b, int64_t first, const struct ti_bytes *blob)
{
    b->inexact |= blob->n && blob->data[0] <= TI_HISTOGRAM;
    put_blob(&b->shape, blob->data, blob->n);
    ti__put_number(&b->shape, first);
}

void ti_builder_no_memory(struct ti_builder *b)
{
    b->no_memory = true;
}

/* ------------------------------------------------------------------- record -- */

static void put_tables(struct parts *p, struct ti_builder *b)
{
    bool have = b->end != TI_END_KILLED;

    ti_buffer_varint(&p->pattern, b->inexact ? TI_RECORD_VERSION : TI_RECORD_EXACT);
    put_byte(p, (uint8_t)b->end);
    put_byte(p, have);
    if (have)
        ti__put_number(p, (int64_t)b->hash);
    ti_buffer_varint(&p->pattern, b->npairs[0] + b->npairs[1]);
    ti_buffer_varint(&p->pattern, b->npairs[0]);
    for (int i = 0; i < 2; i++)
        ti_buffer_join(&p->pattern, &b->keys[i]);
    for (int i = 0; i < 2; i++)
        join(p, &b->value[i]);
    ti_buffer_varint(&p->pattern, b->ncomms);
    join(p, &b->comms);
    for (int i = 0; i < 3; i++) {
        ti_buffer_varint(&p->pattern, b->nstrings[i]);
        join(p, &b->strings[i]);
    }
    ti_buffer_varint(&p->pattern, b->nvolumes);
}

/* Turn parts into a record, which is one piece of memory; false when memory is short. */
static bool finish(const struct parts *p, uint32_t rank, struct ti_record *out)
{
    size_t numbers = p->nnumbers * sizeof *p->number, cap = 0, at = 0;
    size_t blobs = p->nblobs * sizeof(struct ti_bytes);
    uint8_t *memory = NULL, *number, *pattern, *bytes;
    struct ti_bytes *blob;

    if (!TI_ROOM(memory, &cap, numbers + blobs + p->pattern.n + p->blobs.n + 1))
        return false;
    blob = (struct ti_bytes *)(void *)memory;
    number = memory + blobs;
    pattern = number + numbers;
    bytes = pattern + p->pattern.n;
    for (size_t i = 0; i < p->nblobs; at = p->blob_end[i++])
        blob[i] = (struct ti_bytes){bytes + at, p->blob_end[i] - at};
    if (numbers)
        memcpy(number, p->number, numbers);
    if (p->pattern.n)
        memcpy(pattern, p->pattern.data, p->pattern.n);
    if (p->blobs.n)
        memcpy(bytes, p->blobs.data, p->blobs.n);
    *out = (struct ti_record){
        .rank = rank,
        .pattern = {pattern, p->pattern.n},
        .number = (int64_t *)(void *)number,
        .nnumbers = p->nnumbers,
        .blob = blob,
        .nblobs = p->nblobs,
        .memory = memory,
    };
    return true;
}

static bool fits(const struct parts *p)
{
    size_t start = 0;

    for (size_t i = 0; i < p->nblobs; start = p->blob_end[i++])
        if (p->blob_end[i] - start > TI_BLOB_MAX)
            return false;
    return p->nnumbers + p->nblobs <= TI_COLUMNS_MAX && p->pattern.n <= TI_PATTERN_MAX &&
           p->pattern.n + p->blobs.n <= TI_RECORD_MAX;
}

bool ti__builder_record(struct ti_builder *b, bool core, struct ti_record *out)
{
    struct parts p = {.nnumbers = 0};
    bool fine = !b->wrong && !b->depth;

    if (!core)
        put_tables(&p, b);
    ti__put_vectors(&p, b);
    ti_buffer_varint(&p.pattern, b->nsymbols);
    join(&p, &b->symbols);
    ti_buffer_varint(&p.pattern, b->children[0]);
    for (size_t i = 0; i < b->nnodes; i++)
        ti_buffer_varint(&p.pattern, b->word[i]);
    join(&p, &b->shape);
    b->no_memory |= p.no_memory || p.pattern.no_memory || p.blobs.no_memory;
    fine = fine && !b->no_memory && fits(&p);
    if (fine)
        b->no_memory = !finish(&p, b->rank, out);
    free_parts(&p);
    return fine && !b->no_memory;
}

/* --------------------------------------------------------------------- hash -- */

static const char hashing[] = "read the record of a rank";

ti_status ti_record_rehash(struct ti_record *record, uint32_t nranks, uint64_t most,
                           struct ti_err *err)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    struct ti_event ev;
    uint64_t hash = TI_HASH_START;
    int more = 0;
    const char *wrong;
    bool no_memory;

    errno = 0;
    wrong = ti_folded_open(record, nranks, &f, &tables);
    if (wrong && errno == ENOMEM)
        return ti_err_memory(err, hashing);
    if (wrong)
        return ti_err_set(err, TI_ERR_INPUT, "rank %u: %s", record->rank, wrong);
    if (tables.have_totals && ti_folded_events(f) > most)
        hash = ti_record_hash(record);
    else
        while (tables.have_totals && (more = ti_folded_next(f, &ev)) > 0)
            hash = ti_hash_event(hash, &ev);
    if (tables.have_totals)
        ti_record_set(record, 0, (int64_t)hash);
    no_memory = ti_folded_no_memory(f);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    if (no_memory)
        return ti_err_memory(err, hashing);
    return more < 0
               ? ti_err_set(err, TI_ERR_INPUT, "rank %u: its record is malformed", record->rank)
               : TI_OK;
}

ti_status ti_builder_finish(struct ti_builder *b, uint32_t nranks, uint64_t hash_most,
                            struct ti_record *out, struct ti_err *err)
{
    ti_status st;

    if (!ti__builder_record(b, false, out))
        return b->no_memory
                   ? ti_err_memory(err, "make the record of a rank")
                   : ti_err_set(err, TI_ERR_INPUT,
                                "rank %u does not fit the limits of a merged trace", b->rank);
    st = ti_record_rehash(out, nranks, hash_most, err);
    if (st)
        ti_record_free(out);
    return st;
}
