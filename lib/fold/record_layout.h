/*
 * The record (fold/record.h) that a folded trace becomes.
 *
 * Pattern:
 *
 *   version   varint TI_RECORD_VERSION; TI_RECORD_EXACT if all is exact
 *   end       u8 (enum ti_end), then u8: whether there are totals
 *   metadata  varint n, varint how many of these are from INF, not TOT; n keys, each with a zero
 *             byte behind it; n times u8 form.  Form 0: the value is a text; else it is a number
 *             with form - 1 decimals, without a sign, as printf() writes it
 *   comms     varint n, then n times: varint index, u8 kind (enum ti_comm_kind), u8: whether it is
 *             an intercommunicator
 *   strings   varint number of call sites, of names of calls, of names of files
 *   volumes   varint 1 + number of extra columns
 *   symbols   varint n, then n times: varint op, varint site, varint mask, varint kinds (as in
 *             event/symbol.h), varint mask of the fields that have a column, varint mask of
 *             the vectors that have a column
 *   shape     varint n, then n nodes.  A node is varint symbol << 1, a leaf; or varint
 *             children << 1 | 1, a loop, and its children
 *
 * Numbers: if there are totals, the hash; the others are sums over the shape.  For each number in
 * metadata its digits as an integer.  For each communicator: our rank, its size, and of an
 * intercommunicator the size of the other group; then the first member, and that of the other
 * group.  For each call site its offset, or -1.  The number of different vectors, and of their
 * lengths, models and elements the first value.  For each symbol, in order: each field of the mask
 * that is a number and has no column, then for each vector of the operation without a column the
 * number of the vector.  For each node of the shape, in preorder: the first value of each column.
 *
 * Blobs: the texts in metadata; for each communicator its members, and of an intercommunicator
 * those of the other group; strings: call sites, calls, files; the lengths of the vectors, their
 * models and their elements; for each node of the shape its columns (fold/column.h).
 * Members, lengths, models and elements are columns, too, of known length.
 *
 * Call site: the offset is the hexadecimal number behind the first "+0x" of the text, which is left
 * out of the blob.  -1: the blob is the whole text.  So call sites of a program share their blob.
 *
 * Vector: if its model is k > 0, its elements are differences to the elements of the k-th vector
 * before it, which is as long.  The blob of the elements may be no column, but the byte TI_PLAIN,
 * with which no column begins, and zigzag each element.
 *
 * A loop has one column, its trip counts.  A leaf has for each arrival (fold/fold.h) a
 * column of volumes and the extra columns, then a column for each field and each vector of its
 * symbol that has one; that of a vector holds numbers of vectors.
 *
 * Call sites are numbered in the order in which events use them.  Other strings keep the numbers
 * that they have in the trace, because events' hashes contain these.
 *
 * Chunk: a FLD chunk of a rank file (trace/trace.h) has a part of the events.  Its payload is:
 * varint bytes of the pattern, the pattern; varint n, then n numbers as zigzag varints; varint n,
 * then n blobs, each a varint length and its bytes.  Version, end, metadata, communicators and
 * strings are missing, and so are their numbers and blobs.  Call sites keep the numbers that they
 * have in the trace.  All columns are lists of tokens.
 *
 * A trace that folding does not make smaller becomes another record: version is TI_RECORD_COPY,
 * there are no numbers, and the blobs, one after the other, are the rank file.
 */
#ifndef TI_FOLD_RECORD_LAYOUT_H
#define TI_FOLD_RECORD_LAYOUT_H

#define TI_RECORD_COPY    0
#define TI_RECORD_EXACT   2 /* all columns are lists of tokens, or histograms of an older writer */
#define TI_RECORD_VERSION 3 /* or any of fold/quality_columns.h */

/* Limits of a reader. */
#define TI_SHAPE_DEPTH    200
#define TI_RECORD_EVENTS  (UINT64_C(1) << 44) /* of one rank: at one a microsecond, half a year */
#define TI_RECORD_VECTORS (1u << 20)          /* different vectors; elements of all of them */
#define TI_RECORD_RUNS    (64u << 20)         /* of columns, read to add them up */
#define TI_RECORD_MEMBERS (32 << 20)          /* of all communicators */

#define TI_OFFSET_MARK   "+0x" /* in call sites */
#define TI_OFFSET_DIGITS 15

#define TI_CHUNK_COLUMNS (1u << 16) /* numbers of a FLD chunk, and blobs; writers made < 2^14 */

#define TI_DECIMALS_MAX 9 /* of a number in metadata, and 18 digits in all */

#define TI_PLAIN  1
#define TI_MODELS 8 /* vectors before one of which may be its model */

/* A field with more different values than this gets a column, and a vector with more than one. */
#define TI_FIELD_VALUES 8

#endif
