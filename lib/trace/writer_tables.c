#include "trace/writer_internal.h"

#include <string.h>

void ti__put_pairs(struct ti_writer *w, const char *const *pairs, int n)
{
    for (int i = 0; i < 2 * n; i++)
        ti__chunk_put_text(w, pairs[i]);
}

void ti_writer_info(struct ti_writer *w, const char *const *pairs, int n)
{
    if (ti__is_over(w))
        return;
    ti__begin(w);
    ti__chunk_begin(w, TI_CHUNK_INF, TI_CODEC_METADATA);
    ti__put_pairs(w, pairs, n);
    ti__chunk_end(w, w->events, 0);
    ti__end(w);
}

/* --------------------------------------------------------------- strings -- */

void ti__strings_write(struct ti_writer *w)
{
    if (!w->pending_bytes)
        return;
    ti__chunk_begin(w, TI_CHUNK_STR, TI_CODEC_ZLIB);
    ti__chunk_put(w, w->pending, w->pending_bytes);
    ti__chunk_end(w, w->chunk_first, 0);
    w->pending_bytes = 0;
}

/* Strings are kept until the events that may refer to them are written.  They resemble each other,
 * so one chunk of many compresses better than many chunks. */
uint32_t ti_writer_string(struct ti_writer *w, enum ti_string kind, const char *text)
{
    uint32_t *count = kind == TI_STRING_SITE   ? &w->sites
                      : kind == TI_STRING_CALL ? &w->calls
                                               : &w->files;
    size_t bytes = strlen(text);
    uint8_t *p;

    if (ti__is_over(w))
        return 0;
    if (bytes > TI_STRING_BYTES)
        bytes = TI_STRING_BYTES;
    ti__begin(w);
    if (w->pending_bytes + 2 * TI_VARINT_MAX + 1 + bytes > PENDING_BYTES)
        ti__strings_write(w);
    p = w->pending + w->pending_bytes;
    p += ti_put_varint(p, ++*count);
    *p++ = (uint8_t)kind;
    p += ti_put_varint(p, bytes);
    memcpy(p, text, bytes);
    w->pending_bytes = (uint32_t)(p + bytes - w->pending);
    ti__end(w);
    return *count;
}

/* --------------------------------------------------------- communicators -- */

static void comms_open(struct ti_writer *w)
{
    ti__chunk_begin(w, TI_CHUNK_COM, TI_CODEC_ZLIB);
    ti__chunk_put(w, w->comms, w->comms_bytes);
    w->comms_bytes = 0;
    w->comms_open = true;
}

static void comms_close(struct ti_writer *w)
{
    if (w->comms_open)
        ti__chunk_end(w, w->chunk_first, 0);
    w->comms_open = false;
}

void ti__comms_write(struct ti_writer *w)
{
    if (w->comms_bytes)
        comms_open(w);
    comms_close(w);
}

/* Communicators are kept like strings.  One that finds no room goes into a chunk with those before
 * it. */
static void comm_put(struct ti_writer *w, const void *data, size_t bytes)
{
    if (!w->comms_open && w->comms_bytes + bytes > COMMS_BYTES)
        comms_open(w);
    if (w->comms_open) {
        ti__chunk_put(w, data, bytes);
    } else {
        memcpy(w->comms + w->comms_bytes, data, bytes);
        w->comms_bytes += (uint32_t)bytes;
    }
}

static void comm_put_varint(struct ti_writer *w, uint64_t v)
{
    uint8_t buf[TI_VARINT_MAX];

    comm_put(w, buf, (size_t)ti_put_varint(buf, v));
}

static void comm_put_run(struct ti_writer *w, int64_t n, int64_t first, int64_t stride)
{
    comm_put_varint(w, (uint64_t)n);
    comm_put_varint(w, ti_zigzag(first));
    if (n > 1)
        comm_put_varint(w, ti_zigzag(stride));
}

/* Write world ranks as runs with a stride, see COM in trace.h. */
static void put_members(struct ti_writer *w, int64_t size, const int *members)
{
    int64_t last = 0;

    if (!members) {
        comm_put_run(w, size, 0, 1);
        return;
    }
    for (int64_t i = 0, n; i < size; i += n) {
        int64_t stride = i + 1 < size ? (int64_t)members[i + 1] - members[i] : 0;

        for (n = 1; i + n < size && members[i + n] - members[i + n - 1] == stride; n++)
            ;
        comm_put_run(w, n, members[i] - last, stride);
        last = members[i + n - 1];
    }
}

void ti_writer_comm(struct ti_writer *w, uint32_t index, char kind, int64_t rank, int64_t size,
                    const int *members, int64_t remote_size, const int *remote)
{
    if (ti__is_over(w))
        return;
    ti__begin(w);
    comm_put_varint(w, index);
    comm_put_varint(w, (uint64_t)rank);
    comm_put_varint(w, (uint64_t)size);
    comm_put(w, &kind, 1);
    put_members(w, size, members);
    if (remote_size) {
        comm_put_varint(w, (uint64_t)remote_size);
        put_members(w, remote_size, remote);
    }
    comms_close(w);
    ti__end(w);
}
