/*
 * Frames on their way out: a queue before a descriptor that must not block us.
 */
#ifndef TI_OUTBOX_H
#define TI_OUTBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/frame.h"

/* What may be produced at will (output of processes, traces) waits while more than this
 * is queued.  Answers do not wait. */
#define TI_OUTBOX_FULL (1024 * 1024)

struct ti_outbox {
    int fd; /* non-blocking */
    unsigned char *buf;
    size_t sent, used, room;
    uint64_t passed; /* bytes that were written, in all */
    bool broken;     /* nobody reads it any more, or memory was short: all further is dropped */
};

void ti_outbox_frame(struct ti_outbox *o, enum ti_frame_type type, uint32_t stream,
                     const void *payload, size_t bytes);

/* A frame of `type` with `json`, which is consumed; NULL breaks the outbox. */
void ti_outbox_json(struct ti_outbox *o, enum ti_frame_type type, json_t *json);

static inline size_t ti_outbox_queued(const struct ti_outbox *o)
{
    return o->used - o->sent;
}

/* What `passed` is going to be once all of it is written. */
static inline uint64_t ti_outbox_end(const struct ti_outbox *o)
{
    return o->passed + ti_outbox_queued(o);
}

static inline bool ti_outbox_full(const struct ti_outbox *o)
{
    return ti_outbox_queued(o) > TI_OUTBOX_FULL;
}

/* Write what the descriptor takes. */
void ti_outbox_flush(struct ti_outbox *o);
void ti_outbox_free(struct ti_outbox *o);

#endif
