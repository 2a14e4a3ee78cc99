/* Bytes that grow at the end: a zeroed struct is empty, free() `data`.  _put and _varint end the
 * program when memory is short (ti_grow()). */
#ifndef TI_EVENT_BUFFER_H
#define TI_EVENT_BUFFER_H

#include <string.h>

#include "common/map.h"
#include "event/columns.h"

struct ti_buffer {
    uint8_t *data;
    size_t n, cap;
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
    if (!bytes)
        return;
    b->data = ti_grow(b->data, &b->cap, b->n + bytes, 1);
    memcpy(b->data + b->n, data, bytes);
    b->n += bytes;
}

static inline void ti_buffer_varint(struct ti_buffer *b, uint64_t v)
{
    uint8_t bytes[TI_VARINT_MAX];

    ti_buffer_put(b, bytes, (size_t)ti_put_varint(bytes, v));
}

#endif
