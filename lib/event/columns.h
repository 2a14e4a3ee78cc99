/*
 * Encoding of events: the payload of EVT and XTR chunks (trace.h).
 *
 * Events are stored as columns: each symbol (event/symbol.h) has a column for each of its numbers.
 * A chunk refers to nothing outside itself, except strings, communicators and long vectors earlier
 * in the file.  Or it goes on with the chunk of events before it: it has the symbols and columns of
 * that one, and its data follows the data that these have so far.
 *
 * EVT:
 *
 *   goes on   varint 1 if it goes on with the chunk before, else 0
 *   sequence  varint bytes of its data
 *   known     for each column of known symbols, in order: varint bytes
 *   symbols   varint n, the new ones, then n times: varint op, varint site, varint mask,
 *             varint kinds (event/symbol.h), and varint bytes of each of its columns.
 *             A symbol has a column for each field of its mask whose kind is a number,
 *             in the order of TI_FIELDS, then one for each vector of its operation
 *   known     for each known column of volumes, in order: varint bytes
 *   volumes   varint n, the new ones, then n times: varint before, varint symbol, varint bytes.
 *             Each is a column with the volumes of the bursts before the events of
 *             `symbol` that follow an event of symbol `before` - 1; `before` is 0
 *             for the first event of a chunk that does not go on
 *   data      the sequence, the columns of the symbols, the columns of volumes; known
 *             ones come first
 *
 * A column of values is a list of tokens (varint run, zigzag difference).  A token stands for `run`
 * copies of the last value, which is 0 at the start, then a value that is larger by `difference`,
 * modulo 2^64.  After the end of the list, the last value repeats for ever.  If a later chunk goes
 * on, its first `run` includes the repetitions that were read after the end of the list.
 *
 * A writer may replace tokens that repeat others by a copy: (varint count, 0, varint how), which no
 * token is, since values that do not change are in runs.  The copy stands for `count` tokens, at
 * least 1, of a part of the column, and after the last token of the part comes its first one again:
 *
 *   how 0 to 3  the copy goes on in the part of the last copy, where that one stopped; it
 *               first skips `how` tokens
 *   how 4 + n   the tokens of another part: the last n bytes of the column before this copy,
 *               n above 0, which may be of chunks that this one goes on with
 *
 * Copies inside of a part are no tokens of it.
 *
 * A column of vectors is a list of (varint run, zigzag length, elements).  It stands for `run`
 * copies of the last vector, which is empty at the start, then a new vector of `length` elements.
 * The elements are encoded as a column of values, except that the list ends with the last element:
 * a run that reaches it has no difference.  A length below 0 is the complement of the number of a
 * VEC chunk, whose vector is used once.  After the end of the list, the last vector repeats for
 * ever.
 *
 * The sequence is a list of tokens (varint run, varint symbol + 1) and copies.  The prediction for
 * the next symbol is the one that followed the present symbol last time.  `run` predictions are
 * right, then `symbol` comes.  After the end of the list, all predictions are right.
 *
 * Before version 4 of the chunk there were no copies, the sequence had `symbol` itself, and no
 * chunk went on: it began with the length of the sequence.
 *
 * XTR: an extra value belongs to a burst, as the volume does.  So each column of volumes in the
 * next EVT chunk has a column of each extra kind beside it.
 *
 *   extras    varint E, the number of extra columns of the trace; varint V, the number
 *             of columns of volumes, known and new ones; then V times E times: varint bytes
 *   data      these columns of values, in the same order; known columns go on, too
 */
#ifndef TI_EVENT_COLUMNS_H
#define TI_EVENT_COLUMNS_H

#include "event/symbol.h"

/* The least `how` of a copy from another part; see above. */
#define TI_COPY_NEW 4

#define TI_VARINT_MAX 10 /* bytes */

static inline uint64_t ti_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t ti_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Write `v` at `p`, which has room for TI_VARINT_MAX bytes; returns the bytes used. */
static inline int ti_put_varint(uint8_t *p, uint64_t v)
{
    int n = 0;

    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

/* Read a varint at *p and advance *p; false if it is malformed or does not end before `end`. */
static inline bool ti_get_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;

    for (int shift = 0; *p < end && shift < 70; shift += 7) {
        uint8_t byte = *(*p)++;

        v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) {
            *out = v;
            return shift < 63 || byte <= 1;
        }
    }
    return false;
}

static inline void ti_put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void ti_put_u32(uint8_t *p, uint32_t v)
{
    ti_put_u16(p, (uint16_t)v);
    ti_put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void ti_put_u64(uint8_t *p, uint64_t v)
{
    ti_put_u32(p, (uint32_t)v);
    ti_put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t ti_get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t ti_get_u32(const uint8_t *p)
{
    return ti_get_u16(p) | (uint32_t)ti_get_u16(p + 2) << 16;
}

static inline uint64_t ti_get_u64(const uint8_t *p)
{
    return ti_get_u32(p) | (uint64_t)ti_get_u32(p + 4) << 32;
}

#endif
