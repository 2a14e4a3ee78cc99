/*
 * The layout of a merged trace.  Integers, varints and zigzag are as in trace/trace.h.
 *
 *   file     header; chunks of sections; one chunk, the index; end
 *   header   as in trace/trace.h, with TI_INCOMPAT_MERGED.  In the place of the reserved word is
 *            TI_MERGED_VERSION
 *   chunk    payload, then CRC32C u32 of the payload as it is stored.  The payload is compressed
 *            (raw deflate, with the dictionary of dictionary.h), unless that makes it no smaller
 *   end      of the index u32 stored length, u32 raw length; CRC32C u32 of these 8 bytes;
 *            TI_MAGIC_END
 *
 * The stored length of a chunk is that of its payload in the file, without the CRC.  The raw length
 * is that of the payload after decompression.  If both are equal, the payload is not compressed.
 *
 * A merged trace consists of sections, which are numbered: first groups, then pages, then blobs.
 * Payloads:
 *
 *   sections  varint length of each, then their bytes
 *   index     varint groups, varint pages, varint blobs; varint chunks of sections, and for each
 *             varint stored length, varint raw length, varint sections; then runs of ranks, from
 *             rank 0 to the last of the run: varint ranks, varint 1 + their group, 0 if they are
 *             missing
 *
 * Group: ranks, its members, whose records have the same pattern and as many numbers and blobs.
 * Groups are ordered by their lowest member.
 *
 *   group    varint bytes of the pattern, pattern; varint numbers N; varint blobs B; N + B times
 *            kind u8; the parameters of these columns in order; if a column lies in pages: varint
 *            number of the first page of the group, then (varint pages, varint members in each)
 *            until all members have their page
 *
 * Column: one number, or the blob at one position, over the members of a group.  A blob that is
 * used twice is a section of its own, and so is a large one; the column has its number, counted
 * from the first blob.  Any other is private: it lies in the page of its rank.  Kinds, and
 * parameters:
 *
 *   0 constant   zigzag a             a
 *   1 linear     zigzag a, zigzag b   a + b * rank
 *   2 xor        varint c             (rank ^ c) - rank; numbers only
 *   3 series     steps                T[i] for member i of the group
 *   4 table      varint q, varint p,  T[rank / q % p], and with p = 0 T[rank / q]
 *                steps
 *   5 paged                           in pages
 *   6 private                         all private; blobs only
 *
 *   steps    T as varint n, then n times (varint count, zigzag difference): each element is the one
 *            before it, 0 at the start, plus `difference`
 *
 * Sums and products are modulo 2^64.
 *
 * Page: what consecutive members of one group have in paged and private columns.
 *
 *   page     for each paged number: column of values; for each paged blob: column of values, which
 *            are 1 + the blob's number, or 0 if it is private; for each paged or private column of
 *            blobs: varint length of each private blob, by member; the bytes of private blobs in
 *            the same order
 *   column   u8 0, then zigzag differences, the first from 0; or u8 1, then 8 bytes each
 *
 * The blobs that are sections are numbered in the order in which groups, their members, and the
 * positions of these first use them.
 *
 * A section is at most TI_CHUNK_RAW_MAX bytes.  The writer fills chunks and pages up to
 * TI_FILL_BYTES before compression, unless one section or member needs more.
 */
#ifndef TI_MERGED_LAYOUT_H
#define TI_MERGED_LAYOUT_H

#include "trace/trace.h"

#define TI_MERGED_VERSION 2
#define TI_VERSION_AT     40 /* in the header */
#define TI_TRAILER_BYTES  (4 + 4 + TI_CRC_BYTES + TI_MAGIC_BYTES)

/* Limits of a record; the reader imposes them, too. */
#define TI_COLUMNS_MAX (1u << 20) /* numbers and blobs */
#define TI_PATTERN_MAX (32u << 20)
#define TI_BLOB_MAX    (60u << 20)
#define TI_RECORD_MAX  (256u << 20) /* bytes of pattern and blobs */

#define TI_SECTIONS_MAX (1u << 16) /* in one chunk */
#define TI_FILL_BYTES   (64u << 10)

/* Private blobs are shorter than TI_APART_BYTES, and those of a rank together at most
 * TI_PRIVATE_MAX; what is longer is a section. */
#define TI_APART_BYTES (32u << 10)
#define TI_PRIVATE_MAX (16u << 20)

enum ti_column_kind {
    TI_COLUMN_CONSTANT,
    TI_COLUMN_LINEAR,
    TI_COLUMN_XOR,
    TI_COLUMN_SERIES,
    TI_COLUMN_TABLE,
    TI_COLUMN_PAGED,
    TI_COLUMN_PRIVATE
};

#endif
