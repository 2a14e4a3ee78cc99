#include "merged/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/scratch.h"
#include "fold/decode.h"
#include "merged/encode_internal.h"

#define WINDOW 4096 /* nodes that may still fold */

/* More nodes than this are no loop nest: the record becomes a copy. */
#define NODES_MAX (1u << 18)

#define SMALL      2048 /* bytes of a record that need not be smaller */
#define SMALL_CORE 512  /* cost of a core that need not be smaller */
#define COLUMN     2    /* cost of a column of a core, beside its bytes */

/* A rank file of more than LARGE bytes is folded only if that saves an eighth of its first PART
 * bytes.  Noise hardly gets smaller, and folding it takes 10 times as long as copying it. */
#define LARGE (64 << 10)
#define PART  (16 << 10)

#define PIECE ((size_t)1 << 18) /* that is compressed before the next look for a signal */

/* Whether a signal came (common/scratch.h); asked now and then, by the number of an event. */
static bool is_stopped(uint64_t event)
{
    return event % (1 << 16) == 0 && ti_stopped();
}

/* A record with the cost of its core (encode_internal.h).  This cost, and not the size of the
 * record, decides which one is kept: so the shape of a trace depends neither on durations nor on
 * the qualities in which values are kept.  A column costs something even where it is constant,
 * since it may have columns of durations beside it. */
struct candidate {
    struct ti_record record;
    size_t cost; /* SIZE_MAX: there is no record */
};

static const char folding[] = "fold a trace"; /* for ti_err_memory() */

/* ------------------------------------------------------------------ reading -- */

static uint64_t hash_extras(const struct ti_encoder *e, uint64_t hash, const struct ti_event *ev)
{
    for (uint32_t i = 0; i + 1 < e->nvolumes; i++)
        hash = ti_hash_word(hash, ev->extra[i]);
    return hash;
}

/* Read the trace, and find out which values its fields have. */
static ti_status scan(struct ti_encoder *e, struct ti_err *err)
{
    struct ti_totals totals;
    struct ti_event ev;
    int more;

    ti_reader_want_extras(e->r);
    while ((more = ti_reader_next(e->r, &ev, err)) > 0) {
        if (is_stopped(e->sums.events))
            return ti_stop_check(err);
        if (!ti_symbols_scan(&e->symbols, &ev))
            return ti_err_memory(err, folding);
        e->sums.volume += ev.volume;
        e->sums.events++;
        e->sums.hash = ti_hash_event(e->sums.hash, &ev);
        if (e->nvolumes > 1 && !ev.extra)
            e->foldable = false;
        else
            e->extras = hash_extras(e, e->extras, &ev);
        if (e->symbols.elements > TI_RECORD_VECTORS || e->symbols.vector_map.n > TI_RECORD_VECTORS)
            e->foldable = false;
    }
    if (more < 0)
        return ti_reader_status(e->r);
    if (ti_reader_totals(e->r, &totals) &&
        (totals.events != e->sums.events || totals.volume != e->sums.volume ||
         !ti_reader_hash_is(e->r, e->sums.hash)))
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is damaged: its events do not add up to its totals",
                          ti_reader_name(e->r));
    return TI_OK;
}

/* Read the first `events` events again, and fold them to the end; *nothing is set where they do not
 * fold. */
static ti_status fold(struct ti_encoder *e, struct ti_fold *f, uint64_t events, bool *nothing,
                      struct ti_err *err)
{
    struct ti_symbol_event symbol;
    int64_t volumes[1 + TI_EXTRAS_MAX];
    struct ti_reader *again;
    struct ti_event ev;
    ti_status st = ti_reader_again(e->r, &again, err);
    uint64_t n = 0;
    int more = 0;

    if (st)
        return st;
    ti_reader_want_extras(again);
    while (n < events && (more = ti_reader_next(again, &ev, err)) > 0 && !*nothing &&
           !is_stopped(n++) && ti_symbols_give(&e->symbols, &ev, &symbol)) {
        volumes[0] = (int64_t)ev.volume;
        for (uint32_t i = 1; i < e->nvolumes; i++)
            volumes[i] = (int64_t)ev.extra[i - 1];
        ti_fold_add(f, symbol.symbol, volumes, symbol.field, symbol.nfields);
        *nothing = ti_fold_nodes(f) > NODES_MAX || ti_fold_no_memory(f);
    }
    st = more < 0 ? ti_reader_status(again) : ti_stop_check(err);
    ti_reader_close(again);
    if (!st && !*nothing)
        ti_fold_end(f);
    if (!st && (e->symbols.no_memory || ti_fold_no_memory(f)))
        st = ti_err_memory(err, folding);
    return st;
}

/* ------------------------------------------------------------------- record -- */

/* Whether a record gives the events of the trace. */
static bool is_exact(struct ti_encoder *e, struct ti_folded *f)
{
    struct ti_totals sums = {0, 0, TI_HASH_START};
    uint64_t extras = TI_HASH_START;
    struct ti_event ev;
    int more = 1;

    ti_folded_want_extras(f);
    while (!is_stopped(sums.events) && (more = ti_folded_next(f, &ev)) > 0) {
        sums.volume += ev.volume;
        sums.events++;
        sums.hash = ti_hash_event(sums.hash, &ev);
        extras = hash_extras(e, extras, &ev);
    }
    e->no_memory |= more < 0 && ti_folded_no_memory(f);
    return more == 0 && extras == e->extras && sums.volume == e->sums.volume &&
           sums.events == e->sums.events && sums.hash == e->sums.hash;
}

/* Whether one event may stand for another one. */
static bool is_allowed(const struct ti_encoder *e, struct ti_event *exact, struct ti_event *ev)
{
    uint64_t volume = exact->volume;

    if (!ti_quality_allows(&e->want.volumes, volume, ev->volume))
        return false;
    for (uint32_t i = 0; i + 1 < e->nvolumes; i++)
        if (!ti_quality_allows(&e->want.extras, exact->extra[i], ev->extra[i]))
            return false;
    exact->volume = ev->volume;
    return ti_hash_event(0, exact) == ti_hash_event(0, ev);
}

/* Whether a record gives the events of the trace as its qualities allow.  *hash becomes that of its
 * events. */
static bool is_near(struct ti_encoder *e, struct ti_folded *f, uint64_t *hash)
{
    uint64_t volume = 0, n = 0;
    struct ti_reader *again;
    struct ti_event exact, ev;
    bool ok = true;
    ti_status st;

    errno = 0;
    st = ti_reader_again(e->r, &again, NULL);
    e->no_memory |= ti_err_was_memory(st);
    if (st)
        return false;
    ti_reader_want_extras(again);
    ti_folded_want_extras(f);
    *hash = TI_HASH_START;
    while (ok && ti_reader_next(again, &exact, NULL) > 0) {
        ok = !is_stopped(n++) && ti_folded_next(f, &ev) > 0 && is_allowed(e, &exact, &ev);
        if (ok) {
            *hash = ti_hash_event(*hash, &ev);
            volume += ev.volume;
        }
    }
    e->no_memory |= ti_err_was_memory(ti_reader_status(again)) || ti_folded_no_memory(f);
    ti_reader_close(again);
    return ok && ti_folded_next(f, &ev) == 0 && volume == e->sums.volume;
}

/* Whether a record stands for the trace.  Sets the hash of one that is not exact. */
static bool is_sound(struct ti_encoder *e, struct ti_record *record)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    uint64_t hash;
    bool ok;

    errno = 0;
    if (ti_folded_open(record, ti_reader_nranks(e->r), &f, &tables)) {
        e->no_memory |= errno == ENOMEM;
        return false;
    }
    if (e->exact) {
        ok = is_exact(e, f);
    } else {
        ok = is_near(e, f, &hash);
        if (ok && tables.have_totals)
            ti_record_set(record, 0, (int64_t)hash);
    }
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    return ok;
}

/* Add the bytes of `data` after compression to *sum; false when memory is short.  Compressing may
 * take seconds, so it goes piece by piece, and ends when a signal comes. */
static bool add_deflated(const uint8_t *data, size_t bytes, size_t *sum)
{
    uint8_t out[1 << 14];
    z_stream z = {0};

    if (deflateInit(&z, 6) != Z_OK)
        return false;
    z.next_in = (uint8_t *)(uintptr_t)data;
    do {
        z.avail_in = (uInt)(bytes < PIECE ? bytes : PIECE);
        bytes -= z.avail_in;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, bytes ? Z_NO_FLUSH : Z_FINISH);
            *sum += sizeof out - z.avail_out;
        } while (!z.avail_out);
    } while (bytes && !ti_stopped());
    deflateEnd(&z);
    return true;
}

/* Bytes of a record in a merged trace if no other rank shares anything with it: chunks compress
 * pattern and numbers, which are varints, and blobs. */
static size_t size_of(struct ti_encoder *e, const struct ti_record *record)
{
    struct ti_buffer all = {.data = NULL};
    size_t bytes = 0;

    ti_buffer_put(&all, record->pattern.data, record->pattern.n);
    for (size_t i = 0; i < record->nnumbers; i++)
        ti_buffer_varint(&all, ti_zigzag(record->number[i]));
    for (size_t i = 0; i < record->nblobs; i++) {
        ti_buffer_varint(&all, record->blob[i].n);
        ti_buffer_put(&all, record->blob[i].data, record->blob[i].n);
    }
    e->no_memory |= all.no_memory || !add_deflated(all.data, all.n, &bytes);
    free(all.data);
    return bytes;
}

/* The cost of the core of a shape's record. */
static size_t cost_of(struct ti_encoder *e, const struct ti_fold_node *shape)
{
    struct ti_record core;
    size_t cost;

    if (!ti__record_core(e, shape, &core))
        return SIZE_MAX - 1;
    cost = size_of(e, &core) + COLUMN * core.nblobs;
    ti_record_free(&core);
    return cost;
}

/* The bytes of a candidate's record; SIZE_MAX: there is none. */
static size_t bytes_of(struct ti_encoder *e, const struct candidate *c)
{
    return c->cost == SIZE_MAX ? SIZE_MAX : size_of(e, &c->record);
}

/* Keep the candidate whose core costs less; the older one of two that are equal. */
static void keep(struct candidate *best, struct candidate *other)
{
    struct candidate *worse = other->cost < best->cost ? best : other, old = *worse;

    if (worse == best)
        *best = *other;
    if (old.cost != SIZE_MAX)
        ti_record_free(&old.record);
}

/* Add the record in which variables with more than `limit` values have columns.  Of fewer events
 * than the trace has, the record only tells how large it is. */
static ti_status try_limit(struct ti_encoder *e, uint32_t limit, uint64_t events,
                           struct candidate *best, struct ti_err *err)
{
    struct candidate c = {.cost = SIZE_MAX};
    uint32_t window = events < WINDOW ? (uint32_t)events : WINDOW; /* no more than can be in it */
    struct ti_fold *f = ti_fold_new(window, e->nvolumes);
    const struct ti_fold_node *shape;
    bool nothing = false;
    uint64_t nodes;
    ti_status st;

    ti_symbols_begin(&e->symbols, limit);
    st = f ? fold(e, f, events, &nothing, err) : ti_err_memory(err, folding);
    if (!st && !nothing) {
        shape = ti_fold_shape(f, &nodes);
        if (ti__record_fold(e, shape, &c.record)) {
            if (events < e->sums.events || is_sound(e, &c.record))
                c.cost = cost_of(e, shape);
            else
                ti_record_free(&c.record);
        }
        st = ti_stop_check(err);
    }
    ti_fold_free(f);
    keep(best, &c);
    return st;
}

/* Whether to fold a trace that could be copied: *worth. */
static ti_status try_part(struct ti_encoder *e, bool *worth, struct ti_err *err)
{
    int64_t bytes = ti_reader_file_bytes(e->r);
    struct candidate part = {.cost = SIZE_MAX};
    uint64_t events;
    ti_status st;

    *worth = true;
    if (bytes <= LARGE || !e->exact)
        return TI_OK;
    events = (uint64_t)((double)e->sums.events * PART / (double)bytes);
    st = try_limit(e, TI_FIELD_VALUES, events, &part, err);
    if (!st && bytes_of(e, &part) > PART / 8 * 7)
        st = try_limit(e, 1, events, &part, err);
    *worth = bytes_of(e, &part) <= PART / 8 * 7;
    if (part.cost != SIZE_MAX)
        ti_record_free(&part.record);
    return st;
}

/* Let a copy of the file be the record if it is smaller. */
static ti_status try_copy(struct ti_encoder *e, struct candidate *best, struct ti_err *err)
{
    size_t bytes, folded = bytes_of(e, best);
    uint8_t *data;
    ti_status st;

    if (folded <= SMALL)
        return TI_OK;
    st = ti_reader_file(e->r, &data, &bytes, err);
    if (st || !data)
        return st;
    if (bytes < folded) {
        if (best->cost != SIZE_MAX)
            ti_record_free(&best->record);
        best->cost = ti__record_copy(e, data, bytes, &best->record) ? 0 : SIZE_MAX;
        e->no_memory |= best->cost == SIZE_MAX;
    }
    free(data);
    return TI_OK;
}

/* The quality that a trace can have: that of the trace itself, unless it is exact. */
static struct ti_quality quality(const struct ti_reader *r, const char *key,
                                 const struct ti_quality *want)
{
    const char *text = ti_reader_info(r, key);
    struct ti_quality q;

    return text && ti_quality_parse(text, &q) && q.kind != TI_EXACT ? q : *want;
}

/* Make the record of the shape whose core costs least; `copies`: also consider a copy. */
static ti_status encode(struct ti_reader *r, const struct ti_qualities *q, bool copies,
                        struct ti_record *out, struct ti_err *err)
{
    static const struct ti_qualities all_exact = {{TI_EXACT, 0}, {TI_EXACT, 0}};
    struct candidate best = {.cost = SIZE_MAX};
    struct ti_encoder e = {
        .r = r,
        .sums.hash = TI_HASH_START,
        .extras = TI_HASH_START,
        .nvolumes = 1 + (uint32_t)ti_reader_extras(r),
        .foldable = true,
    };
    ti_status st;

    q = q ? q : &all_exact;
    e.want.volumes = quality(r, "volumes", &q->volumes);
    e.want.extras = quality(r, "extras", &q->extras);
    e.exact = e.want.volumes.kind == TI_EXACT && e.want.extras.kind == TI_EXACT;
    ti_symbols_init(&e.symbols);
    st = scan(&e, err);
    if (!st && e.foldable && copies)
        st = try_part(&e, &e.foldable, err);
    if (!st && e.foldable) {
        st = try_limit(&e, TI_FIELD_VALUES, e.sums.events, &best, err);
        if (!st && best.cost > SMALL_CORE)
            st = try_limit(&e, 1, e.sums.events, &best, err);
    }
    if (!st && copies)
        st = try_copy(&e, &best, err);
    ti_symbols_free(&e.symbols);
    if (!st && e.no_memory)
        st = ti_err_memory(err, folding);
    if (st && best.cost != SIZE_MAX)
        ti_record_free(&best.record);
    if (!st && best.cost == SIZE_MAX)
        st = ti_err_set(err, TI_ERR_INPUT,
                        copies ? "'%s' does not fit the limits of a merged trace"
                               : "'%s' is no nest of loops: its calls do not repeat",
                        ti_reader_name(r));
    if (!st)
        *out = best.record;
    return st;
}

ti_status ti_folded_encode(struct ti_reader *r, const struct ti_qualities *q, struct ti_record *out,
                           struct ti_err *err)
{
    return encode(r, q, true, out, err);
}

ti_status ti_folded_encode_shape(struct ti_reader *r, struct ti_record *out, struct ti_err *err)
{
    return encode(r, NULL, false, out, err);
}
