#include "trace/chunk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "event/columns.h"
#include "trace/metadata.h"

bool ti_chunk_get(const uint8_t header[TI_CHUNK_BYTES], struct ti_chunk *c)
{
    c->type = header[0];
    c->flags = header[1];
    c->version = header[2];
    c->codec = header[3];
    c->group = ti_get_u32(header + 4);
    c->first = ti_get_u64(header + 8);
    c->events = ti_get_u32(header + 16);
    c->raw = ti_get_u32(header + 20);
    c->stored = ti_get_u32(header + 24);
    memcpy(c->crc, header + 28, TI_CRC_BYTES);
    return ti_get_u32(header + 28) == ti_crc32c(0, header, 28);
}

const char *ti_chunk_lengths(const struct ti_chunk *c)
{
    if (c->raw > TI_CHUNK_RAW_MAX || c->stored > 2 * TI_CHUNK_RAW_MAX)
        return "a chunk is too large";
    if ((c->codec == TI_CODEC_ZLIB || c->codec == TI_CODEC_METADATA) &&
        c->raw > TI_DEFLATE_RATIO * (uint64_t)c->stored)
        return "a chunk's lengths are impossible";
    return NULL;
}

const char *ti_chunk_unpack(const struct ti_chunk *c, uint8_t *stored, uint8_t *raw)
{
    if (c->codec == TI_CODEC_METADATA)
        return ti_chunk_unpack_with(c, ti_metadata_dictionary, TI_METADATA_DICTIONARY_BYTES, stored,
                                    raw);
    return ti_chunk_unpack_with(c, NULL, 0, stored, raw);
}

const char *ti_chunk_unpack_with(const struct ti_chunk *c, const char *dictionary, size_t bytes,
                                 uint8_t *stored, uint8_t *raw)
{
    z_stream z = {.next_in = stored, .avail_in = c->stored, .next_out = raw, .avail_out = c->raw};
    int rc;

    if (ti_get_u32(stored + c->stored) != ti_crc32c(0, stored, c->stored))
        return "a chunk's checksum is wrong";
    if (c->codec == TI_CODEC_RAW && c->raw == c->stored) {
        memcpy(raw, stored, c->raw);
        return NULL;
    }
    if (c->codec != TI_CODEC_ZLIB && c->codec != TI_CODEC_METADATA)
        return "a chunk's compression is unknown";
    rc = inflateInit2(&z, -MAX_WBITS);
    if (rc == Z_OK) {
        if (dictionary)
            rc = inflateSetDictionary(&z, (const Bytef *)dictionary, (uInt)bytes);
        if (rc == Z_OK)
            rc = inflate(&z, Z_FINISH);
        inflateEnd(&z);
    }
    if (rc != Z_STREAM_END || z.avail_out || z.avail_in)
        return "a chunk does not decompress";
    return NULL;
}

ti_status ti_read_at(int fd, int64_t at, void *buf, size_t bytes, const char *name,
                     struct ti_err *err)
{
    uint8_t *p = buf;

    while (bytes) {
        ssize_t n = pread(fd, p, bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
        if (n == 0)
            return ti_err_set(err, TI_ERR_IO, "cannot read '%s': it became shorter meanwhile",
                              name);
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
    return TI_OK;
}
