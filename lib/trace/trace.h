/*
 * The container of a trace: what writer and reader share.  All fixed-width integers are
 * little-endian; "varint" is LEB128, "zigzag" maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ... before it.
 *
 *   file     header, chunks of which the last is IDX, TI_MAGIC_END
 *   header   48 bytes: magic 8, major u16, minor u16, incompat u32, compat u32,
 *            nranks u32, run id 16, u32 (0, or the version of a merged trace), CRC32C of the
 *            44 before
 *   chunk    header of 32 bytes: type u8, flags u8, version u8, codec u8,
 *            group u32 (the rank), first event u64, events u32, raw length u32,
 *            stored length u32, CRC32C of the 28 before; then the stored
 *            payload; then its CRC32C
 *
 * A chunk's header is written last, over zeros.  So a reader recognizes a chunk that was not
 * completed, and everything before it stays readable.  A reader skips a chunk of unknown type or
 * version if TI_CHUNK_OPTIONAL is set in its flags, and else refuses the file.
 *
 * Payloads, after decompression:
 *
 *   INF  metadata: (varint length, key, varint length, value)*
 *   STR  strings: (varint number, kind u8, varint length, bytes)*; numbers of
 *        a kind start at 1 and grow by 1.  Kind 's' is a call site "module+0xoffset
 *        [build-id]", kind 'c' the name of an MPI call that is not traced, kind 'f'
 *        a file's name as the application gave it
 *   COM  communicators: (varint index, varint own rank, varint size, kind u8
 *        (enum ti_comm_kind), members)*.  Members are world ranks in order as
 *        runs (varint n, zigzag first - last of the run before, zigzag stride)
 *        until `size` ranks are there; a run of one has no stride.  Of an
 *        intercommunicator, varint size and members of the other group follow
 *   VEC  one long vector: varint number, varint length, zigzag differences
 *   EVT  events, see event/columns.h
 *   FLD  events, in place of EVT and XTR, from versions 2 and 3 of chunks: a nest of
 *        loops with columns; see fold/record_layout.h
 *   XTR  extra values of the events of the next EVT chunk; its header repeats that
 *        chunk's first event and number of events; see event/columns.h
 *   TOT  volume u64, events u64, hash u64 (event/event.h), state u8
 *        (enum ti_end), then metadata as in INF
 *   IDX  varint number of chunks before this one, varint bytes of the file before
 *        this one, CRC32C u32 over the two CRCs of every chunk before it, in order
 *
 * A merged trace, of many ranks, has the feature TI_INCOMPAT_MERGED, and other chunks;
 * merged/layout.h describes them.
 *
 * Extra columns are values beside the volumes: durations, further counters.  They differ from run
 * to run.  So hash, totals and comparisons leave them out, and XTR is an optional chunk.  Metadata
 * "extra" names them in order: NAME:UNIT, separated by blanks; a name may have colons.
 *
 * tiara-trace(5) lists the metadata keys.
 */
#ifndef TI_TRACE_TRACE_H
#define TI_TRACE_TRACE_H

#include <stdint.h>

#include "common/limits.h"
#include "event/kinds.h"

#define TI_MAGIC         "\211TIARA\r\n"
#define TI_MAGIC_END     "TIARAEND"
#define TI_MAGIC_BYTES   8
#define TI_MAJOR         1
#define TI_MINOR         0
#define TI_CHUNK_VERSION 4
#define TI_CHUNK_VERSION_LEAST  2 /* the oldest that is read; has no TI_CODEC_METADATA */
#define TI_CHUNK_VERSION_COPIES 4 /* the first one with copies in columns */
#define TI_HEADER_BYTES  48
#define TI_CHUNK_BYTES   32
#define TI_CRC_BYTES     4

/* Bits of `incompat`. */
#define TI_INCOMPAT_MERGED 1u

/* clang-format off */
#define TI_CHUNKS(X)                                                      \
    X(INF, 1) X(STR, 2) X(COM, 3) X(VEC, 4) X(EVT, 5) X(TOT, 6) X(IDX, 7) \
    X(XTR, 8) X(FLD, 9)
/* clang-format on */

#define TI_CHUNK_ENUM(name, number) TI_CHUNK_##name = number,
enum ti_chunk_type { TI_CHUNKS(TI_CHUNK_ENUM) TI_CHUNK_NONE = 0 };

enum { TI_CHUNK_OPTIONAL = 1 };                                           /* flags */
enum ti_codec {
    TI_CODEC_RAW = 0,
    TI_CODEC_ZLIB = 1, /* raw deflate */
    TI_CODEC_ZSTD = 2, /* reserved: readers refuse it */
    TI_CODEC_METADATA = 3 /* raw deflate with the dictionary of trace/metadata.h */
};

/* Limits that a reader imposes, against damaged or hostile lengths. */
#define TI_CHUNK_RAW_MAX (64u << 20)
#define TI_STRING_MAX    (1u << 16)

#define TI_RUN_ID_BYTES 16
#define TI_RUN_ID_TEXT  (2 * TI_RUN_ID_BYTES + 1) /* hex digits and the 0 */

#endif
