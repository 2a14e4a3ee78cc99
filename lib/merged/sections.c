#include <stdlib.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "common/scratch.h"
#include "common/write.h"
#include "merged/dictionary.h"
#include "merged/merger_internal.h"

/* The first chunks are compressed as well as possible: a small file has no others, and they have
 * the groups.  Level 9 may take ten times as long as 6. */
enum { BEST_CHUNKS = 16, BEST_LEVEL = 9, LEVEL = 6 };

#define PIECE ((size_t)1 << 18) /* that is compressed before the next look for a signal */
#define PROBE 4096              /* bytes of a chunk that are tried first */

static ti_status put_file(struct sections *s, const void *data, size_t bytes, struct ti_err *err)
{
    if (ti_stopped())
        return ti_stop_check(err);
    if (!ti_write_all(s->fd, data, bytes))
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", s->name);
    return TI_OK;
}

ti_status ti__sections_begin(struct sections *s, uint32_t nranks,
                             const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_err *err)
{
    uint8_t h[TI_HEADER_BYTES] = {0};

    memcpy(h, TI_MAGIC, TI_MAGIC_BYTES);
    ti_put_u16(h + 8, TI_MAJOR);
    ti_put_u16(h + 10, TI_MINOR);
    ti_put_u32(h + 12, TI_INCOMPAT_MERGED);
    ti_put_u32(h + 20, nranks);
    memcpy(h + 24, run_id, TI_RUN_ID_BYTES);
    ti_put_u32(h + TI_VERSION_AT, TI_MERGED_VERSION);
    ti_put_u32(h + 44, ti_crc32c(0, h, 44));
    return put_file(s, h, sizeof h, err);
}

/* Whether a chunk of a large section may get smaller: copies of rank files do not, since they are
 * compressed already, and trying takes longer than all else. */
static bool may_pack(const struct ti_buffer *raw)
{
    uint8_t out[PROBE + PROBE / 8];
    uLongf n = sizeof out;

    return raw->n < 8 * PROBE ||
           compress2(out, &n, raw->data + raw->n / 2, PROBE, Z_BEST_SPEED) != Z_OK ||
           n < PROBE - PROBE / 32;
}

/* Compress `raw` to `out`, piece by piece, since a large one takes seconds.  False: that does not
 * make it smaller, or a signal came. */
static bool pack(const struct ti_buffer *raw, int level, struct ti_buffer *out)
{
    size_t left = raw->n;
    z_stream z = {0};
    int rc = Z_OK;

    if (!may_pack(raw))
        return false;
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    deflateSetDictionary(&z, (const Bytef *)ti_dictionary, TI_DICTIONARY_BYTES);
    out->data = ti_grow(out->data, &out->cap, raw->n + 1, 1);
    z.next_in = raw->data;
    z.next_out = out->data;
    z.avail_out = (uInt)raw->n;
    while (rc == Z_OK && left && !ti_stopped()) {
        z.avail_in = (uInt)(left < PIECE ? left : PIECE);
        left -= z.avail_in;
        rc = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
        rc = z.avail_in ? Z_BUF_ERROR : rc;
    }
    out->n = raw->n - z.avail_out;
    deflateEnd(&z);
    return rc == Z_STREAM_END && out->n < raw->n;
}

/* Write a chunk; *stored is the length of its payload in the file.  All parts of the file come
 * here, with the flags of their buffers: this is where short memory becomes an error. */
static ti_status put_chunk(struct sections *s, const struct ti_buffer *raw, size_t *stored,
                           struct ti_err *err)
{
    struct ti_buffer packed = {0};
    const struct ti_buffer *payload = raw;
    uint8_t crc[TI_CRC_BYTES];
    ti_status st;

    if (raw->no_memory)
        return ti_err_memory(err, "write a merged trace");
    if (pack(raw, s->nchunks < BEST_CHUNKS ? BEST_LEVEL : LEVEL, &packed))
        payload = &packed;
    if (raw->n > TI_CHUNK_RAW_MAX) {
        free(packed.data);
        return ti_err_set(err, TI_ERR_INPUT, "cannot write '%s': it has too many groups of ranks",
                          s->name);
    }
    ti_put_u32(crc, ti_crc32c(0, payload->data, payload->n));
    st = put_file(s, payload->data, payload->n, err);
    if (!st)
        st = put_file(s, crc, sizeof crc, err);
    *stored = payload->n;
    free(packed.data);
    return st;
}

static ti_status flush(struct sections *s, struct ti_err *err)
{
    uint64_t sections = s->n - s->first;
    ti_status st = TI_OK;
    size_t stored;

    if (!sections)
        return TI_OK;
    ti_buffer_join(&s->lengths, &s->data);
    st = put_chunk(s, &s->lengths, &stored, err);
    if (st)
        return st;
    ti_buffer_varint(&s->chunks, stored);
    ti_buffer_varint(&s->chunks, s->lengths.n);
    ti_buffer_varint(&s->chunks, sections);
    s->nchunks++;
    s->first = s->n;
    s->lengths.n = s->data.n = 0;
    return st;
}

ti_status ti__sections_put(struct sections *s, const struct ti_buffer *section, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (s->lengths.n + s->data.n + section->n > TI_FILL_BYTES || s->n - s->first == TI_SECTIONS_MAX)
        st = flush(s, err);
    ti_buffer_varint(&s->lengths, section->n);
    ti_buffer_join(&s->data, section);
    s->n++;
    return st;
}

ti_status ti__sections_end(struct sections *s, const uint64_t counts[3],
                           const struct ti_buffer *ranks, struct ti_err *err)
{
    uint8_t trailer[TI_TRAILER_BYTES];
    struct ti_buffer index = {0};
    ti_status st = flush(s, err);
    size_t stored;

    for (int i = 0; i < 3; i++)
        ti_buffer_varint(&index, counts[i]);
    ti_buffer_varint(&index, s->nchunks);
    ti_buffer_join(&index, &s->chunks);
    ti_buffer_join(&index, ranks);
    if (!st)
        st = put_chunk(s, &index, &stored, err);
    if (!st) {
        ti_put_u32(trailer, (uint32_t)stored);
        ti_put_u32(trailer + 4, (uint32_t)index.n);
        ti_put_u32(trailer + 8, ti_crc32c(0, trailer, 8));
        memcpy(trailer + 12, TI_MAGIC_END, TI_MAGIC_BYTES);
        st = put_file(s, trailer, sizeof trailer, err);
    }
    free(index.data);
    return st;
}

void ti__sections_free(struct sections *s)
{
    free(s->lengths.data);
    free(s->data.data);
    free(s->chunks.data);
}
