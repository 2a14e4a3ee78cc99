#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "event/columns.h"
#include "trace/reader_internal.h"

#define NO_SYMBOL UINT32_MAX

/* -------------------------------------------------------------- tables -- */

/* Read how many bytes the chunk adds to a column. */
static bool load_bytes(struct column *c, const uint8_t **p, const uint8_t *end)
{
    uint64_t bytes;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_CHUNK_RAW_MAX - c->bytes)
        return false;
    c->added = (uint32_t)bytes;
    return true;
}

static bool add_column(struct decoder *d, bool copied, const uint8_t **p, const uint8_t *end)
{
    if (d->ncols == COLS_MAX || !TI_ROOM(d->col, &d->cols_cap, d->ncols + 1))
        return false;
    d->col[d->ncols] = (struct column){.copied = copied};
    return load_bytes(&d->col[d->ncols++], p, end);
}

static bool load_symbol(struct decoder *d, struct symbol *s, const uint8_t **p, const uint8_t *end)
{
    uint64_t number[4];
    int numbers;

    for (int k = 0; k < 4; k++)
        if (!ti_get_varint(p, end, &number[k]))
            return false;
    if (!ti_symbol_read(number, (uint64_t)d->tables->sites.n, &s->is))
        return false;
    s->numbers = ti_symbol_numbers(&s->is);
    s->next = NO_SYMBOL;
    s->col = (uint32_t)d->ncols;
    numbers = __builtin_popcount(s->numbers);
    for (int i = 0; i < s->is.ncolumns; i++)
        if (!add_column(d, d->copies && i < numbers, p, end))
            return false;
    return true;
}

/* Known symbols, then new ones. */
static bool load_symbols(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    uint64_t n;

    for (size_t i = 0; i < d->nsyms; i++)
        for (uint32_t k = 0; k < d->sym[i].is.ncolumns; k++)
            if (!load_bytes(&d->col[d->sym[i].col + k], p, end))
                return false;
    if (!ti_get_varint(p, end, &n) || n > (uint64_t)(end - *p) || n > SYMS_MAX - d->nsyms)
        return false;
    if (!TI_ROOM(d->sym, &d->syms_cap, d->nsyms + n + 1))
        return false;
    for (; n; n--)
        if (!load_symbol(d, &d->sym[d->nsyms++], p, end))
            return false;
    return true;
}

/* The slot of a column of volumes, or the empty one where it would be. */
static inline uint32_t *volume_slot(const struct decoder *d, uint32_t before, uint32_t symbol)
{
    uint32_t slot = (before * 0x9e3779b1u ^ symbol * 0x85ebca6bu) >> 7 & (d->vol_slots - 1);

    for (; d->vol_slot[slot]; slot = (slot + 1) & (d->vol_slots - 1)) {
        const struct volume *v = &d->vol[d->vol_slot[slot] - 1];

        if (v->before == before && v->symbol == symbol)
            break;
    }
    return &d->vol_slot[slot];
}

/* Fill the hash table, which shall have room for `n` columns; false if it has one twice, or when
 * memory is short. */
static bool hash_volumes(struct decoder *d, size_t n)
{
    free(d->vol_slot);
    for (d->vol_slots = 16; d->vol_slots < 2 * n;)
        d->vol_slots *= 2;
    d->vol_slot = calloc(d->vol_slots, sizeof *d->vol_slot);
    if (!d->vol_slot)
        return false;
    for (uint32_t i = 0; i < d->nvols; i++) {
        uint32_t *slot = volume_slot(d, d->vol[i].before, d->vol[i].symbol);

        if (*slot)
            return false;
        *slot = i + 1;
    }
    return true;
}

/* Known columns of volumes, then new ones. */
static bool load_volumes(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, before, symbol;

    for (size_t i = 0; i < d->nvols; i++)
        if (!load_bytes(&d->col[d->vol[i].col], p, end))
            return false;
    if (!ti_get_varint(p, end, &n) || n > COLS_MAX ||
        !TI_ROOM(d->vol, &d->vols_cap, d->nvols + n + 1))
        return false;
    for (; n; n--) {
        if (!ti_get_varint(p, end, &before) || !ti_get_varint(p, end, &symbol) ||
            before > d->nsyms || symbol >= d->nsyms)
            return false;
        d->vol[d->nvols++] =
            (struct volume){(uint32_t)before, (uint32_t)symbol, (uint32_t)d->ncols};
        if (!add_column(d, d->copies, p, end))
            return false;
    }
    return hash_volumes(d, d->nvols);
}

/* ------------------------------------------------------------- columns -- */

static bool get_varint(const struct column *c, uint32_t *at, uint32_t end, uint64_t *out)
{
    const uint8_t *p = c->data + *at;
    bool fine = ti_get_varint(&p, c->data + end, out);

    *at = (uint32_t)(p - c->data);
    return fine;
}

static bool get_token(struct column *c, uint32_t *at, uint32_t end)
{
    const uint8_t *p = c->data + *at;

    if (__builtin_expect(end - *at >= 2 && !((p[0] | p[1]) & 0x80), 1)) { /* bytes of their own */
        c->run = p[0];
        c->word = p[1];
        *at += 2;
        return true;
    }
    return get_varint(c, at, end, &c->run) && get_varint(c, at, end, &c->word);
}

/* The next token of the part that is copied; false if it has none. */
static bool copy_token(struct column *c)
{
    uint64_t how;

    for (int wraps = 0; wraps < 2;) {
        if (c->next == c->stop) {
            c->next = c->begin;
            wraps++;
        } else if (!get_token(c, &c->next, c->stop)) {
            return false;
        } else if (c->word) {
            return true;
        } else if (!get_varint(c, &c->next, c->stop, &how)) {
            return false;
        }
    }
    return false;
}

/* Begin the copy at `item`, of which c->run is the count. */
static bool begin_copy(struct column *c, uint32_t item)
{
    uint64_t how;

    c->copies = c->run;
    if (c->run == 0 || !get_varint(c, &c->at, c->bytes, &how))
        return false;
    if (how >= TI_COPY_NEW) {
        how -= TI_COPY_NEW;
        if (how == 0 || how > item)
            return false;
        c->begin = c->next = item - (uint32_t)how;
        c->stop = item;
        return true;
    }
    for (; how; how--)
        if (!copy_token(c))
            return false;
    return true;
}

/* The next token of a column, which has one. */
static bool next_token(struct column *c)
{
    uint32_t item = c->at;

    c->more = true;
    if (!c->copies) {
        if (!get_token(c, &c->at, c->bytes))
            return false;
        if (c->word || !c->copied)
            return true;
        if (!begin_copy(c, item))
            return false;
    }
    c->copies--;
    return copy_token(c);
}

/* Advance to the next token of a column. */
static inline bool column_step(struct column *c)
{
    if (c->copies || c->at < c->bytes)
        return next_token(c);
    c->more = false;
    return true;
}

/* Go on with a column that has more data now.  Its next run has what was repeated before. */
static bool go_on(struct column *c)
{
    uint64_t repeats = c->repeats;

    if (!column_step(c))
        return false;
    if (!c->more)
        return true;
    c->repeats = 0;
    c->run -= repeats;
    return c->run <= UINT64_MAX - repeats;
}

/* Add the data at *p to a column, and advance *p past it.  *to is where all data of the column is
 * to be, and advances, too; NULL: where it is now. */
static bool place_column(struct column *c, const uint8_t **p, const uint8_t *end, uint8_t **to)
{
    if (c->added > (uint64_t)(end - *p))
        return false;
    if (*to) {
        if (c->bytes) /* the data of a new column is NULL */
            memcpy(*to, c->data, c->bytes);
        memcpy(*to + c->bytes, *p, c->added);
        c->data = *to;
        *to += c->bytes + c->added;
    } else {
        c->data = *p;
    }
    *p += c->added;
    c->bytes += c->added;
    return go_on(c);
}

static bool place_columns(struct decoder *d, const uint8_t *p, const uint8_t *end, uint8_t *to)
{
    if (!place_column(&d->col[0], &p, end, &to))
        return false;
    for (size_t i = 0; i < d->nsyms; i++)
        for (uint32_t k = 0; k < d->sym[i].is.ncolumns; k++)
            if (!place_column(&d->col[d->sym[i].col + k], &p, end, &to))
                return false;
    for (size_t i = 0; i < d->nvols; i++)
        if (!place_column(&d->col[d->vol[i].col], &p, end, &to))
            return false;
    return p == end;
}

/* Memory for the data of columns.  NULL when it is short, if they have more data than a writer
 * keeps, or if one was not read to its end. */
static uint8_t *new_data(const struct column *c, size_t n)
{
    size_t bytes = 1;

    for (size_t i = 0; i < n; i++) {
        if (c[i].more)
            return NULL;
        bytes += c[i].bytes + c[i].added;
    }
    return bytes <= STORE_MAX ? malloc(bytes) : NULL;
}

/* -------------------------------------------------------------- chunks -- */

/* Release what is known of columns so far. */
static void forget_columns(struct decoder *d)
{
    free(d->data);
    free(d->sym);
    free(d->col);
    free(d->vol);
    free(d->vol_slot);
    d->data = NULL;
    d->sym = NULL;
    d->col = NULL;
    d->vol = NULL;
    d->vol_slot = NULL;
    d->nsyms = d->syms_cap = d->ncols = d->cols_cap = d->nvols = d->vols_cap = 0;
    d->prev = NO_SYMBOL;
    d->left = 0;
}

static bool load_tables(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    bool sequence = d->ncols ? load_bytes(&d->col[0], p, end) : add_column(d, d->copies, p, end);

    return sequence && load_symbols(d, p, end) && load_volumes(d, p, end);
}

bool ti__decoder_load(struct decoder *d, const struct ti_chunk *c, uint8_t *payload)
{
    const uint8_t *p = payload, *end = p + c->raw;
    uint8_t *data = NULL;
    uint64_t goes_on = 0;
    bool known = d->ncols > 0 && d->copies, fine;

    d->copies = c->version >= TI_CHUNK_VERSION_COPIES;
    fine = c->events > 0 && (!d->copies || ti_get_varint(&p, end, &goes_on)) && goes_on <= known;
    if (!fine || !goes_on)
        forget_columns(d);
    fine = fine && load_tables(d, &p, end);
    if (fine && goes_on) {
        data = new_data(d->col, d->ncols);
        fine = data != NULL;
    }
    fine = fine && place_columns(d, p, end, data);
    if (goes_on) {
        free(d->data);
        free(payload);
    }
    d->data = goes_on ? data : payload;
    d->goes_on = goes_on;
    d->left = fine ? c->events : 0;
    d->elements = ELEMENTS_MAX;
    memset(d->vec_of, 0, sizeof d->vec_of);
    return fine;
}

bool ti__decoder_keep_extras(struct decoder *d, const struct ti_chunk *c, uint8_t *payload)
{
    if (d->xtr)
        return false;
    d->xtr = payload;
    d->xtr_first = c->first;
    d->xtr_events = c->events;
    d->xtr_bytes = c->raw;
    return true;
}

static void forget_extras(struct decoder *d)
{
    free(d->beside);
    free(d->beside_data);
    d->beside = NULL;
    d->beside_data = NULL;
    d->nbeside = 0;
}

/* The extra columns, after those of the chunk before if it goes on with these. */
static bool load_beside(struct decoder *d, size_t n, const uint8_t *p, const uint8_t *end)
{
    uint8_t *data, *to;
    size_t known = d->nbeside;
    struct column *beside = realloc(d->beside, (n + 1) * sizeof *beside);

    if (!beside)
        return false;
    d->beside = beside;
    d->nbeside = n;
    for (size_t i = known; i < n; i++)
        beside[i] = (struct column){.copied = d->copies};
    for (size_t i = 0; i < n; i++)
        if (!load_bytes(&beside[i], &p, end))
            return false;
    data = to = new_data(beside, n);
    if (!data)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!place_column(&beside[i], &p, end, &to)) {
            free(data);
            return false;
        }
    free(d->beside_data);
    d->beside_data = data;
    return p == end;
}

bool ti__decoder_load_extras(struct decoder *d, const struct ti_chunk *c)
{
    const uint8_t *p = d->xtr, *end;
    uint64_t extras, volumes;
    bool known = d->beside != NULL, fine = true;

    if (!d->goes_on || !p)
        forget_extras(d);
    if (!p)
        return true;
    end = p + d->xtr_bytes;
    if (d->xtr_first != c->first || d->xtr_events != c->events ||
        !ti_get_varint(&p, end, &extras) || !ti_get_varint(&p, end, &volumes) ||
        extras != (uint64_t)d->tables->nextras || volumes != d->nvols ||
        extras * volumes > (uint64_t)(end - p)) /* each size takes at least a byte */
        return false;
    if (!d->goes_on || known) /* else the chunk before had none to go on with */
        fine = load_beside(d, extras * volumes, p, end);
    free(d->xtr);
    d->xtr = NULL;
    return fine;
}

/* -------------------------------------------------------------- events -- */

static inline bool column_next(struct column *c, uint64_t *out)
{
    if (!c->more) {
        c->repeats++;
    } else if (c->run) {
        c->run--;
    } else {
        c->last += (uint64_t)ti_unzigzag(c->word);
        *out = c->last;
        return column_step(c);
    }
    *out = c->last;
    return true;
}

static bool next_symbol(struct decoder *d, uint32_t *out)
{
    struct column *seq = &d->col[0];

    if (!seq->more || seq->run) {
        if (seq->more)
            seq->run--;
        else
            seq->repeats++;
        if (d->prev == NO_SYMBOL || d->sym[d->prev].next == NO_SYMBOL)
            return false;
        *out = d->sym[d->prev].next;
        return true;
    }
    if (seq->word - d->copies >= d->nsyms)
        return false;
    *out = (uint32_t)(seq->word - d->copies);
    if (d->prev != NO_SYMBOL)
        d->sym[d->prev].next = *out;
    return column_step(seq);
}

/* Read `len` elements at *p. */
static bool get_elements(const uint8_t **p, const uint8_t *end, int64_t *out, int64_t len)
{
    uint64_t run, step, last = 0;

    for (int64_t i = 0; i < len; out[i++] = (int64_t)last) {
        if (!ti_get_varint(p, end, &run) || run > (uint64_t)(len - i))
            return false;
        while (run--)
            out[i++] = (int64_t)last;
        if (i == len)
            break;
        if (!ti_get_varint(p, end, &step))
            return false;
        last += (uint64_t)ti_unzigzag(step);
    }
    return true;
}

/* Read the vector at *at into the buffer. */
static bool get_vec(struct decoder *d, const struct column *c, uint32_t *at, int which)
{
    const uint8_t *p = c->data + *at;
    bool fine;

    d->no_memory = !TI_ROOM(d->vec_buf[which], &d->vec_cap[which], (size_t)c->len);
    if (d->no_memory)
        return false;
    d->vec_of[which] = c;
    fine = get_elements(&p, c->data + c->bytes, d->vec_buf[which], c->len);
    *at = (uint32_t)(p - c->data);
    return fine;
}

static bool next_long_vec(struct decoder *d, uint64_t number, int which, struct ti_vec *out)
{
    struct long_vec *vec = &d->used[which];

    if (!ti__tables_use_vec(d->tables, number, vec))
        return false;
    *out = (struct ti_vec){vec->data, 8, vec->len};
    return true;
}

static bool next_vec(struct decoder *d, struct column *c, int which, struct ti_vec *out)
{
    bool fresh = c->more && c->run == 0, ok = true;
    uint32_t again = c->elements;

    if (fresh) {
        c->len = ti_unzigzag(c->word);
        c->elements = c->at;
        if (c->len < 0)
            return next_long_vec(d, ~(uint64_t)c->len, which, out) && column_step(c);
    }
    /* a vector may repeat, so the bytes of the chunk do not limit the elements */
    if (c->len < 0 || c->len > TI_VEC_INLINE || (!d->copies && (d->elements -= c->len) < 0))
        return false;
    if (fresh)
        ok = get_vec(d, c, &c->at, which) && column_step(c);
    else if (d->vec_of[which] != c)
        ok = get_vec(d, c, &again, which);
    if (!fresh && c->more)
        c->run--;
    else if (!fresh)
        c->repeats++;
    *out = (struct ti_vec){d->vec_buf[which], 8, c->len};
    return ok;
}

/* Read the extra values of an event whose volume is in column `vol` of these. */
static bool decode_extras(struct decoder *d, uint32_t vol, struct ti_event *ev)
{
    struct column *c = &d->beside[(size_t)vol * (size_t)d->tables->nextras];

    for (int i = 0; i < d->tables->nextras; i++)
        if (!column_next(&c[i], &d->extra_values[i]))
            return false;
    ev->extra = d->extra_values;
    return true;
}

static void free_used(struct decoder *d)
{
    for (int i = 0; i < TI_VECS; i++) {
        free(d->used[i].data);
        d->used[i].data = NULL;
    }
}

bool ti__decoder_next(struct decoder *d, struct ti_event *ev)
{
    struct column *c;
    struct symbol *s;
    uint32_t number, vol, before, kinds;
    uint64_t v;

    if (d->used[0].data || d->used[1].data)
        free_used(d);
    if (!next_symbol(d, &number))
        return false;
    s = &d->sym[number];
    before = d->prev == NO_SYMBOL ? 0 : d->prev + 1;
    vol = *volume_slot(d, before, number);
    if (!vol || !column_next(&d->col[d->vol[vol - 1].col], &ev->volume))
        return false;
    ev->extra = NULL;
    if (d->beside && !decode_extras(d, vol - 1, ev))
        return false;
    ev->op = s->is.op;
    ev->site = s->is.site;
    ev->mask = s->is.mask;
    c = &d->col[s->col];
    for (uint32_t rest = s->numbers; rest; rest &= rest - 1) {
        if (!column_next(c++, &v))
            return false;
        ev->arg[__builtin_ctz(rest)] = (int64_t)v;
    }
    kinds = s->is.kinds;
#define SPECIAL(name)                                                                              \
    if (kinds & 3)                                                                                 \
        ev->arg[TI_F_##name] = TI_ANY + (int64_t)(kinds & 3) - 1;                                  \
    kinds >>= 2;
    if (kinds) {
        TI_SPECIALS(SPECIAL)
    }
#undef SPECIAL
    for (int i = 0; i < TI_VECS; i++) {
        ev->vec[i] = (struct ti_vec){NULL, 8, 0};
        if (s->is.vecs >> i & 1 && !next_vec(d, c++, i, &ev->vec[i]))
            return false;
    }
    d->prev = number;
    d->left--;
    return true;
}

void ti__decoder_drop(struct decoder *d)
{
    forget_columns(d);
    forget_extras(d);
    free(d->xtr);
    d->xtr = NULL;
}

void ti__decoder_free(struct decoder *d)
{
    ti__decoder_drop(d);
    free_used(d);
    for (int i = 0; i < TI_VECS; i++)
        free(d->vec_buf[i]);
}
