#include <sys/mman.h>

#include "trace/writer_internal.h"

#define PAUSE_MOST 15 /* chunks */

/* Memory that the nest may take for events that are not in columns, if it took less for those that
 * are. */
#define ALONE_LEAST 2048

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
    if (!w->fold || w->fold_paused > 0)
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

/* Find out whether the nest takes fewer bytes than the columns.  The chunk has both.
 *
 * The result holds for further events as long as these are like those that were compared.  Noise
 * that begins later may take more bytes in the nest than in columns; and it takes memory, which
 * events that repeat others do not.  So the nest may take as much memory again. */
static void compare(struct ti_writer *w)
{
    size_t taken = ti_online_taken(w->fold);

    if (measure(w, fold_write) < measure(w, ti__events_write))
        w->folding = FOLD_WINS;
    else
        w->folding = FOLD_OFF;
    w->fold_most = taken + (taken > ALONE_LEAST ? taken : ALONE_LEAST);
}

/* Most events of a chunk without columns.  They are lost if the process dies, so they are at most a
 * quarter of those in the file. */
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
    if (w->folding == FOLD_BESIDE) {
        uint64_t start = ti__now_ns();

        compare(w);
        w->flush_ns += ti__now_ns() - start;
    }
    if (!w->folding || ti_online_taken(w->fold) > w->fold_most || !fold(w, ev))
        return false;
    w->hash = ti_hash_event(w->hash, ev);
    w->folding = FOLD_ALONE;
    return true;
}

/* A chunk that was not worth folding is followed by a pause of chunks that are not folded, which is
 * longer each time.  A chunk of few events decides nothing. */
static void plan_pause(struct ti_writer *w, bool worth)
{
    if (w->fold_paused > 0) {
        w->fold_paused--;
        return;
    }
    if (w->chunk_events < TI_CHUNK_EVENTS / 4)
        return;
    w->fold_pause = worth ? 0 : 2 * w->fold_pause + 1;
    if (w->fold_pause > PAUSE_MOST)
        w->fold_pause = PAUSE_MOST;
    w->fold_paused = w->fold_pause;
}

void ti__fold_or_columns_write(struct ti_writer *w)
{
    bool worth;

    if (w->folding == FOLD_BESIDE)
        compare(w);
    worth = w->folding != FOLD_OFF;
    if (worth)
        fold_write(w);
    else
        ti__events_write(w);
    if (w->fold)
        plan_pause(w, worth);
}
