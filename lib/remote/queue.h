/* A queue of bytes to be sent, contiguous in memory. */
#ifndef TI_REMOTE_QUEUE_H
#define TI_REMOTE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct ti__queue {
    char *data;
    size_t start, end, room;
};

bool ti__queue_add(struct ti__queue *q, const void *data, size_t bytes); /* false: no memory */
void ti__queue_free(struct ti__queue *q);

static inline size_t ti__queue_bytes(const struct ti__queue *q)
{
    return q->end - q->start;
}

static inline const char *ti__queue_front(const struct ti__queue *q)
{
    return q->data + q->start;
}

/* Removes bytes from the front: they were sent. */
void ti__queue_drop(struct ti__queue *q, size_t bytes);

#endif
