#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "event/columns.h"
#include "trace/reader_internal.h"

#define NO_SYMBOL UINT32_MAX

/* Add a column, whose size is at *p.  place_columns() sets its address later. */
static bool add_column(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    uint64_t bytes;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_CHUNK_RAW_MAX || d->ncols == COLS_MAX)
        return false;
    d->col = ti_grow(d->col, &d->cols_cap, d->ncols + 1, sizeof *d->col);
    d->col[d->ncols++] = (struct column){.bytes = (uint32_t)bytes};
    return true;
}

static bool load_symbol(struct decoder *d, struct symbol *s, const uint8_t **p, const uint8_t *end)
{
    const struct ti_op_info *op;
    uint64_t v[4];
    int columns;

    for (int k = 0; k < 4; k++)
        if (!ti_get_varint(p, end, &v[k]) || v[k] > UINT32_MAX)
            return false;
    s->op = (uint32_t)v[0];
    s->site = (uint32_t)v[1];
    s->mask = (uint32_t)v[2];
    s->kinds = (uint32_t)v[3];
    s->next = NO_SYMBOL;
    s->col = (uint32_t)d->ncols;
    if (s->site > d->tables->sites.n || !ti_symbol_numbers(s->op, s->mask, s->kinds, &s->columns))
        return false;
    op = ti_op_info(s->op);
    columns = __builtin_popcount(s->columns);
    for (int i = 0; i < TI_VECS; i++)
        columns += op->vec[i][0] != '\0';
    for (; columns; columns--)
        if (!add_column(d, p, end))
            return false;
    return true;
}

static bool load_symbols(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    uint64_t n;

    if (!ti_get_varint(p, end, &n) || n > (uint64_t)(end - *p) || n > SYMS_MAX)
        return false;
    d->nsyms = (uint32_t)n;
    d->sym = calloc(n + 1, sizeof *d->sym);
    if (!d->sym)
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!load_symbol(d, &d->sym[i], p, end))
            return false;
    return true;
}

static inline uint32_t volume_slot(const struct decoder *d, uint32_t before, uint32_t symbol)
{
    uint32_t slot = (before * 0x9e3779b1u ^ symbol * 0x85ebca6bu) >> 7 & (d->vol_slots - 1);

    while (d->vol[slot].col && (d->vol[slot].before != before || d->vol[slot].symbol != symbol))
        slot = (slot + 1) & (d->vol_slots - 1);
    return slot;
}

static bool load_volumes(struct decoder *d, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, before, symbol;

    if (!ti_get_varint(p, end, &n) || n > COLS_MAX)
        return false;
    for (d->vol_slots = 16; d->vol_slots < 2 * n;)
        d->vol_slots *= 2;
    d->vol = calloc(d->vol_slots, sizeof *d->vol);
    if (!d->vol)
        return false;
    d->first_vol = (uint32_t)d->ncols;
    for (; n; n--) {
        uint32_t slot;

        if (!ti_get_varint(p, end, &before) || !ti_get_varint(p, end, &symbol) ||
            before > d->nsyms || symbol >= d->nsyms)
            return false;
        slot = volume_slot(d, (uint32_t)before, (uint32_t)symbol);
        if (d->vol[slot].col) /* column 0 is the sequence */
            return false;
        d->vol[slot] = (struct volume_key){(uint32_t)before, (uint32_t)symbol, (uint32_t)d->ncols};
        if (!add_column(d, p, end))
            return false;
    }
    return true;
}

static bool column_step(struct column *c)
{
    uint64_t step;

    c->more = c->at < c->end;
    if (!c->more)
        return true;
    if (!ti_get_varint(&c->at, c->end, &c->run) || !ti_get_varint(&c->at, c->end, &step))
        return false;
    c->step = ti_unzigzag(step);
    return true;
}

/* Set a column's data to *p, and advance *p past it. */
static bool place_column(struct column *c, const uint8_t **p, const uint8_t *end)
{
    if (c->bytes > (uint64_t)(end - *p))
        return false;
    c->at = *p;
    *p += c->bytes;
    c->end = *p;
    return true;
}

/* place_column() for all columns; their data must fill the rest of the payload. */
static bool place_columns(struct decoder *d, const uint8_t *p, const uint8_t *end)
{
    for (size_t i = 0; i < d->ncols; i++)
        if (!place_column(&d->col[i], &p, end) || (i > 0 && !column_step(&d->col[i])))
            return false;
    return p == end;
}

static bool sequence_step(struct decoder *d)
{
    uint64_t s;

    d->seq_more = d->seq < d->seq_end;
    if (!d->seq_more)
        return true;
    if (!ti_get_varint(&d->seq, d->seq_end, &d->seq_run) ||
        !ti_get_varint(&d->seq, d->seq_end, &s) || s >= d->nsyms)
        return false;
    d->seq_symbol = (uint32_t)s;
    return true;
}

bool ti__decoder_load(struct decoder *d, const struct ti_chunk *c, uint8_t *payload)
{
    const uint8_t *p = payload, *end = p + c->raw;

    d->payload = payload;
    if (c->events == 0 || !add_column(d, &p, end) || !load_symbols(d, &p, end) ||
        !load_volumes(d, &p, end) || !place_columns(d, p, end))
        return false;
    d->left = c->events;
    d->elements = ELEMENTS_MAX;
    memset(d->vec_of, 0, sizeof d->vec_of);
    d->prev = NO_SYMBOL;
    d->seq = d->col[0].at;
    d->seq_end = d->col[0].end;
    return sequence_step(d);
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

bool ti__decoder_load_extras(struct decoder *d, const struct ti_chunk *c)
{
    const uint8_t *p = d->xtr, *end;
    uint64_t extras, volumes, n, bytes;

    if (!p)
        return true;
    end = p + d->xtr_bytes;
    if (d->xtr_first != c->first || d->xtr_events != c->events ||
        !ti_get_varint(&p, end, &extras) || !ti_get_varint(&p, end, &volumes) ||
        extras != (uint64_t)d->tables->nextras || volumes != d->ncols - d->first_vol)
        return false;
    n = extras * volumes;
    if (n > (uint64_t)(end - p)) /* each size takes at least a byte */
        return false;
    d->beside = calloc(n + 1, sizeof *d->beside);
    if (!d->beside)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!ti_get_varint(&p, end, &bytes) || bytes > TI_CHUNK_RAW_MAX)
            return false;
        d->beside[i].bytes = (uint32_t)bytes;
    }
    for (uint64_t i = 0; i < n; i++)
        if (!place_column(&d->beside[i], &p, end) || !column_step(&d->beside[i]))
            return false;
    return p == end;
}

/* -------------------------------------------------------------- events -- */

static inline bool column_next(struct column *c, uint64_t *out)
{
    if (c->more) {
        if (c->run) {
            c->run--;
        } else {
            c->last += (uint64_t)c->step;
            *out = c->last;
            return column_step(c);
        }
    }
    *out = c->last;
    return true;
}

static bool next_symbol(struct decoder *d, uint32_t *out)
{
    if (!d->seq_more || d->seq_run) {
        if (d->seq_more)
            d->seq_run--;
        if (d->prev == NO_SYMBOL || d->sym[d->prev].next == NO_SYMBOL)
            return false;
        *out = d->sym[d->prev].next;
        return true;
    }
    *out = d->seq_symbol;
    if (d->prev != NO_SYMBOL)
        d->sym[d->prev].next = d->seq_symbol;
    return sequence_step(d);
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

/* Read the vector at *p into the buffer. */
static bool get_vec(struct decoder *d, const struct column *c, const uint8_t **p, int which)
{
    d->vec_buf[which] =
        ti_grow(d->vec_buf[which], &d->vec_cap[which], (size_t)c->len, sizeof *d->vec_buf[which]);
    d->vec_of[which] = c;
    return get_elements(p, c->end, d->vec_buf[which], c->len);
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
    const uint8_t *again = c->elements;

    if (fresh) {
        c->len = c->step;
        c->elements = c->at;
        if (c->len < 0)
            return next_long_vec(d, ~(uint64_t)c->len, which, out) && column_step(c);
    }
    /* a vector may repeat, so the bytes of the chunk do not limit the elements */
    if (c->len < 0 || c->len > TI_VEC_INLINE || (d->elements -= c->len) < 0)
        return false;
    if (fresh)
        ok = get_vec(d, c, &c->at, which) && column_step(c);
    else if (d->vec_of[which] != c)
        ok = get_vec(d, c, &again, which);
    if (!fresh && c->more)
        c->run--;
    *out = (struct ti_vec){d->vec_buf[which], 8, c->len};
    return ok;
}

/* Read the extra values of an event whose volume is in column `vol`. */
static bool decode_extras(struct decoder *d, uint32_t vol, struct ti_event *ev)
{
    struct column *c = &d->beside[(size_t)(vol - d->first_vol) * (size_t)d->tables->nextras];

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
    const struct ti_op_info *op;
    struct column *c;
    struct symbol *s;
    uint32_t number, slot, before, kinds;
    uint64_t v;

    if (d->used[0].data || d->used[1].data)
        free_used(d);
    if (!next_symbol(d, &number))
        return false;
    s = &d->sym[number];
    before = d->prev == NO_SYMBOL ? 0 : d->prev + 1;
    slot = volume_slot(d, before, number);
    if (!d->vol[slot].col || !column_next(&d->col[d->vol[slot].col], &ev->volume))
        return false;
    ev->extra = NULL;
    if (d->beside && !decode_extras(d, d->vol[slot].col, ev))
        return false;
    ev->op = s->op;
    ev->site = s->site;
    ev->mask = s->mask;
    c = &d->col[s->col];
    for (uint32_t rest = s->columns; rest; rest &= rest - 1) {
        if (!column_next(c++, &v))
            return false;
        ev->arg[__builtin_ctz(rest)] = (int64_t)v;
    }
    kinds = s->kinds;
#define SPECIAL(name)                                                                              \
    if (kinds & 3)                                                                                 \
        ev->arg[TI_F_##name] = TI_ANY + (int64_t)(kinds & 3) - 1;                                  \
    kinds >>= 2;
    if (kinds) {
        TI_SPECIALS(SPECIAL)
    }
#undef SPECIAL
    op = ti_op_info(s->op);
    for (int i = 0; i < TI_VECS; i++) {
        ev->vec[i] = (struct ti_vec){NULL, 8, 0};
        if (op->vec[i][0] && !next_vec(d, c++, i, &ev->vec[i]))
            return false;
    }
    d->prev = number;
    d->left--;
    return true;
}

void ti__decoder_drop(struct decoder *d)
{
    free(d->payload);
    free(d->sym);
    free(d->col);
    free(d->vol);
    free(d->xtr);
    free(d->beside);
    d->payload = d->xtr = NULL;
    d->sym = NULL;
    d->col = d->beside = NULL;
    d->ncols = d->cols_cap = 0;
    d->vol = NULL;
    d->left = 0;
}

void ti__decoder_free(struct decoder *d)
{
    ti__decoder_drop(d);
    free_used(d);
    for (int i = 0; i < TI_VECS; i++)
        free(d->vec_buf[i]);
}
