#include "remote/queue.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEEP (16 << 10) /* bytes that an empty queue keeps: there may be hundreds of queues */

static bool make_room(struct ti__queue *q, size_t bytes)
{
    size_t used = ti__queue_bytes(q), room = q->room ? q->room : 4096;
    char *bigger;

    if (q->room - q->end >= bytes)
        return true;
    /* Moves at most as much as it frees, so the cost per byte is bounded. */
    if (q->start >= used && q->room - used >= bytes) {
        memmove(q->data, q->data + q->start, used);
        q->start = 0;
        q->end = used;
        return true;
    }
    if (bytes > SIZE_MAX / 4 - used)
        return false;
    while (room < used + bytes)
        room *= 2;
    bigger = malloc(room);
    if (!bigger)
        return false;
    if (used)
        memcpy(bigger, q->data + q->start, used);
    free(q->data);
    *q = (struct ti__queue){bigger, 0, used, room};
    return true;
}

bool ti__queue_add(struct ti__queue *q, const void *data, size_t bytes)
{
    if (!bytes)
        return true;
    if (!make_room(q, bytes))
        return false;
    memcpy(q->data + q->end, data, bytes);
    q->end += bytes;
    return true;
}

void ti__queue_drop(struct ti__queue *q, size_t bytes)
{
    q->start += bytes;
    if (q->start < q->end)
        return;
    q->start = q->end = 0;
    if (q->room > KEEP)
        ti__queue_free(q);
}

void ti__queue_free(struct ti__queue *q)
{
    free(q->data);
    *q = (struct ti__queue){0};
}
