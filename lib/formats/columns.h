/*
 * Payload of an EVT chunk: events as columns.
 *
 * Every chunk stands alone but for the strings, communicators and long vectors
 * that precede it in the file.
 *
 *   sequence  varint bytes of its data
 *   symbols   varint n, then n times: varint op, varint site, varint mask,
 *             varint kinds, and for each of its columns varint bytes.  A symbol
 *             is what an event shares with the others like it; `kinds` has two
 *             bits for each field of TI_SPECIALS in that order: 0 a number,
 *             1 TI_ANY, 2 TI_NULL, 3 TI_SELF.  A symbol has a column for each field of its
 *             mask that is a number, in the order of TI_FIELDS, then one for
 *             each vector of its operation
 *   volumes   varint n, then n times: varint before, varint symbol, varint
 *             bytes: a column of the volumes of the bursts before an event of
 *             `symbol` that follows one of symbol `before` - 1 (0: the first of
 *             the chunk)
 *   data      of the sequence, the symbols' columns and the volumes', in order
 *
 * A column of values is a list of (varint run, zigzag difference): `run` times
 * the last value again (it is 0 at the start), then a value that differs by
 * `difference`, modulo 2^64.  After the list, the last value for ever.
 *
 * A column of vectors is a list of (varint run, zigzag length, elements): `run`
 * times the last vector again (it is empty at the start), then one of `length`
 * elements.  They are as a column of values, but for that no difference follows
 * a run that reaches the last element, and that nothing follows it.  A length
 * below 0 is the complement of the number of a VEC chunk, whose vector does not
 * come again.  After the list, the last vector for ever.
 *
 * The sequence is a list of (varint run, varint symbol): `run` times the symbol
 * that followed last time after the present one, then `symbol`.  After the
 * list, predictions until the chunk's events are there.
 *
 * Payload of an XTR chunk: an extra value belongs to a burst, as the volume does,
 * so each column of volumes in the EVT that follows has one of each kind beside it.
 *
 *   extras    varint extra columns of the trace, varint columns of volumes, then
 *             for each of the latter in order, for each of the former varint bytes
 *   data      of these columns of values, in order
 */
#ifndef TI_COLUMNS_H
#define TI_COLUMNS_H

#include "formats/event.h"

/* Fields that may be TI_ANY, TI_NULL or TI_SELF: the least numbers there are. */
#define TI_SPECIALS(X)        X(PEER) X(TAG) X(PEER2) X(TAG2) X(COLOR) X(NEWCOMM) X(ROOT)
#define TI_SPECIAL_MASK(name) TI_M_##name |
enum { TI_M_SPECIAL = TI_SPECIALS(TI_SPECIAL_MASK) 0 };
_Static_assert(TI_NULL == TI_ANY + 1 && TI_SELF == TI_ANY + 2, "a kind is the distance + 1");

#define TI_VARINT_MAX 10 /* bytes */

static inline uint64_t ti_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t ti_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Write `v` at `p`, which has room for TI_VARINT_MAX bytes; the bytes used. */
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

/* Read one at *p, before `end`, and move *p behind it; false if there is none. */
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
