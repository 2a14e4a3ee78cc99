/* Bytes that grow at the end: a zeroed struct is empty, free() `data`.  When memory is short, _put,
 * _varint and _join append nothing, and set `no_memory`, which stays set: ask for it before you use
 * the bytes. */
#ifndef TI_EVENT_BUFFER_H
#define TI_EVENT_BUFFER_H

#include <string.h>

#include "common/map.h"
#include "event/columns.h"

struct ti_buffer {
    uint8_t *data;
    size_t n, cap;
    bool no_memory;
};

/* False when memory is short: nothing is appended then. */
static inline bool ti_buffer_try(struct ti_buffer *b, const void *data, size_t bytes)
{
    if (!bytes)
        return true;
    if (!TI_ROOM(b->data, &b->cap, b->n + bytes))
        return false;
    memcpy(b->data + b->n, data, bytes);
    b->n += bytes;
    return true;
}

static inline void ti_buffer_put(struct ti_buffer *b, const void *data, size_t bytes)
{
    if (!ti_buffer_try(b, data, bytes))
        b->no_memory = true;
}

/* Append the bytes of another buffer. */
static inline void ti_buffer_join(struct ti_buffer *b, const struct ti_buffer *more)
{
    ti_buffer_put(b, more->data, more->n);
    b->no_memory |= more->no_memory;
}

static inline void ti_buffer_varint(struct ti_buffer *b, uint64_t v)
{
    uint8_t bytes[TI_VARINT_MAX];

    ti_buffer_put(b, bytes, (size_t)ti_put_varint(bytes, v));
}

#endif
