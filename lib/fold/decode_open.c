#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "event/buffer.h"
#include "fold/decode_internal.h"

#define MALFORMED "its record is malformed"
#define NO_MEMORY "memory is short"

/* Of a call site: TI_OFFSET_DIGITS hexadecimal digits. */
#define OFFSET_MOST ((INT64_C(1) << 4 * TI_OFFSET_DIGITS) - 1)

/* Parts of a record, in the order in which they are read. */
struct input {
    const uint8_t *at, *end; /* of the pattern */
    const int64_t *number, *numbers_end;
    const struct ti_bytes *blob, *blobs_end;

    /* The meanings of these, unless it is NULL.  `now` is the meaning of the next ones. */
    struct ti_record_parts *parts;
    struct ti_record_part now;

    bool no_memory; /* for the tables */
};

static void meaning(struct input *in, enum ti_part_kind kind, size_t of, uint32_t which)
{
    in->now =
        (struct ti_record_part){.kind = (uint8_t)kind, .which = (uint8_t)which, .of = (uint32_t)of};
}

/* An array without elements may be NULL, which has no end. */
static struct input start(const struct ti_record *r)
{
    struct input in = {.at = r->pattern.data, .number = r->number, .blob = r->blob};

    in.end = r->pattern.n ? in.at + r->pattern.n : in.at;
    in.numbers_end = r->nnumbers ? in.number + r->nnumbers : in.number;
    in.blobs_end = r->nblobs ? in.blob + r->nblobs : in.blob;
    return in;
}

/* Read a varint of the pattern; false if it is above `most`. */
static bool get(struct input *in, uint64_t most, uint64_t *out)
{
    return ti_get_varint(&in->at, in->end, out) && *out <= most;
}

/* get() for the number of things that take at least a byte each. */
static bool get_count(struct input *in, uint64_t *out)
{
    return get(in, (uint64_t)(in->end - in->at), out);
}

static bool get_byte(struct input *in, uint8_t *out)
{
    if (in->at == in->end)
        return false;
    *out = *in->at++;
    return true;
}

static bool next_number(struct input *in, int64_t low, int64_t high, int64_t *out)
{
    if (in->number == in->numbers_end)
        return false;
    if (in->parts)
        in->parts->number[in->parts->nnumbers - (size_t)(in->numbers_end - in->number)] = in->now;
    *out = *in->number++;
    return *out >= low && *out <= high;
}

static const struct ti_bytes *next_blob(struct input *in)
{
    if (in->blob == in->blobs_end)
        return NULL;
    if (in->parts)
        in->parts->blob[in->parts->nblobs - (size_t)(in->blobs_end - in->blob)] = in->now;
    return in->blob++;
}

bool ti_record_is_copy(const struct ti_record *record)
{
    struct input in = start(record);
    uint64_t version;

    return get(&in, TI_RECORD_COPY, &version) && in.at == in.end && record->nblobs > 0 &&
           record->nnumbers == 0;
}

/* ----------------------------------------------------------------- tables -- */

/* These append to a table; see in->no_memory. */
static void put(struct input *in, struct ti_buffer *out, const void *data, size_t bytes)
{
    in->no_memory |= !ti_buffer_try(out, data, bytes);
}

static void put_varint(struct input *in, struct ti_buffer *out, uint64_t v)
{
    uint8_t bytes[TI_VARINT_MAX];

    put(in, out, bytes, (size_t)ti_put_varint(bytes, v));
}

static void put_text(struct input *in, struct ti_buffer *out, const struct ti_bytes *text)
{
    put_varint(in, out, text->n);
    put(in, out, text->data, text->n);
}

static void put_u64(struct input *in, struct ti_buffer *out, uint64_t value)
{
    uint8_t bytes[8];

    ti_put_u64(bytes, value);
    put(in, out, bytes, sizeof bytes);
}

/* Make what precedes the metadata in TOT. */
static bool read_totals(struct input *in, struct ti_folded_tables *t)
{
    uint8_t end, have;
    int64_t value;

    if (!get_byte(in, &end) || !get_byte(in, &have) || end >= TI_END_COUNT || have > 1 ||
        have != (end != TI_END_KILLED))
        return false;
    t->end = (enum ti_end)end;
    t->have_totals = have;
    if (!have)
        return true;
    meaning(in, TI_PART_HASH, 0, 0);
    if (!next_number(in, INT64_MIN, INT64_MAX, &value))
        return false;
    put_u64(in, &t->totals, 0); /* volume and events are set when they are known */
    put_u64(in, &t->totals, 0);
    put_u64(in, &t->totals, (uint64_t)value);
    put(in, &t->totals, &end, 1);
    return true;
}

/* Put a number with `decimals` decimals as text; false if it is none. */
static bool put_decimal(struct input *in, struct ti_buffer *out, int64_t number, uint32_t decimals)
{
    uint64_t unit = 1;
    char text[48];

    if (number < 0 || decimals > TI_DECIMALS_MAX)
        return false;
    for (uint32_t i = 0; i < decimals; i++)
        unit *= 10;
    snprintf(text, sizeof text, "%" PRIu64, (uint64_t)number / unit);
    if (decimals)
        snprintf(text + strlen(text), sizeof text - strlen(text), ".%0*" PRIu64, (int)decimals,
                 (uint64_t)number % unit);
    put_text(in, out, &(struct ti_bytes){(uint8_t *)text, strlen(text)});
    return true;
}

static bool read_value(struct input *in, struct ti_buffer *out)
{
    const struct ti_bytes *text;
    int64_t number;
    uint8_t form;

    if (!get_byte(in, &form))
        return false;
    if (form)
        return next_number(in, 0, INT64_MAX, &number) && put_decimal(in, out, number, form - 1u);
    text = next_blob(in);
    if (text)
        put_text(in, out, text);
    return text != NULL;
}

static bool read_metadata(struct input *in, struct ti_folded_tables *t)
{
    const uint8_t *key, *end;
    uint64_t n, first;

    if (!get_count(in, &n) || !get(in, n, &first) || (first != n && !t->have_totals))
        return false;
    key = in->at;
    for (uint64_t i = 0; i < n; i++) {
        end = in->at < in->end ? memchr(in->at, 0, (size_t)(in->end - in->at)) : NULL;
        if (!end)
            return false;
        in->at = end + 1;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct ti_buffer *out = i < first ? &t->info : &t->totals;
        size_t bytes = strlen((const char *)key);

        put_text(in, out, &(struct ti_bytes){key, bytes});
        key += bytes + 1;
        meaning(in, TI_PART_INFO, i, 0);
        if (!read_value(in, out))
            return false;
    }
    return true;
}

static void put_run(struct input *in, struct ti_buffer *out, uint64_t n, int64_t difference,
                    int64_t stride)
{
    put_varint(in, out, n);
    put_varint(in, out, ti_zigzag(difference));
    if (n > 1)
        put_varint(in, out, ti_zigzag(stride));
}

/* A run of ranks: the first and the last one, their distance, and how many. */
struct ranks {
    int64_t first, last, stride;
    uint64_t n;
};

/* Append a rank to a run, if it continues the run. */
static bool extend(struct ranks *run, uint64_t rank)
{
    if (run->n == 1)
        run->stride = (int64_t)rank - run->last;
    else if ((int64_t)rank - run->last != run->stride)
        return false;
    run->last = (int64_t)rank;
    run->n++;
    return true;
}

/* Append the rest of the cursor's run, of at most `most` ranks, if it continues `run`; returns how
 * many ranks were appended. */
static uint64_t extend_by_run(struct ranks *run, struct ti_cursor *cursor, uint64_t most)
{
    uint64_t n = cursor->left < most ? cursor->left : most;

    if (run->n == 1 || !n || (int64_t)cursor->stride != run->stride)
        return 0;
    cursor->left -= n;
    cursor->last += n * cursor->stride;
    run->n += n;
    run->last = (int64_t)cursor->last;
    return n;
}

/* Turn a column of `size` ranks, at least 1, into members as in COM. */
static bool put_members(struct input *in, struct ti_buffer *out, int64_t size)
{
    const struct ti_bytes *blob = next_blob(in);
    int64_t before = 0, number;
    struct ranks run = {.n = 0};
    struct ti_cursor cursor;
    uint64_t rank;

    if (!blob || !next_number(in, 0, TI_RANKS_MAX, &number))
        return false;
    ti_cursor_start(&cursor, (uint64_t)number, blob->data, blob->n);
    for (uint64_t i = 0; i < (uint64_t)size; i++) {
        if (!ti_cursor_next(&cursor, &rank) || rank > TI_RANKS_MAX)
            return false;
        if (run.n && !extend(&run, rank)) {
            put_run(in, out, run.n, run.first - before, run.stride);
            before = run.last;
            run.n = 0;
        }
        if (!run.n)
            run = (struct ranks){(int64_t)rank, (int64_t)rank, 0, 1};
        i += extend_by_run(&run, &cursor, (uint64_t)size - i - 1);
        if (run.last < 0 || run.last > TI_RANKS_MAX)
            return false;
    }
    put_run(in, out, run.n, run.first - before, run.stride);
    return true;
}

/* *members: how many there may be still. */
static bool read_comm(struct input *in, uint32_t nranks, size_t number, int64_t *members,
                      struct ti_buffer *out)
{
    uint64_t index;
    uint8_t kind, inter;
    int64_t rank, size, remote_size = 0;

    meaning(in, TI_PART_COMM_RANK, number, 0);
    if (!get(in, TI_RANKS_MAX, &index) || !get_byte(in, &kind) || !get_byte(in, &inter) ||
        !next_number(in, 0, nranks, &rank) || inter != (kind == TI_KIND_INTER))
        return false;
    meaning(in, TI_PART_COMM_SIZE, number, 0);
    if (!next_number(in, 1, nranks, &size))
        return false;
    meaning(in, TI_PART_REMOTE_SIZE, number, 0);
    if (inter && !next_number(in, 1, nranks, &remote_size))
        return false;
    *members -= size + remote_size;
    if (*members < 0)
        return false;
    put_varint(in, out, index);
    put_varint(in, out, (uint64_t)rank);
    put_varint(in, out, (uint64_t)size);
    put(in, out, &kind, 1);
    meaning(in, TI_PART_MEMBERS, number, 0);
    if (!put_members(in, out, size))
        return false;
    if (!inter)
        return true;
    put_varint(in, out, (uint64_t)remote_size);
    meaning(in, TI_PART_REMOTE_MEMBERS, number, 0);
    return put_members(in, out, remote_size);
}

static bool read_comms(struct input *in, uint32_t nranks, struct ti_folded_tables *t)
{
    int64_t members = TI_RECORD_MEMBERS;
    uint64_t n;

    if (!get_count(in, &n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!read_comm(in, nranks, i, &members, &t->comms))
            return false;
    return true;
}

/* Put the text of a call site with its offset; false if there is no place for it. */
static bool put_site(struct input *in, struct ti_buffer *out, const struct ti_bytes *text,
                     int64_t offset)
{
    const size_t mark = strlen(TI_OFFSET_MARK);
    const uint8_t *found = text->n ? memmem(text->data, text->n, TI_OFFSET_MARK, mark) : NULL;
    char digits[24];
    size_t before, n;

    if (!found)
        return false;
    before = (size_t)(found - text->data) + mark;
    n = (size_t)snprintf(digits, sizeof digits, "%" PRIx64, (uint64_t)offset);
    put_varint(in, out, text->n + n);
    put(in, out, text->data, before);
    put(in, out, digits, n);
    put(in, out, text->data + before, text->n - before);
    return true;
}

static bool read_strings(struct input *in, struct ti_folded_tables *t, uint64_t *sites)
{
    static const uint8_t kinds[] = {TI_STRING_SITE, TI_STRING_CALL, TI_STRING_FILE};
    static const enum ti_part_kind parts[] = {TI_PART_SITE, TI_PART_CALL, TI_PART_FILE};
    uint64_t n[sizeof kinds];

    for (size_t k = 0; k < sizeof kinds; k++)
        if (!get(in, (uint64_t)(in->blobs_end - in->blob), &n[k]))
            return false;
    *sites = n[0];
    for (size_t k = 0; k < sizeof kinds; k++) {
        for (uint64_t i = 1; i <= n[k]; i++) {
            int64_t offset = -1;
            const struct ti_bytes *text;

            meaning(in, parts[k], i, 0);
            text = next_blob(in);
            if (!text || (kinds[k] == TI_STRING_SITE && !next_number(in, -1, OFFSET_MOST, &offset)))
                return false;
            put_varint(in, &t->strings, i);
            put(in, &t->strings, &kinds[k], 1);
            if (offset < 0)
                put_text(in, &t->strings, text);
            else if (!put_site(in, &t->strings, text, offset))
                return false;
        }
    }
    return true;
}

/* ------------------------------------------------------- vectors and symbols -- */

static bool read_volumes(struct input *in, struct ti_folded *f)
{
    uint64_t volumes;

    if (!get(in, TI_EXTRAS_MAX + 1, &volumes) || volumes == 0)
        return false;
    f->nvolumes = (uint32_t)volumes;
    return true;
}

static bool read_vectors(struct input *in, struct ti_folded *f)
{
    static const struct ti_bounds lengths = {0, TI_RECORD_VECTORS};
    uint64_t elements;
    int64_t n, first[VECTOR_COLUMNS];

    meaning(in, TI_PART_VECTORS, 0, 0);
    if (!next_number(in, 0, TI_RECORD_VECTORS, &n))
        return false;
    f->nvectors = (size_t)n;
    f->vector_first = in->number;
    f->vector_blob = in->blob;
    for (uint32_t i = 0; i < VECTOR_COLUMNS; i++) {
        meaning(in, TI_PART_LENGTHS + i, 0, 0); /* their order is that of the columns */
        if (!next_number(in, INT64_MIN, INT64_MAX, &first[i]) || !next_blob(in))
            return false;
    }
    return ti_column_sum((uint64_t)first[0], f->vector_blob->data, f->vector_blob->n, f->nvectors,
                         &lengths, &f->runs, &elements) &&
           elements <= TI_RECORD_VECTORS;
}

static bool read_constants(struct input *in, struct ti_folded *f, struct symbol *s)
{
    uint32_t numbers = ti_symbol_numbers(&s->is);

    s->constants = f->nconstants;
    s->nconstants = (uint32_t)__builtin_popcount(s->is.mask & ~s->columns);
    f->nconstants += s->nconstants;
    if (!TI_ROOM(f->constant, &f->constants_cap, f->nconstants))
        return false;
    for (uint32_t rest = s->is.mask & ~s->columns, i = s->constants; rest; rest &= rest - 1, i++) {
        struct constant *c = &f->constant[i];

        c->field = (uint32_t)__builtin_ctz(rest);
        c->value = ti_kind_value(s->is.kinds, c->field);
        meaning(in, TI_PART_FIELD, (size_t)(s - f->symbol), c->field);
        if (numbers & 1u << c->field && !next_number(in, INT64_MIN, INT64_MAX, &c->value))
            return false;
    }
    return true;
}

static bool read_symbol(struct input *in, struct ti_folded *f, struct symbol *s, uint64_t sites)
{
    uint64_t number[4], columns, vectors;

    for (int k = 0; k < 4; k++)
        if (!get(in, UINT32_MAX, &number[k]))
            return false;
    if (!ti_symbol_read(number, sites, &s->is) || !get(in, UINT32_MAX, &columns) ||
        !get(in, UINT32_MAX, &vectors) || columns & ~ti_symbol_numbers(&s->is) ||
        vectors & ~(uint32_t)s->is.vecs)
        return false;
    s->columns = (uint32_t)columns;
    s->vector_columns = (uint32_t)vectors;
    if (!read_constants(in, f, s))
        return false;
    for (uint32_t rest = s->is.vecs; rest; rest &= rest - 1) {
        int v = __builtin_ctz(rest);
        bool column = vectors & rest & -rest;

        s->vector_is[v] = column ? VECTOR_COLUMN : VECTOR_CONSTANT;
        meaning(in, TI_PART_VECTOR, (size_t)(s - f->symbol), (uint32_t)v);
        if (!column && !next_number(in, 0, (int64_t)f->nvectors - 1, &s->vector[v]))
            return false;
    }
    return true;
}

static bool read_symbols(struct input *in, struct ti_folded *f, uint64_t sites)
{
    uint64_t n;

    /* a symbol has a leaf, which has a column */
    if (!get(in, (uint64_t)(in->blobs_end - in->blob), &n))
        return false;
    f->symbol = calloc(n + 1, sizeof *f->symbol);
    if (!f->symbol)
        return false;
    f->nsymbols = n;
    for (uint64_t i = 0; i < n; i++)
        if (!read_symbol(in, f, &f->symbol[i], sites))
            return false;
    return true;
}

/* -------------------------------------------------------------------- shape -- */

/* A list of nodes being read. */
struct level {
    uint64_t left;   /* nodes still to come */
    uint64_t passes; /* of the list */
    uint32_t loop;
};

/* Take `n` columns for a node; false if the record has not so many. */
static bool take_columns(struct input *in, struct ti_folded *f, struct node *node, size_t n)
{
    if (n > (size_t)(in->blobs_end - in->blob) || n > (size_t)(in->numbers_end - in->number))
        return false;
    node->cursor = (uint32_t)f->ncolumns;
    f->ncolumns += n;
    in->blob += n;
    in->number += n;
    return true;
}

static bool read_leaf(struct input *in, struct ti_folded *f, struct node *leaf, uint64_t symbol,
                      uint32_t loops)
{
    const struct symbol *s;
    size_t columns;

    if (symbol >= f->nsymbols)
        return false;
    s = &f->symbol[symbol];
    leaf->symbol = (uint32_t)symbol;
    leaf->arrivals = loops + 1;
    columns = (size_t)leaf->arrivals * f->nvolumes + (size_t)__builtin_popcount(s->columns);
    for (int v = 0; v < TI_VECS; v++)
        columns += s->vector_is[v] == VECTOR_COLUMN;
    f->events += leaf->passes;
    return take_columns(in, f, leaf, columns);
}

/* Read the head of a loop; *passes is set to how often the program passed its body. */
static bool read_loop(struct input *in, struct ti_folded *f, struct node *loop, uint64_t *passes)
{
    static const struct ti_bounds bounds = {1, TI_RECORD_EVENTS};
    const int64_t *first = in->number;
    const struct ti_bytes *blob = in->blob;

    loop->symbol = LOOP;
    return take_columns(in, f, loop, 1) && ti_column_sum((uint64_t)*first, blob->data, blob->n,
                                                         loop->passes, &bounds, &f->runs, passes);
}

/* Read the shape.  Returns what is wrong. */
static const char *read_nodes(struct input *in, struct ti_folded *f)
{
    struct level level[TI_SHAPE_DEPTH + 1] = {{.passes = 1}};
    uint32_t depth = 0, loops = 0;
    uint64_t word, passes;

    f->column_first = in->number;
    f->column_blob = in->blob;
    if (!get_count(in, &level[0].left))
        return MALFORMED;
    while (level[0].left || depth) {
        struct node *node = &f->node[f->nnodes];

        if (level[depth].left == 0) {
            f->node[level[depth--].loop].end = (uint32_t)f->nnodes;
            continue;
        }
        level[depth].left--;
        node->passes = level[depth].passes;
        if (!get(in, UINT32_MAX, &word))
            return MALFORMED;
        f->nnodes++;
        if (word & 1) {
            if (word == 1 || depth == TI_SHAPE_DEPTH || !read_loop(in, f, node, &passes))
                return MALFORMED;
            level[++depth] = (struct level){word >> 1, passes, (uint32_t)(node - f->node)};
            loops++;
        } else {
            if (!read_leaf(in, f, node, word >> 1, loops))
                return MALFORMED;
            loops = 0;
        }
        if (level[depth].passes > TI_RECORD_EVENTS || f->events > TI_RECORD_EVENTS)
            return "its loops claim more than 2^44 events";
    }
    return NULL;
}

/* Volumes and extra values may be histograms. */
static bool read_histograms(struct ti_folded *f, const struct node *node)
{
    size_t column = node->cursor;

    if (node->symbol == LOOP)
        return true;
    for (uint32_t a = 0; a < node->arrivals; a++)
        for (uint32_t i = 0; i < f->nvolumes; i++, column++)
            if (!ti_draw_new((uint64_t)f->column_first[column], f->column_blob[column].data,
                             f->column_blob[column].n, ti__leaf_arrivals(node, a),
                             &f->cursor[column].draw) ||
                (f->parts && f->cursor[column].draw)) /* chunks are exact */
                return false;
    return true;
}

static const char *read_shape(struct input *in, struct ti_folded *f)
{
    size_t most = (size_t)(in->blobs_end - in->blob); /* a node has a column */
    const char *wrong;

    f->node = calloc(most + 1, sizeof *f->node);
    if (!f->node)
        return NO_MEMORY;
    wrong = read_nodes(in, f);
    if (wrong)
        return wrong;
    f->end = (uint32_t)f->nnodes;
    f->cursor = calloc(f->ncolumns + 1, sizeof *f->cursor);
    if (!f->cursor)
        return NO_MEMORY;
    for (size_t i = 0; i < f->ncolumns; i++)
        ti_cursor_start(&f->cursor[i], (uint64_t)f->column_first[i], f->column_blob[i].data,
                        f->column_blob[i].n);
    for (size_t i = 0; i < f->nnodes; i++)
        if (!read_histograms(f, &f->node[i]))
            return MALFORMED;
    ti_folded_seed(f, 0);
    return NULL;
}

/* --------------------------------------------------------------------- open -- */

static bool is_at_end(const struct input *in)
{
    return in->at == in->end && in->number == in->numbers_end && in->blob == in->blobs_end;
}

static const char *open_record(const struct ti_record *record, uint32_t nranks,
                               struct ti_record_parts *parts, struct ti_folded *f,
                               struct ti_folded_tables *t)
{
    struct input in = start(record);
    uint64_t version, sites, volume;
    const char *wrong;

    in.parts = parts;
    if (!ti_get_varint(&in.at, in.end, &version))
        return MALFORMED;
    if (version < TI_RECORD_EXACT || version > TI_RECORD_VERSION)
        return "its record has a version that this Tiara cannot read: use a newer one";
    if (!read_totals(&in, t) || !read_metadata(&in, t) || !read_comms(&in, nranks, t) ||
        !read_strings(&in, t, &sites) || !read_volumes(&in, f) || !read_vectors(&in, f) ||
        !read_symbols(&in, f, sites))
        return MALFORMED;
    if (in.no_memory)
        return NO_MEMORY;
    wrong = read_shape(&in, f);
    if (wrong)
        return wrong;
    if (!is_at_end(&in))
        return MALFORMED;
    if (!ti__sum_volumes(f, &volume))
        return MALFORMED;
    if (t->have_totals) {
        ti_put_u64(t->totals.data, volume);
        ti_put_u64(t->totals.data + 8, f->events);
    }
    return NULL;
}

/* -------------------------------------------------------------------- chunk -- */

/* Read how many numbers or blobs follow, each of a byte at least. */
static bool get_number_of(const uint8_t **p, const uint8_t *end, uint64_t *n)
{
    return ti_get_varint(p, end, n) && *n <= (uint64_t)(end - *p);
}

/* Find the parts of the payload of a chunk. */
static bool read_parts(const uint8_t *p, const uint8_t *end, struct ti_folded *f, struct input *in)
{
    uint64_t pattern, numbers, blobs, value, i;
    struct ti_bytes *blob;
    int64_t *number;
    const uint8_t *at;

    if (!get_number_of(&p, end, &pattern))
        return false;
    in->at = p;
    in->end = p += pattern;
    if (!get_number_of(&p, end, &numbers) || numbers > TI_CHUNK_COLUMNS)
        return false;
    for (at = p, i = 0; i < numbers; i++)
        if (!ti_get_varint(&at, end, &value))
            return false;
    if (!get_number_of(&at, end, &blobs) || blobs > TI_CHUNK_COLUMNS)
        return false;
    f->parts = calloc(blobs * sizeof *blob + numbers * sizeof *number + 1, 1);
    if (!f->parts)
        return false;
    blob = f->parts;
    number = (int64_t *)(void *)(blob + blobs);
    *in = (struct input){in->at, in->end,      number,       number + numbers,
                         blob,   blob + blobs, .parts = NULL};
    for (i = 0; i < numbers && ti_get_varint(&p, end, &value); i++)
        number[i] = ti_unzigzag(value);
    for (i = 0; i < blobs; at += blob[i++].n) {
        if (!get_number_of(&at, end, &value))
            return false;
        blob[i] = (struct ti_bytes){at, value};
    }
    return at == end;
}

const char *ti_folded_open_chunk(const uint8_t *payload, size_t bytes, uint64_t sites,
                                 struct ti_folded **out)
{
    struct ti_folded *f = calloc(1, sizeof *f);
    uint64_t volume;
    struct input in;
    const char *wrong = MALFORMED;

    if (!f)
        return NO_MEMORY;
    f->runs = TI_RECORD_RUNS;
    if (read_parts(payload, payload + bytes, f, &in) && read_volumes(&in, f) &&
        read_vectors(&in, f) && read_symbols(&in, f, sites))
        wrong = read_shape(&in, f);
    if (!wrong && (!is_at_end(&in) || !ti__sum_volumes(f, &volume)))
        wrong = MALFORMED;
    if (wrong)
        ti_folded_close(f);
    else
        *out = f;
    return wrong;
}

const char *ti__folded_open(const struct ti_record *record, uint32_t nranks,
                            struct ti_record_parts *parts, struct ti_folded **out,
                            struct ti_folded_tables *tables)
{
    struct ti_folded *f = calloc(1, sizeof *f);
    const char *wrong;

    *tables = (struct ti_folded_tables){.end = TI_END_KILLED};
    if (!f)
        return NO_MEMORY;
    f->rank = record->rank;
    f->runs = TI_RECORD_RUNS;
    wrong = open_record(record, nranks, parts, f, tables);
    if (wrong) {
        ti_folded_close(f);
        ti_folded_tables_free(tables);
    } else {
        *out = f;
    }
    return wrong;
}

const char *ti_folded_open(const struct ti_record *record, uint32_t nranks, struct ti_folded **out,
                           struct ti_folded_tables *tables)
{
    return ti__folded_open(record, nranks, NULL, out, tables);
}

void ti_folded_tables_free(struct ti_folded_tables *t)
{
    free(t->info.data);
    free(t->totals.data);
    free(t->strings.data);
    free(t->comms.data);
    *t = (struct ti_folded_tables){.end = t->end, .have_totals = t->have_totals};
}
