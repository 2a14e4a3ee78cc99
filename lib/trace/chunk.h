/*
 * Chunks of trace/trace.h as bytes: what rank files and merged traces have in common.
 */
#ifndef TI_TRACE_CHUNK_H
#define TI_TRACE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "trace/trace.h"

/* Deflate makes at most this many bytes of one. */
#define TI_DEFLATE_RATIO 1032

/* The header of a chunk. */
struct ti_chunk {
    uint8_t type, flags, version, codec;
    uint32_t group;
    uint64_t first;
    uint32_t events, raw, stored;
    uint8_t crc[TI_CRC_BYTES]; /* of the header, as stored */
};

/* Bytes to header.  False: the checksum is wrong. */
bool ti_chunk_get(const uint8_t header[TI_CHUNK_BYTES], struct ti_chunk *c);

/* Check the lengths of a chunk; returns a text that says what is wrong, or NULL. */
const char *ti_chunk_lengths(const struct ti_chunk *c);

/* Decompress a payload whose checksum follows it: from `stored`, of c->stored + TI_CRC_BYTES bytes,
 * to `raw`, of c->raw bytes.  Returns what is wrong; NULL: nothing.  The second function is for a
 * payload that was compressed with a dictionary. */
const char *ti_chunk_unpack(const struct ti_chunk *c, uint8_t *stored, uint8_t *raw);
const char *ti_chunk_unpack_with(const struct ti_chunk *c, const char *dictionary, size_t bytes,
                                 uint8_t *stored, uint8_t *raw);

/* Read `bytes` bytes from byte `at` of `fd`; messages call it `name`.  TI_ERR_IO. */
ti_status ti_read_at(int fd, int64_t at, void *buf, size_t bytes, const char *name,
                     struct ti_err *err);

#endif
