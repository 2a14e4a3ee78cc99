#include "node/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool make_room(struct ti_outbox *o, size_t bytes)
{
    size_t room = o->room ? o->room : 64 * 1024;
    unsigned char *buf;

    if (o->sent) {
        memmove(o->buf, o->buf + o->sent, o->used - o->sent);
        o->used -= o->sent;
        o->sent = 0;
    }
    while (room < o->used + bytes)
        room *= 2;
    if (room == o->room)
        return true;
    buf = realloc(o->buf, room);
    if (!buf)
        return false;
    o->buf = buf;
    o->room = room;
    return true;
}

void ti_outbox_frame(struct ti_outbox *o, enum ti_frame_type type, uint32_t stream,
                     const void *payload, size_t bytes)
{
    const size_t whole = TI_FRAME_HEADER + bytes;

    if (!o->broken && o->used + whole > o->room && !make_room(o, whole))
        o->broken = true;
    if (o->broken)
        return;
    ti_frame_header(type, stream, payload, (uint32_t)bytes, o->buf + o->used);
    if (bytes)
        memcpy(o->buf + o->used + TI_FRAME_HEADER, payload, bytes);
    o->used += whole;
}

void ti_outbox_json(struct ti_outbox *o, enum ti_frame_type type, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    size_t bytes = text ? strlen(text) : 0;

    json_decref(json);
    if (!text || bytes > TI_FRAME_MAX)
        o->broken = true;
    else
        ti_outbox_frame(o, type, 0, text, bytes);
    free(text);
}

void ti_outbox_flush(struct ti_outbox *o)
{
    while (!o->broken && o->sent < o->used) {
        ssize_t n = write(o->fd, o->buf + o->sent, o->used - o->sent);

        if (n > 0) {
            o->sent += (size_t)n;
            o->passed += (uint64_t)n;
        } else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        else
            o->broken = true;
    }
    if (o->sent == o->used)
        o->sent = o->used = 0;
}

void ti_outbox_free(struct ti_outbox *o)
{
    free(o->buf);
    o->buf = NULL;
    o->sent = o->used = o->room = 0;
}
