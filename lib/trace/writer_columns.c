#include "trace/writer_internal.h"

#include <sys/mman.h>

void ti__columns_reset(struct ti_writer *w)
{
    w->nblocks = 0;
    w->nperiods = 0;
    w->ncols = 1;
    w->col[0] = (struct column){.head = NONE, .tail = NONE, .symbol = NONE};
}

struct column *ti__column_new(struct ti_writer *w)
{
    struct column *c = &w->col[w->ncols++];

    ti__look_for_room(w);
    *c = (struct column){.head = NONE, .tail = NONE, .symbol = NONE};
    return c;
}

void ti__column_byte(struct ti_writer *w, struct column *c, uint8_t byte)
{
    if (c->tail == NONE || c->fill == w->block_data) {
        uint16_t b = w->nblocks++;

        if (c->tail == NONE) {
            c->head = b;
        } else {
            ti__block(w, c->tail)->next = b;
            c->full++;
        }
        c->tail = b;
        c->fill = 0;
        ti__look_for_room(w);
    }
    ti__block(w, c->tail)->data[c->fill++] = byte;
}

void ti__column_varint(struct ti_writer *w, struct column *c, uint64_t v)
{
    while (v >= 0x80) {
        ti__column_byte(w, c, (uint8_t)(v | 0x80));
        v >>= 7;
    }
    ti__column_byte(w, c, (uint8_t)v);
}

void ti__column_change(struct ti_writer *w, struct column *c, uint64_t v)
{
    ti__column_token(w, c, ti_zigzag((int64_t)(v - c->last)));
    c->last = v;
}

uint32_t ti__column_bytes(const struct ti_writer *w, const struct column *c)
{
    return ti__column_stored(w, c) - c->written;
}

void ti__column_put(struct ti_writer *w, const struct column *c)
{
    uint32_t skip = c->written;
    uint16_t b = c->head;

    if (c->tail == NONE)
        return;
    for (; b != c->tail && skip >= w->block_data; b = ti__block(w, b)->next)
        skip -= w->block_data;
    for (; b != c->tail; b = ti__block(w, b)->next, skip = 0)
        ti__chunk_put(w, ti__block(w, b)->data + skip, w->block_data - skip);
    ti__chunk_put(w, ti__block(w, b)->data + skip, c->fill - skip);
}

void ti_writer_extras(struct ti_writer *w, int n)
{
    w->extras = (uint16_t)n;
    w->most_cols = (uint16_t)(COLS - EVENT_COLS - n);
    w->most_blocks = (uint16_t)(w->blocks - EVENT_BLOCKS - 2 * (uint32_t)n);
}

void ti__columns_divide(struct ti_writer *w, size_t bytes)
{
    uint32_t vecs;

    w->block_bytes = BLOCK_BYTES;
    while (bytes / w->block_bytes > NONE + 1)
        w->block_bytes *= 2;
    w->blocks = (uint32_t)(bytes / w->block_bytes);
    if (w->blocks > NONE) /* one too many in the largest buffer */
        w->blocks = NONE;
    w->block_data = w->block_bytes - sizeof(struct block);
    w->chunk_most = bytes > TI_BUFFER_DEFAULT ? TI_CHUNK_EVENTS_MOST : TI_CHUNK_EVENTS;
    vecs = (w->blocks - EVENT_BLOCKS - 2 * TI_EXTRAS_MAX) / TI_VECS - 1;
    w->vec_inline = vecs * w->block_data / VALUE_BYTES;
    if (w->vec_inline > TI_VEC_INLINE)
        w->vec_inline = TI_VEC_INLINE;
    ti_writer_extras(w, w->extras);
}

ti_status ti_writer_buffer(struct ti_writer *w, size_t bytes, struct ti_err *err)
{
    if (bytes < TI_BUFFER_LEAST || bytes > TI_BUFFER_MOST)
        return ti_err_set(err, TI_ERR_USAGE, "a buffer has 4K to 16M");
    if (bytes > sizeof w->own_store) {
        w->store = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w->store == MAP_FAILED) {
            w->store = w->own_store;
            return ti_err_errno(err, TI_ERR_IO, "cannot get memory for the trace of rank %u",
                                w->rank);
        }
        w->store_mapped = bytes;
    }
    ti__columns_divide(w, bytes);
    return TI_OK;
}

size_t ti_writer_memory(const struct ti_writer *w)
{
    return TI_WRITER_BYTES + w->store_mapped;
}
