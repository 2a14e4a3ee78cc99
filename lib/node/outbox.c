#include "node/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/status.h"

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

static char *text_of(const json_t *json, size_t *bytes)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

    *bytes = text ? strlen(text) : 0;
    return text;
}

/* The error that goes out instead of an answer for which a frame has no room; NULL for a notice,
 * which is never that long. */
static json_t *too_long(const json_t *answer, size_t bytes)
{
    return json_pack("{s:s, s:O, s:o, s:i}", "is", "error", "id", json_object_get(answer, "id"),
                     "error",
                     json_sprintf("the answer has %zu bytes, and a message has room for %d", bytes,
                                  TI_FRAME_MAX),
                     "status", TI_ERR_IO);
}

void ti_outbox_json(struct ti_outbox *o, enum ti_frame_type type, json_t *json)
{
    size_t bytes;
    char *text = text_of(json, &bytes);

    if (bytes > TI_FRAME_MAX) {
        json_t *error = too_long(json, bytes);

        free(text);
        text = text_of(error, &bytes);
        json_decref(error);
    }
    json_decref(json);
    if (!text)
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
