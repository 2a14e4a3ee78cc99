#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "event/columns.h"
#include "trace/reader_internal.h"

ti_status ti__file_damaged(const struct trace_file *f, int64_t at, struct ti_err *err,
                           const char *what)
{
    if (errno == ENOMEM)
        return ti__file_no_memory(f, err);
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged at byte %" PRId64 ": %s", f->name, at,
                      what);
}

ti_status ti__file_no_memory(const struct trace_file *f, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", f->name);
}

static ti_status read_at(const struct trace_file *f, int64_t at, void *buf, size_t bytes,
                         struct ti_err *err)
{
    if (!f->memory)
        return ti_read_at(f->fd, f->start + at, buf, bytes, f->name, err);
    if (at < 0 || at > f->bytes || bytes > (uint64_t)(f->bytes - at))
        return ti__file_damaged(f, at, err, "it is too short");
    memcpy(buf, f->memory + at, bytes);
    return TI_OK;
}

ti_status ti__file_header(struct trace_file *f, struct ti_err *err)
{
    uint8_t h[TI_HEADER_BYTES];
    ti_status st;

    errno = 0;
    if (f->bytes < TI_HEADER_BYTES) {
        return ti_err_set(err, TI_ERR_INPUT,
                          f->bytes ? "'%s' is not a Tiara trace: it is too short" : "'%s' is empty",
                          f->name);
    }
    st = read_at(f, 0, h, sizeof h, err);
    if (st)
        return st;
    if (memcmp(h, TI_MAGIC, TI_MAGIC_BYTES) != 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a Tiara trace", f->name);
    if (ti_get_u32(h + 44) != ti_crc32c(0, h, 44))
        return ti__file_damaged(f, 0, err, "the header's checksum is wrong");
    if (ti_get_u32(h + 12) & TI_INCOMPAT_MERGED) {
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is a merged trace, of many ranks, where that of one is expected",
                          f->name);
    }
    if (ti_get_u16(h + 8) != TI_MAJOR || ti_get_u32(h + 12) != 0) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is in trace format %u.%u with features %#x, which this version cannot "
                   "read",
                   f->name, ti_get_u16(h + 8), ti_get_u16(h + 10), ti_get_u32(h + 12));
        ti_err_hint(err, "use a newer Tiara; this one reads %u.%u without", TI_MAJOR, TI_MINOR);
        return TI_ERR_INPUT;
    }
    f->nranks = ti_get_u32(h + 20);
    memcpy(f->run_id, h + 24, TI_RUN_ID_BYTES);
    if (f->nranks == 0 || f->nranks > TI_RANKS_MAX)
        return ti__file_damaged(f, 20, err, "the number of ranks is impossible");
    f->at = TI_HEADER_BYTES;
    return TI_OK;
}

ti_status ti__file_chunk(struct trace_file *f, struct ti_chunk *c, struct ti_err *err)
{
    static const uint8_t zeros[TI_CHUNK_BYTES];
    uint8_t h[TI_CHUNK_BYTES];
    int64_t rest = f->bytes - f->at;
    const char *wrong;
    ti_status st;

    errno = 0;
    f->at_end = rest < TI_CHUNK_BYTES;
    if (f->at_end)
        return TI_OK;
    st = read_at(f, f->at, h, sizeof h, err);
    if (st)
        return st;
    if (memcmp(h, zeros, sizeof zeros) == 0) { /* an unfinished chunk */
        f->at_end = true;
        return TI_OK;
    }
    if (!ti_chunk_get(h, c))
        return ti__file_damaged(f, f->at, err, "a chunk header's checksum is wrong");
    if ((int64_t)c->stored + TI_CRC_BYTES > rest - TI_CHUNK_BYTES) {
        f->at_end = true;
        return TI_OK;
    }
    wrong = c->events > EVENTS_MAX && c->type != TI_CHUNK_FLD &&
                    c->version < TI_CHUNK_VERSION_COPIES
                ? "a chunk is too large"
                : ti_chunk_lengths(c);
    if (wrong)
        return ti__file_damaged(f, f->at, err, wrong);
    if (f->nchunks == 0)
        f->rank = c->group;
    if (c->group != f->rank || f->rank >= f->nranks)
        return ti__file_damaged(f, f->at, err, "a chunk belongs to another rank");
    return TI_OK;
}

static void pass_chunk(struct trace_file *f, const struct ti_chunk *c, const uint8_t *crc)
{
    f->at += TI_CHUNK_BYTES + (int64_t)c->stored + TI_CRC_BYTES;
    f->all_crc = ti_crc32c(f->all_crc, c->crc, TI_CRC_BYTES);
    f->all_crc = ti_crc32c(f->all_crc, crc, TI_CRC_BYTES);
    f->nchunks++;
}

ti_status ti__file_payload(struct trace_file *f, const struct ti_chunk *c, uint8_t **out,
                           struct ti_err *err)
{
    uint8_t *stored = malloc((size_t)c->stored + TI_CRC_BYTES), *raw = NULL;
    const char *wrong;
    ti_status st;

    if (!stored)
        return ti__file_no_memory(f, err);
    st = read_at(f, f->at + TI_CHUNK_BYTES, stored, (size_t)c->stored + TI_CRC_BYTES, err);
    if (st)
        goto out;
    raw = malloc((size_t)c->raw + 1);
    if (!raw) {
        st = ti__file_no_memory(f, err);
        goto out;
    }
    wrong = ti_chunk_unpack(c, stored, raw);
    if (wrong) {
        st = ti__file_damaged(f, f->at, err, wrong);
        goto out;
    }
    pass_chunk(f, c, stored + c->stored);
    *out = raw;
    raw = NULL;
out:
    free(raw);
    free(stored);
    return st;
}

bool ti__file_at_end_mark(const struct trace_file *f)
{
    char mark[TI_MAGIC_BYTES];

    return f->bytes - f->at == TI_MAGIC_BYTES &&
           read_at(f, f->at, mark, sizeof mark, NULL) == TI_OK &&
           memcmp(mark, TI_MAGIC_END, sizeof mark) == 0;
}

ti_status ti__file_pass(struct trace_file *f, const struct ti_chunk *c, struct ti_err *err)
{
    uint8_t crc[TI_CRC_BYTES];
    ti_status st = read_at(f, f->at + TI_CHUNK_BYTES + c->stored, crc, sizeof crc, err);

    if (st == TI_OK)
        pass_chunk(f, c, crc);
    return st;
}

void ti__file_close(struct trace_file *f)
{
    if (f->own_fd)
        close(f->fd);
    free(f->own_memory);
    free(f->name);
}
