#include <sys/mman.h>

#include "formats/trace/writer_internal.h"

#define RESTS_MOST 15

ti_status ti_writer_fold(struct ti_writer *w, struct ti_err *err)
{
    void *memory =
        mmap(NULL, TI_FOLD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot get memory for the trace of rank %u", w->rank);
    w->fold = ti_online_new(memory, TI_FOLD_BYTES, 1 + (uint32_t)w->extras);
    w->folding = FOLD_BESIDE;
    return TI_OK;
}

void ti__fold_reset(struct ti_writer *w)
{
    w->folding = FOLD_OFF;
    if (!w->fold || w->fold_rest > 0)
        return;
    ti_online_clear(w->fold);
    w->folding = FOLD_BESIDE;
}

/* Vectors that are in VEC chunks stay with the columns. */
static bool fold(struct ti_writer *w, const struct ti_event *ev)
{
    return ev->vec[0].len <= w->vec_inline && ev->vec[1].len <= w->vec_inline &&
           ti_online_add(w->fold, ev, w->extra);
}

void ti__fold_beside(struct ti_writer *w, const struct ti_event *ev)
{
    if (!fold(w, ev))
        w->folding = FOLD_OFF;
}

/* ------------------------------------------------------------------- chunks -- */

static void put_piece(void *to, const void *data, size_t bytes)
{
    ti__chunk_put(to, data, bytes);
}

static void fold_write(struct ti_writer *w)
{
    ti__chunk_begin(w, TI_CHUNK_FLD, TI_CODEC_ZLIB);
    ti_online_put(w->fold, &(struct ti_sink){put_piece, w});
    ti__chunk_end(w, w->chunk_first, w->chunk_events);
}

/* Bytes that a function would write. */
static uint64_t measure(struct ti_writer *w, void (*write)(struct ti_writer *))
{
    w->measuring = true;
    w->measured = 0;
    write(w);
    w->measuring = false;
    return w->measured;
}

/* Whether the nest of this chunk, which has columns, too, is smaller than these. */
static bool fold_is_smaller(struct ti_writer *w)
{
    return w->folding && measure(w, fold_write) < measure(w, ti__events_write);
}

/* What a chunk may have of events that exist only in the process. */
static uint64_t most_alone(const struct ti_writer *w)
{
    uint64_t most = w->chunk_first / 4;

    if (w->chunk_limit < w->chunk_most || most < w->chunk_limit)
        return w->chunk_limit;
    return most < UINT32_MAX ? most : UINT32_MAX;
}

bool ti__fold_alone(struct ti_writer *w, const struct ti_event *ev)
{
    if (w->chunk_events >= most_alone(w))
        return false;
    if (w->folding == FOLD_BESIDE && !fold_is_smaller(w))
        w->folding = FOLD_OFF;
    if (!w->folding || !fold(w, ev))
        return false;
    w->hash = ti_hash_event(w->hash, ev);
    w->folding = FOLD_ALONE;
    return true;
}

/* A chunk that was not worth folding is followed by some that are not folded, and by more of them
 * each time. */
static void rest(struct ti_writer *w, bool tried, bool won)
{
    if (!tried) {
        w->fold_rest--;
        return;
    }
    if (w->chunk_events < TI_CHUNK_EVENTS / 4)
        return;
    w->fold_rests = won ? 0 : 2 * w->fold_rests + 1;
    if (w->fold_rests > RESTS_MOST)
        w->fold_rests = RESTS_MOST;
    w->fold_rest = w->fold_rests;
}

void ti__fold_or_columns_write(struct ti_writer *w)
{
    bool won = w->folding == FOLD_ALONE || fold_is_smaller(w);

    if (won)
        fold_write(w);
    else
        ti__events_write(w);
    if (w->fold)
        rest(w, w->fold_rest == 0, won);
}
