/*
 * Outgoing frames: a queue in front of a non-blocking descriptor.
 */
#ifndef TI_NODE_OUTBOX_H
#define TI_NODE_OUTBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/frame.h"

/* While more than this is queued, output of processes and traces wait.  Answers do not wait. */
#define TI_OUTBOX_FULL (1024 * 1024)

struct ti_outbox {
    int fd; /* non-blocking */
    unsigned char *buf;
    size_t sent, used, room;
    uint64_t passed; /* bytes written to the descriptor, in all */
    bool broken;     /* the reader is gone or memory was short: further frames are dropped */
};

/* Queue a frame; `bytes` is at most TI_FRAME_MAX. */
void ti_outbox_frame(struct ti_outbox *o, enum ti_frame_type type, uint32_t stream,
                     const void *payload, size_t bytes);

/* Queue a frame with the text of `json`, whose reference is taken over.  An answer for which a
 * frame has no room becomes an "error".  NULL, which means that memory was short, breaks the
 * outbox. */
void ti_outbox_json(struct ti_outbox *o, enum ti_frame_type type, json_t *json);

static inline size_t ti_outbox_queued(const struct ti_outbox *o)
{
    return o->used - o->sent;
}

/* The value of `passed` once everything queued now is written. */
static inline uint64_t ti_outbox_end(const struct ti_outbox *o)
{
    return o->passed + ti_outbox_queued(o);
}

static inline bool ti_outbox_full(const struct ti_outbox *o)
{
    return ti_outbox_queued(o) > TI_OUTBOX_FULL;
}

/* Write as much as the descriptor takes. */
void ti_outbox_flush(struct ti_outbox *o);
void ti_outbox_free(struct ti_outbox *o);

#endif
