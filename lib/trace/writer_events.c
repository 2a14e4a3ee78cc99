#include "trace/writer_internal.h"

#include <string.h>

/* --------------------------------------------------------------- symbols -- */

static uint16_t symbol_of(struct ti_writer *w, const struct ti_event *ev, uint32_t kinds)
{
    uint32_t hash = (ev->op * 0x9e3779b1u) ^ (ev->site * 0x85ebca6bu) ^ (ev->mask * 0xc2b2ae35u) ^
                    kinds * 0x27d4eb2fu;
    uint32_t slot = (hash ^ hash >> 15) & (SYM_SLOTS - 1);
    struct symbol *s;

    for (; w->sym_slot[slot] != NONE; slot = (slot + 1) & (SYM_SLOTS - 1)) {
        if (ti_symbol_is(&w->sym[w->sym_slot[slot]].is, ev, kinds))
            return w->sym_slot[slot];
    }
    if (w->nsyms == SYMS)
        return NONE;
    w->sym_slot[slot] = w->nsyms;
    s = &w->sym[w->nsyms];
    *s = (struct symbol){
        .is = ti_symbol_of(ev, kinds), .col = w->ncols, .next = NO_SYMBOL, .vol_prev = NONE};
    for (int i = 0; i < s->is.ncolumns; i++)
        ti__column_new(w);
    w->nsyms++;
    ti__look_for_room(w);
    return (uint16_t)(w->nsyms - 1);
}

/* --------------------------------------------------------------- volumes -- */

static __attribute__((noinline)) void extra_columns(struct ti_writer *w)
{
    for (int k = 0; k < w->extras; k++)
        ti__column_new(w);
}

static struct column *volume_column(struct ti_writer *w, uint16_t prev, uint16_t symbol)
{
    struct symbol *s = &w->sym[symbol];
    uint16_t before = prev == NO_SYMBOL ? 0 : (uint16_t)(prev + 1);
    struct column *c;
    uint32_t slot;

    if (s->vol_prev == prev)
        return &w->col[s->vol_col];
    slot = (before * 31u + symbol * 131u) & (VOL_SLOTS - 1);
    for (; w->vol_slot[slot] != NONE; slot = (slot + 1) & (VOL_SLOTS - 1)) {
        c = &w->col[w->vol_slot[slot]];
        if (c->before == before && c->symbol == symbol)
            break;
    }
    if (w->vol_slot[slot] == NONE) {
        w->vol_slot[slot] = w->ncols;
        c = ti__column_new(w);
        c->before = before;
        c->symbol = symbol;
        if (w->extras)
            extra_columns(w);
    }
    s->vol_prev = prev;
    s->vol_col = w->vol_slot[slot];
    return &w->col[s->vol_col];
}

/* --------------------------------------------------------------- vectors -- */

static void write_vec(struct ti_writer *w, const struct ti_vec *vec)
{
    int64_t last = 0;

    ti__chunk_begin(w, TI_CHUNK_VEC, TI_CODEC_ZLIB);
    ti__chunk_put_varint(w, ++w->vecs);
    ti__chunk_put_varint(w, (uint64_t)vec->len);
    for (int64_t i = 0; i < vec->len; i++) {
        int64_t v = ti_vec_at(vec, i);

        ti__chunk_put_varint(w, ti_zigzag((int64_t)((uint64_t)v - (uint64_t)last)));
        last = v;
    }
    ti__chunk_end(w, w->events, 0);
}

static void keep_vec(struct ti_writer *w, struct kept *k, const struct ti_vec *vec)
{
    size_t bytes = (size_t)(vec->len * vec->width), room = 16;

    while (room < bytes) /* powers of two, because later vectors may be longer */
        room *= 2;
    k->lost = bytes > k->room && w->kept_used + room > KEPT_BYTES;
    if (k->lost)
        return;
    if (bytes > k->room) {
        k->at = w->kept_used;
        k->room = (uint16_t)room;
        w->kept_used += (uint16_t)room;
    }
    k->len = (uint16_t)vec->len;
    k->width = (uint8_t)vec->width;
    if (bytes) /* the data of an empty vector may be NULL */
        memcpy(w->kept + k->at, vec->data, bytes);
}

static bool is_kept(const struct ti_writer *w, const struct kept *k, const struct ti_vec *vec)
{
    if (k->len != vec->len || k->lost)
        return false;
    return k->len == 0 || (k->width == vec->width &&
                           memcmp(w->kept + k->at, vec->data, (size_t)k->len * k->width) == 0);
}

static void put_elements(struct ti_writer *w, struct column *c, const struct ti_vec *vec)
{
    uint64_t run = 0;
    int64_t last = 0;

    for (int64_t i = 0; i < vec->len; i++) {
        int64_t v = ti_vec_at(vec, i);

        if (v == last) {
            run++;
            continue;
        }
        ti__column_varint(w, c, run);
        ti__column_varint(w, c, ti_zigzag((int64_t)((uint64_t)v - (uint64_t)last)));
        last = v;
        run = 0;
    }
    if (run)
        ti__column_varint(w, c, run);
}

static void put_vec(struct ti_writer *w, struct column *c, const struct ti_vec *vec)
{
    if (__builtin_expect(is_kept(w, &c->kept, vec), 1)) {
        c->run++;
        return;
    }
    ti__column_varint(w, c, c->run);
    c->run = 0;
    if (vec->len > w->vec_inline) {
        write_vec(w, vec);
        ti__column_varint(w, c, ti_zigzag(~(int64_t)w->vecs));
        c->kept.lost = true;
        return;
    }
    ti__column_varint(w, c, ti_zigzag(vec->len));
    put_elements(w, c, vec);
    keep_vec(w, &c->kept, vec);
}

/* ---------------------------------------------------------------- events -- */

static bool has_room_for_vecs(const struct ti_writer *w, const struct ti_event *ev)
{
    int64_t blocks = 0;

    for (int v = 0; v < TI_VECS; v++)
        if (ev->vec[v].len && ev->vec[v].len <= w->vec_inline)
            blocks += ev->vec[v].len * VALUE_BYTES / w->block_data + 1;
    return w->nblocks + w->nperiods + blocks <= w->most_blocks;
}

/* Whether the columns surely have room for this event.  False negatives only end a chunk early. */
static inline bool has_room(const struct ti_writer *w, const struct ti_event *ev)
{
    return w->chunk_events < w->chunk_room &&
           (!(ev->vec[0].len | ev->vec[1].len) || has_room_for_vecs(w, ev));
}

/* Add the event's fields to the hash, and those of `columns` to the columns from *c on. */
static inline uint64_t put_fields(struct ti_writer *w, const struct ti_event *ev, uint32_t columns,
                                  struct column **c, uint64_t hash)
{
    struct column *next = *c;

    for (uint32_t rest = ev->mask; rest; rest &= rest - 1) {
        int f = __builtin_ctz(rest);
        uint64_t v = (uint64_t)ev->arg[f];

        hash = ti_hash_word(hash, v);
        if (columns >> f & 1)
            ti__column_value(w, next++, v);
    }
    *c = next;
    return hash;
}

static void put_event(struct ti_writer *w, const struct ti_event *ev)
{
    uint32_t kinds = ti_event_kinds(ev);
    uint16_t s = w->sym[w->prev].next;
    struct column *c;
    uint64_t hash;

    if (__builtin_expect(ti_symbol_is(&w->sym[s].is, ev, kinds), 1)) {
        w->col[0].run++;
    } else {
        s = symbol_of(w, ev, kinds);
        ti__column_token(w, &w->col[0], (uint64_t)s + 1);
        w->sym[w->prev].next = s;
    }
    ti__column_value(w, volume_column(w, w->prev, s), ev->volume);
    c = &w->col[w->sym[s].col];
    hash = ti_hash_begin(w->hash, ev);
    if (__builtin_expect(kinds == 0, 1))
        hash = put_fields(w, ev, UINT32_MAX, &c, hash);
    else
        hash = put_fields(w, ev, ti_symbol_numbers(&w->sym[s].is), &c, hash);
    w->hash = w->sym[s].is.vecs ? ti_hash_vecs(hash, ev) : hash;
    for (uint32_t rest = w->sym[s].is.vecs; rest; rest &= rest - 1)
        put_vec(w, c++, &ev->vec[__builtin_ctz(rest)]);
    w->prev = s;
}

/* noinline: otherwise compilers split off a part for ti_writer_event_extra(), which costs each
 * event one more call. */
__attribute__((noinline)) ti_status ti_writer_event(struct ti_writer *w, const struct ti_event *ev)
{
    if (ti__is_over(w))
        return w->failed;
    ti__begin(w);
    if (__builtin_expect(!has_room(w, ev), 0)) {
        ti__flush(w);
        if (!has_room(w, ev))
            ti__events_reset(w);
    }
    put_event(w, ev);
    w->chunk_events++;
    w->events++;
    w->volume += ev->volume;
    ti__end(w);
    return w->failed;
}

ti_status ti_writer_event_extra(struct ti_writer *w, const struct ti_event *ev,
                                const uint64_t *extra)
{
    struct column *c;

    w->busy |= w->more_to_come;
    w->more_to_come = 1;
    if (ti_writer_event(w, ev) == TI_OK) {
        c = &w->col[w->sym[w->prev].vol_col];
        for (int k = 0; k < w->extras; k++)
            ti__column_value(w, ++c, extra[k]);
    }
    w->more_to_come = 0;
    return w->failed;
}

/* ---------------------------------------------------------------- chunks -- */

static void begin_chunk(struct ti_writer *w)
{
    w->chunk_first = w->events;
    w->chunk_events = 0;
    w->chunk_room = w->chunk_limit;
}

void ti__events_reset(struct ti_writer *w)
{
    memset(w->sym_slot, 0xff, sizeof w->sym_slot);
    memset(w->vol_slot, 0xff, sizeof w->vol_slot);
    w->nsyms = 0;
    w->sym[NO_SYMBOL] = (struct symbol){.is.op = NONE, .next = NO_SYMBOL};
    w->kept_used = 0;
    w->prev = NO_SYMBOL;
    w->syms_written = w->cols_written = 0;
    w->events_written = 0;
    ti__columns_reset(w);
    begin_chunk(w);
}

/* Whether there is room for as much again.  Counters of a column have 32 bits, so chunks that go on
 * with each other have fewer events. */
static bool may_go_on(const struct ti_writer *w)
{
    return w->nblocks + w->nperiods <= w->most_blocks / 2u && w->ncols <= w->most_cols / 2u &&
           w->nsyms <= SYMS / 2 &&
           (uint64_t)w->events_written + w->chunk_events + w->chunk_limit <= UINT32_MAX;
}

void ti__events_go_on(struct ti_writer *w)
{
    if (!may_go_on(w)) {
        ti__events_reset(w);
        return;
    }
    for (struct column *c = w->col; c < w->col + w->ncols; c++)
        c->written = ti__column_stored(w, c);
    w->syms_written = w->nsyms;
    w->cols_written = w->ncols;
    w->events_written += w->chunk_events;
    begin_chunk(w);
}

/* Columns of volumes from column `from` on. */
static int count_volumes(const struct ti_writer *w, uint16_t from)
{
    int volumes = 0;

    for (const struct column *c = w->col + from; c < w->col + w->ncols; c++)
        volumes += c->symbol != NONE;
    return volumes;
}

static void extras_write(struct ti_writer *w)
{
    const struct column *end = w->col + w->ncols, *c;

    if (!w->extras)
        return;
    ti__chunk_begin(w, TI_CHUNK_XTR, TI_CODEC_ZLIB);
    ti__chunk_put_varint(w, w->extras);
    ti__chunk_put_varint(w, (uint64_t)count_volumes(w, 0));
    for (c = w->col; c < end; c++)
        for (int k = 1; c->symbol != NONE && k <= w->extras; k++)
            ti__chunk_put_varint(w, ti__column_bytes(w, &c[k]));
    for (c = w->col; c < end; c++)
        for (int k = 1; c->symbol != NONE && k <= w->extras; k++)
            ti__column_put(w, &c[k]);
    ti__chunk_end(w, w->chunk_first, w->chunk_events);
}

/* The symbols with the bytes of their columns: of known ones these only. */
static void put_symbols(struct ti_writer *w)
{
    for (uint16_t i = 0; i <= w->nsyms; i++) {
        const struct symbol *s = &w->sym[i];

        if (i == w->syms_written)
            ti__chunk_put_varint(w, w->nsyms - w->syms_written);
        if (i == w->nsyms)
            return;
        if (i >= w->syms_written) {
            ti__chunk_put_varint(w, s->is.op);
            ti__chunk_put_varint(w, s->is.site);
            ti__chunk_put_varint(w, s->is.mask);
            ti__chunk_put_varint(w, s->is.kinds);
        }
        for (int k = 0; k < s->is.ncolumns; k++)
            ti__chunk_put_varint(w, ti__column_bytes(w, &w->col[s->col + k]));
    }
}

/* The same for columns of volumes. */
static void put_volumes(struct ti_writer *w)
{
    for (uint16_t i = 0; i <= w->ncols; i++) {
        const struct column *c = &w->col[i];

        if (i == w->cols_written)
            ti__chunk_put_varint(w, (uint64_t)count_volumes(w, i));
        if (i == w->ncols)
            return;
        if (c->symbol == NONE)
            continue;
        if (i >= w->cols_written) {
            ti__chunk_put_varint(w, c->before);
            ti__chunk_put_varint(w, c->symbol);
        }
        ti__chunk_put_varint(w, ti__column_bytes(w, c));
    }
}

void ti__events_write(struct ti_writer *w)
{
    const struct column *end = w->col + w->ncols;

    for (struct column *c = w->col; c < end; c++)
        ti__column_copied(w, c);
    extras_write(w);
    ti__chunk_begin(w, TI_CHUNK_EVT, TI_CODEC_ZLIB);
    ti__chunk_put_varint(w, w->cols_written > 0);
    ti__chunk_put_varint(w, ti__column_bytes(w, &w->col[0]));
    put_symbols(w);
    put_volumes(w);
    ti__column_put(w, &w->col[0]);
    for (const struct symbol *s = w->sym; s < w->sym + w->nsyms; s++)
        for (int i = 0; i < s->is.ncolumns; i++)
            ti__column_put(w, &w->col[s->col + i]);
    for (const struct column *c = w->col; c < end; c++)
        if (c->symbol != NONE)
            ti__column_put(w, c);
    ti__chunk_end(w, w->chunk_first, w->chunk_events);
}
