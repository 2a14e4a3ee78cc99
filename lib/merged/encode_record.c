#include <stdlib.h>
#include <string.h>

#include "merged/encode_internal.h"
#include "merged/layout.h"

/* A record in the making. */
struct parts {
    struct ti_buffer pattern, blobs;
    int64_t *number;
    size_t nnumbers, numbers_cap;
    size_t *blob_end; /* in blobs */
    size_t nblobs, blobs_cap;
    bool too_large;
};

static void put_number(struct parts *p, int64_t number)
{
    p->number = ti_grow(p->number, &p->numbers_cap, p->nnumbers + 1, sizeof *p->number);
    p->number[p->nnumbers++] = number;
}

/* End the blob that consists of what was appended since the last one. */
static void end_blob(struct parts *p)
{
    size_t start = p->nblobs ? p->blob_end[p->nblobs - 1] : 0;

    p->blob_end = ti_grow(p->blob_end, &p->blobs_cap, p->nblobs + 1, sizeof *p->blob_end);
    p->blob_end[p->nblobs++] = p->blobs.n;
    p->too_large |= p->blobs.n - start > TI_BLOB_MAX;
}

static void put_blob(struct parts *p, const void *data, size_t bytes)
{
    ti_buffer_put(&p->blobs, data, bytes);
    end_blob(p);
}

static void put_varint(struct parts *p, uint64_t value)
{
    ti_buffer_varint(&p->pattern, value);
}

static void put_byte(struct parts *p, uint8_t byte)
{
    ti_buffer_put(&p->pattern, &byte, 1);
}

/* ----------------------------------------------------------------- tables -- */

static void put_totals(struct parts *p, const struct ti_reader *r)
{
    struct ti_totals totals;
    bool have = ti_reader_totals(r, &totals);

    put_byte(p, have ? (uint8_t)ti_reader_end(r) : TI_END_KILLED);
    put_byte(p, have);
    if (have)
        put_number(p, (int64_t)totals.hash);
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

static void put_value(struct parts *p, const char *value)
{
    int64_t number;
    uint8_t form = form_of(value, &number);

    put_byte(p, form);
    if (form)
        put_number(p, number);
    else
        put_blob(p, value, strlen(value));
}

/* Qualities that are not exact, and that the trace does not name yet, are metadata. */
static int name_qualities(const struct ti_encoder *e, const char *key[2], char text[2][32])
{
    const struct ti_quality *q[2] = {&e->want.volumes, &e->want.extras};
    static const char *const keys[2] = {"volumes", "extras"};
    int n = 0;

    for (int i = 0; i < 2; i++) {
        if (q[i]->kind == TI_EXACT || ti_reader_info(e->r, keys[i]) || (i == 1 && e->nvolumes == 1))
            continue;
        key[n] = keys[i];
        ti_quality_text(q[i], text[n++], sizeof text[0]);
    }
    return n;
}

/* Metadata of a record: that of INF, qualities, that of TOT. */
struct metadata {
    const struct ti_encoder *e;
    int n, first, qualities; /* in all, of INF, qualities */
    const char *key[2];      /* of qualities */
    char text[2][32];
};

static void metadata_at(const struct metadata *m, int i, const char **key, const char **value)
{
    if (i >= m->first && i < m->first + m->qualities) {
        *key = m->key[i - m->first];
        *value = m->text[i - m->first];
    } else {
        ti_reader_info_at(m->e->r, i < m->first ? i : i - m->qualities, key, value);
    }
}

static void put_metadata(struct parts *p, const struct ti_encoder *e)
{
    struct metadata m = {.e = e, .first = ti_reader_info_first(e->r)};
    const char *key, *value;

    while (ti_reader_info_at(e->r, m.n, &key, &value))
        m.n++;
    m.qualities = name_qualities(e, m.key, m.text);
    m.n += m.qualities;
    put_varint(p, (uint64_t)m.n);
    put_varint(p, (uint64_t)(m.first + m.qualities));
    for (int i = 0; i < m.n; i++) {
        metadata_at(&m, i, &key, &value);
        ti_buffer_put(&p->pattern, key, strlen(key) + 1);
    }
    for (int i = 0; i < m.n; i++) {
        metadata_at(&m, i, &key, &value);
        put_value(p, value);
    }
}

static void put_members(struct parts *p, const int32_t *member, int64_t size)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};

    for (int64_t i = 0; i < size; i++)
        ti_column_add(&pool, &column, (uint64_t)member[i]);
    put_number(p, (int64_t)ti_column_first(&column));
    ti_column_put(&p->blobs, &column);
    ti_pool_free(&pool);
    end_blob(p);
}

static void put_comms(struct parts *p, const struct ti_reader *r)
{
    const struct ti_comm *comm;
    int64_t n = 0;

    while (ti_reader_comm(r, n))
        n++;
    put_varint(p, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        comm = ti_reader_comm(r, i);
        put_varint(p, comm->index);
        put_byte(p, (uint8_t)comm->kind);
        put_byte(p, comm->remote != NULL);
        put_number(p, comm->rank);
        put_number(p, comm->size);
        if (comm->remote)
            put_number(p, comm->remote_size);
        put_members(p, comm->member, comm->size);
        if (comm->remote)
            put_members(p, comm->remote, comm->remote_size);
    }
}

/* Put the strings of a kind; returns how many there are. */
static uint64_t put_texts(struct parts *p, const struct ti_reader *r, enum ti_string kind)
{
    const char *text;
    int64_t n = 0;

    while ((text = ti_reader_string(r, kind, n + 1))) {
        put_blob(p, text, strlen(text));
        n++;
    }
    return (uint64_t)n;
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
        put_number(p, -1);
        put_blob(p, text, strlen(text));
        return;
    }
    put_number(p, strtoll(start, NULL, 16));
    ti_buffer_put(&p->blobs, text, (size_t)(start - text));
    put_blob(p, end, strlen(end));
}

static void put_strings(struct parts *p, const struct ti_reader *r, const struct ti_symbols *s)
{
    uint64_t calls, files;

    for (size_t i = 0; i < s->site_map.n; i++)
        put_site(p, ti_reader_string(r, TI_STRING_SITE, s->site_map.key[i][0]));
    calls = put_texts(p, r, TI_STRING_CALL);
    files = put_texts(p, r, TI_STRING_FILE);
    put_varint(p, s->site_map.n);
    put_varint(p, calls);
    put_varint(p, files);
}

/* ------------------------------------------------------- vectors and symbols -- */

static void put_column(struct parts *p, const struct ti_column *column)
{
    put_number(p, (int64_t)ti_column_first(column));
    ti_column_put(&p->blobs, column);
    end_blob(p);
}

/* Read `n` values of a column in memory. */
static int64_t *values_of(const struct ti_column *c, size_t n)
{
    size_t cap = 0, at = 0;
    int64_t *value = ti_grow(NULL, &cap, n + 1, sizeof *value);
    struct ti_run_iterator runs = ti_column_runs(c);
    const struct ti_column_run *run;

    while (at < n && (run = ti_run_next(&runs)))
        for (uint64_t k = 0; k < run->n && at < n; k++)
            value[at++] = (int64_t)(run->first + k * run->stride);
    return value;
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
    struct ti_buffer blob = {NULL, 0, 0};
    uint8_t plain = TI_PLAIN;

    for (size_t i = 0; i < n; i++)
        ti_column_add(&pool, &column, (uint64_t)value[i]);
    ti_column_put(&blob, &column);
    if (2 * blob.n <= values_bytes(value, NULL, n)) {
        put_number(p, (int64_t)ti_column_first(&column));
        ti_buffer_put(&p->blobs, blob.data, blob.n);
    } else {
        put_number(p, 0);
        ti_buffer_put(&p->blobs, &plain, 1);
        for (size_t i = 0; i < n; i++)
            ti_buffer_varint(&p->blobs, ti_zigzag(value[i]));
    }
    end_blob(p);
    ti_pool_free(&pool);
    free(blob.data);
}

static void put_vectors(struct parts *p, const struct ti_symbols *s)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column models = {.head = NULL};
    size_t n = s->vector_map.n, cap = 0, *start = ti_grow(NULL, &cap, n + 1, sizeof *start);
    size_t *model;
    int64_t *length = values_of(&s->vector_lengths, n);
    int64_t *value = values_of(&s->vector_elements, (size_t)s->elements);

    cap = 0;
    model = ti_grow(NULL, &cap, n + 1, sizeof *model);
    for (size_t v = 0; v < n; v++) {
        start[v + 1] = start[v] + (size_t)length[v];
        model[v] = choose_model(value, start, v);
        ti_column_add(&pool, &models, model[v]);
    }
    for (size_t v = n; v-- > 0;) /* models come before */
        for (size_t i = start[v]; model[v] && i < start[v + 1]; i++)
            value[i] =
                (int64_t)((uint64_t)value[i] - (uint64_t)value[i - start[v] + start[v - model[v]]]);
    put_number(p, (int64_t)n);
    put_column(p, &s->vector_lengths);
    put_column(p, &models);
    put_elements(p, value, start[n]);
    ti_pool_free(&pool);
    free(start);
    free(model);
    free(length);
    free(value);
}

static void put_symbols(struct parts *p, const struct ti_symbols *s)
{
    put_varint(p, s->symbol_map.n);
    for (size_t i = 0; i < s->symbol_map.n; i++) {
        const struct ti_symbol *symbol = &s->symbol[i];
        const struct ti_event_class *c = &s->class[symbol->class];
        int64_t site = c->site ? ti_map_find(&s->site_map, c->site, 0, 0, 0) + 1 : 0;

        put_varint(p, c->op);
        put_varint(p, (uint64_t)site);
        put_varint(p, c->mask);
        put_varint(p, c->kinds);
        put_varint(p, c->columns);
        put_varint(p, c->vector_columns);
        for (uint32_t k = 0; k < symbol->nvalues; k++)
            put_number(p, s->value[symbol->value + k]);
    }
}

/* -------------------------------------------------------------------- shape -- */

/* Put the columns of a node; those of volumes and extra values with their qualities.  Without
 * `extras`, extra values are left out, and volumes are exact. */
static void put_columns(struct parts *p, const struct ti_encoder *e,
                        const struct ti_fold_node *node, bool extras)
{
    static const struct ti_quality exact = {TI_EXACT, 0};
    uint32_t volumes = node->child ? 0 : node->arrivals * e->nvolumes;
    int64_t first;

    for (uint32_t i = 0; i < node->ncolumns; i++) {
        const struct ti_quality *q = i >= volumes || !extras ? &exact
                                     : i % e->nvolumes == 0  ? &e->want.volumes
                                                             : &e->want.extras;

        if (!extras && i < volumes && i % e->nvolumes)
            continue;
        ti_quality_put(&p->blobs, &node->column[i], q, &first);
        end_blob(p);
        put_number(p, first);
    }
}

/* Put nodes; false if their loops are too deep. */
static bool put_nodes(struct parts *p, const struct ti_encoder *e, const struct ti_fold_node *node,
                      bool extras, uint32_t depth)
{
    if (depth > TI_SHAPE_DEPTH)
        return false;
    for (; node; node = node->next) {
        put_varint(p,
                   node->child ? (uint64_t)node->nchildren << 1 | 1 : (uint64_t)node->symbol << 1);
        put_columns(p, e, node, extras);
        if (p->nnumbers + p->nblobs > TI_COLUMNS_MAX)
            return false;
        if (node->child && !put_nodes(p, e, node->child, extras, depth + 1))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- record -- */

/* Turn parts into a record, which is one piece of memory; releases the parts. */
static void finish(struct parts *p, uint32_t rank, struct ti_record *out)
{
    size_t numbers = p->nnumbers * sizeof *p->number, cap = 0, at = 0;
    size_t blobs = p->nblobs * sizeof(struct ti_bytes);
    uint8_t *memory = ti_grow(NULL, &cap, numbers + blobs + p->pattern.n + p->blobs.n + 1, 1);
    struct ti_bytes *blob = (struct ti_bytes *)(void *)memory;
    uint8_t *number = memory + blobs, *pattern = number + numbers, *bytes = pattern + p->pattern.n;

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
}

static void free_parts(struct parts *p)
{
    free(p->pattern.data);
    free(p->blobs.data);
    free(p->number);
    free(p->blob_end);
}

/* Whether all columns are lists of tokens. */
static bool is_exact(const struct ti_encoder *e)
{
    return e->want.volumes.kind == TI_EXACT &&
           (e->nvolumes == 1 || e->want.extras.kind == TI_EXACT);
}

bool ti__record_fold(const struct ti_encoder *e, const struct ti_fold_node *shape, uint64_t nodes,
                     struct ti_record *out)
{
    struct parts p = {.too_large = false};
    bool ok;

    put_varint(&p, is_exact(e) ? TI_RECORD_EXACT : TI_RECORD_VERSION);
    put_totals(&p, e->r);
    put_metadata(&p, e);
    put_comms(&p, e->r);
    put_strings(&p, e->r, &e->symbols);
    put_varint(&p, e->nvolumes);
    put_vectors(&p, &e->symbols);
    put_symbols(&p, &e->symbols);
    put_varint(&p, nodes);
    ok = put_nodes(&p, e, shape, true, 0) && !p.too_large && p.pattern.n <= TI_PATTERN_MAX &&
         p.pattern.n + p.blobs.n <= TI_RECORD_MAX;
    if (ok)
        finish(&p, ti_reader_rank(e->r), out);
    free_parts(&p);
    return ok;
}

bool ti__record_core(const struct ti_encoder *e, const struct ti_fold_node *shape, uint64_t nodes,
                     struct ti_record *out)
{
    struct parts p = {.too_large = false};
    bool ok;

    put_vectors(&p, &e->symbols);
    put_symbols(&p, &e->symbols);
    put_varint(&p, nodes);
    ok = put_nodes(&p, e, shape, false, 0);
    if (ok)
        finish(&p, ti_reader_rank(e->r), out);
    free_parts(&p);
    return ok;
}

void ti__record_copy(const struct ti_encoder *e, const uint8_t *data, size_t bytes,
                     struct ti_record *out)
{
    struct parts p = {.too_large = false};

    put_varint(&p, TI_RECORD_COPY);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < TI_BLOB_MAX ? bytes - at : TI_BLOB_MAX;
        put_blob(&p, data + at, n);
    }
    finish(&p, ti_reader_rank(e->r), out);
    free_parts(&p);
}
