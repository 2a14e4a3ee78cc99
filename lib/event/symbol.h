/*
 * Symbols: classes of events that differ in numbers only.
 *
 * Events with the same operation, call site, fields and kinds of fields have the same symbol.  The
 * library writes it before their numbers (event/columns.h), the folded form has it with those
 * numbers that do not change (fold/symbols.h).  The writer, the reader and the encoder each number
 * the symbols that they have seen; this header is the rest of their tables.
 */
#ifndef TI_EVENT_SYMBOL_H
#define TI_EVENT_SYMBOL_H

#include "event/event.h"

/* Fields that may have a special value.  TI_ANY, TI_NULL and TI_SELF are the lowest int64_t, so a
 * kind can be computed. */
#define TI_SPECIALS(X)        X(PEER) X(TAG) X(PEER2) X(TAG2) X(COLOR) X(NEWCOMM) X(ROOT)
#define TI_SPECIAL_MASK(name) TI_M_##name |
enum { TI_M_SPECIAL = TI_SPECIALS(TI_SPECIAL_MASK) 0 };
_Static_assert(TI_NULL == TI_ANY + 1 && TI_SELF == TI_ANY + 2, "a kind is the distance + 1");

struct ti_event_symbol {
    uint32_t site, mask; /* as in struct ti_event */
    uint32_t kinds;      /* two bits for each field of TI_SPECIALS, in that order: 0 a number,
                          * 1 TI_ANY, 2 TI_NULL, 3 TI_SELF */
    uint16_t op;
    uint8_t vecs;     /* bit v: the operation has vector v */
    uint8_t ncolumns; /* numbers and vectors: those that may differ between its events */
};

/* The `kinds` of an event. */
static inline uint32_t ti_event_kinds(const struct ti_event *ev)
{
    uint32_t rest = ev->mask & TI_M_SPECIAL, kinds = 0;
    int shift = 0;

    while (rest && ev->arg[__builtin_ctz(rest)] > TI_SELF)
        rest &= rest - 1;
    if (!rest)
        return 0;
#define TI_KIND_OF(name)                                                                           \
    if (ev->mask & TI_M_##name && ev->arg[TI_F_##name] <= TI_SELF)                                 \
        kinds |= ((uint32_t)(ev->arg[TI_F_##name] - TI_ANY) + 1) << shift;                         \
    shift += 2;
    TI_SPECIALS(TI_KIND_OF)
#undef TI_KIND_OF
    return kinds;
}

/* The value of a field that is not a number, by the `kinds` of its symbol; 0 if it is a number. */
static inline int64_t ti_kind_value(uint32_t kinds, uint32_t field)
{
#define TI_KIND_VALUE(name)                                                                        \
    if (field == TI_F_##name)                                                                      \
        return kinds & 3 ? TI_ANY + (int64_t)((kinds & 3) - 1) : 0;                                \
    kinds >>= 2;
    TI_SPECIALS(TI_KIND_VALUE)
#undef TI_KIND_VALUE
    return 0;
}

/* The mask of its fields that are numbers. */
static inline uint32_t ti_symbol_numbers(const struct ti_event_symbol *s)
{
    uint32_t numbers = s->mask, kinds = s->kinds;

    if (!kinds)
        return numbers;
#define TI_SPECIAL_NUMBER(name)                                                                    \
    if (kinds & 3)                                                                                 \
        numbers &= ~(uint32_t)TI_M_##name;                                                         \
    kinds >>= 2;
    TI_SPECIALS(TI_SPECIAL_NUMBER)
#undef TI_SPECIAL_NUMBER
    return numbers;
}

static inline struct ti_event_symbol ti_symbol_make(uint32_t op, uint32_t site, uint32_t mask,
                                                    uint32_t kinds)
{
    struct ti_event_symbol s = {site, mask, kinds, (uint16_t)op, (uint8_t)ti_op_vecs(op), 0};

    s.ncolumns = (uint8_t)(__builtin_popcount(ti_symbol_numbers(&s)) + __builtin_popcount(s.vecs));
    return s;
}

/* The symbol of an event that has these kinds. */
static inline struct ti_event_symbol ti_symbol_of(const struct ti_event *ev, uint32_t kinds)
{
    return ti_symbol_make(ev->op, ev->site, ev->mask, kinds);
}

/* Whether it is the symbol of an event that has these kinds. */
static inline bool ti_symbol_is(const struct ti_event_symbol *s, const struct ti_event *ev,
                                uint32_t kinds)
{
    return s->op == ev->op && s->site == ev->site && s->mask == ev->mask && s->kinds == kinds;
}

/* Make *s of numbers read from a file.  False if there is no such symbol: the trace has not so many
 * call sites, or the operation cannot have these fields, or a field not these kinds. */
bool ti_symbol_read(const uint64_t number[4], uint64_t sites, struct ti_event_symbol *s);

#endif
