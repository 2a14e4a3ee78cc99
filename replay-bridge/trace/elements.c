#include "replay-bridge/trace/elements.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

/* As in the replayer: a live element is made of pieces of so many bytes. */
#define PIECE (INT64_C(1) << 30)

#define WINDOW_MOST (INT64_C(1) << 46) /* bytes: half of an address space */

static const char *say(char *buf, size_t room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static const char *say(char *buf, size_t room, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf, room, fmt, ap);
    va_end(ap);
    return buf;
}

/* The sizes of predefined datatypes that keep the number of elements in a simulated reduction: some
 * algorithms divide the elements among the ranks. */
static bool kept_in_reduction(int64_t esize)
{
    return esize == 2 || esize == 4 || esize == 8;
}

static const char *too_many(int64_t n, const char *what, char *buf, size_t room)
{
    return say(buf, room,
               "SimGrid cannot count %lld bytes%s: it counts up to %d elements of 1, 2, 4, 8 or %d "
               "bytes",
               (long long)n, what, INT_MAX, TI_ELEMENT_MOST);
}

static const char *simulated(enum ti_element_use use, int64_t bytes, int64_t esize,
                             struct ti_elements *out, char *buf, size_t room)
{
    int64_t most = (int64_t)INT_MAX * TI_ELEMENT_MOST;

    if (use == TI_ELEMENTS_ROOM && bytes > most)
        bytes = most; /* no message is larger */
    if (use == TI_ELEMENTS_REDUCED && kept_in_reduction(esize) && bytes / esize <= INT_MAX) {
        *out = (struct ti_elements){(int)(bytes / esize), esize};
        return NULL;
    }
    for (int64_t size = 1; size <= TI_ELEMENT_MOST; size *= 2) {
        int64_t n = bytes / size + (use == TI_ELEMENTS_ROOM && bytes % size);

        if (n > INT_MAX || (bytes % size && use != TI_ELEMENTS_ROOM))
            continue;
        *out = (struct ti_elements){(int)n, size};
        return NULL;
    }
    return too_many(bytes, "", buf, room);
}

const char *ti_elements(bool live, enum ti_element_use use, int64_t bytes, int64_t esize,
                        struct ti_elements *out, char *buf, size_t room)
{
    *out = (struct ti_elements){0, 1};
    if (bytes < 0 || esize < 0)
        return say(buf, room, "it has %lld bytes in elements of %lld", (long long)bytes,
                   (long long)esize);
    if ((live || use == TI_ELEMENTS_REDUCED) && (esize ? bytes % esize : bytes))
        return say(buf, room, "%lld bytes are no whole number of elements of %lld",
                   (long long)bytes, (long long)esize);
    if (!live)
        return simulated(use, bytes, esize, out, buf, room);
    if (esize && (bytes / esize > INT_MAX || esize / PIECE > INT_MAX))
        return say(buf, room, "%lld elements of %lld bytes are more than can be counted",
                   (long long)(bytes / esize), (long long)esize);
    *out = (struct ti_elements){esize ? (int)(bytes / esize) : 0, esize};
    return NULL;
}

/* The bytes of a block; -1: more than there can be, or less than none. */
static int64_t block_bytes(const struct ti_vec *vec, int64_t i, int64_t esize)
{
    int64_t bytes;

    if (ti_vec_at(vec, i) < 0 || __builtin_mul_overflow(ti_vec_at(vec, i), esize, &bytes))
        return -1;
    return bytes;
}

/* Whether an int can count each block in elements of `size`, and in a reduction their sum, too:
 * SMPI adds up the counts of all ranks. */
static bool blocks_fit(bool reduced, const struct ti_vec *vec, int64_t esize, int64_t size)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < vec->len; i++) {
        int64_t bytes = block_bytes(vec, i, esize);

        if (bytes % size || bytes / size > INT_MAX)
            return false;
        sum += bytes / size;
        if (reduced && sum > INT_MAX)
            return false;
    }
    return true;
}

const char *ti_elements_of_blocks(bool live, bool reduced, const struct ti_vec *vec, int64_t esize,
                                  int64_t *size, char *buf, size_t room)
{
    int64_t largest = 0, places = 0;

    *size = esize;
    if (esize < 0)
        return say(buf, room, "its elements have %lld bytes", (long long)esize);
    for (int64_t i = 0; i < vec->len; i++) {
        int64_t bytes = block_bytes(vec, i, esize);

        if (bytes < 0 || (live && ti_vec_at(vec, i) > INT_MAX))
            return say(buf, room, "a block has %lld elements of %lld bytes",
                       (long long)ti_vec_at(vec, i), (long long)esize);
        if (live && places > INT_MAX)
            return say(buf, room, "its blocks are further apart than an int can say");
        places += live ? ti_vec_at(vec, i) : 0;
        largest = bytes > largest ? bytes : largest;
    }
    if (live)
        return esize / PIECE > INT_MAX
                   ? say(buf, room, "an element has %lld bytes", (long long)esize)
                   : NULL;
    if (reduced && kept_in_reduction(esize) && blocks_fit(reduced, vec, esize, esize))
        return NULL;
    for (*size = 1; *size <= TI_ELEMENT_MOST; *size *= 2)
        if (blocks_fit(reduced, vec, esize, *size))
            return NULL;
    return too_many(largest, reduced ? " a block, or all blocks together" : " a block", buf, room);
}

const char *ti_redop_refusal(int64_t redop, char *buf, size_t room)
{
    return redop >= 0 && redop < TI_REDOP_COUNT
               ? NULL
               : say(buf, room, "no reduction has the number %lld", (long long)redop);
}

/* ---- the counts of an event ---- */

struct counts {
    bool live;
    const struct ti_event *ev;
    char *buf;
    size_t room;
};

static const char *amount(const struct counts *c, enum ti_element_use use, bool second)
{
    struct ti_elements none;

    return ti_elements(c->live, use, c->ev->arg[second ? TI_F_BYTES2 : TI_F_BYTES],
                       c->ev->arg[second ? TI_F_ESIZE2 : TI_F_ESIZE], &none, c->buf, c->room);
}

static const char *blocks(const struct counts *c, int v, bool second)
{
    const struct ti_vec *vec = &c->ev->vec[v];
    int64_t esize = c->ev->arg[second ? TI_F_ESIZE2 : TI_F_ESIZE], size, bytes;
    struct ti_elements none;
    const char *why = ti_elements_of_blocks(c->live, (c->ev->mask & TI_M_REDOP) != 0, vec, esize,
                                            &size, c->buf, c->room);

    if (c->live || !ti_op_is(c->ev->op, TI_T_NEIGHBOURS))
        return why;
    /* A simulation has a message for each neighbour, so each has elements of its own. */
    for (int64_t i = 0; i < vec->len; i++) {
        bytes = block_bytes(vec, i, esize);
        why = ti_elements(false, TI_ELEMENTS_DATA, bytes, 1, &none, c->buf, c->room);
        if (why)
            return why;
    }
    return NULL;
}

static const char *of_message(const struct counts *c)
{
    const struct ti_event *ev = c->ev;
    bool sends = ti_op_is(ev->op, TI_T_SENDS), receives = ti_op_is(ev->op, TI_T_RECEIVES);
    const char *why = NULL;

    /* A simulation makes no message for MPI_PROC_NULL, and receives at a matched probe. */
    if (sends && (c->live || ev->arg[TI_F_PEER] != TI_NULL))
        why = amount(c, TI_ELEMENTS_DATA, false);
    if (!why && receives && (c->live || ev->arg[sends ? TI_F_PEER2 : TI_F_PEER] != TI_NULL))
        why = amount(c, TI_ELEMENTS_ROOM, sends);
    if (!why && c->live && ti_op_is(ev->op, TI_T_PROBED))
        why = amount(c, TI_ELEMENTS_ROOM, false);
    return why;
}

static const char *of_collective(const struct counts *c, int64_t peers)
{
    const struct ti_event *ev = c->ev;
    bool reduces = (ev->mask & TI_M_REDOP) != 0;
    struct ti_elements e;
    const char *why = NULL;

    if (reduces)
        why = ti_redop_refusal(ev->arg[TI_F_REDOP], c->buf, c->room);
    if (!why && (ev->mask & TI_M_BYTES))
        why = amount(c, reduces ? TI_ELEMENTS_REDUCED : TI_ELEMENTS_DATA, false);
    if (!why && (ev->mask & TI_M_BYTES2))
        why = amount(c, TI_ELEMENTS_DATA, true);
    if (!why && ti_op_is(ev->op, TI_T_COUNTS_GIVEN))
        why = blocks(c, 0, false);
    if (!why && ti_op_is(ev->op, TI_T_COUNTS_TAKEN))
        why = blocks(c, ti_op_last_vec(ev->op), true);
    if (why || c->live || !reduces || !ti_op_is(ev->op, TI_T_BLOCKS))
        return why;
    /* MPI_Reduce_scatter_block: SMPI counts the blocks of all ranks together. */
    ti_elements(false, TI_ELEMENTS_REDUCED, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE], &e, c->buf,
                c->room);
    return peers > 0 && e.count > INT_MAX / peers
               ? say(c->buf, c->room, "SimGrid counts up to %d elements, all blocks together",
                     INT_MAX)
               : NULL;
}

static const char *of_transfer(const struct counts *c)
{
    const char *why = amount(c, TI_ELEMENTS_DATA, false);

    if (!why && (c->ev->mask & TI_M_BYTES2))
        why = amount(c, TI_ELEMENTS_DATA, true);
    if (!why && (c->ev->mask & TI_M_REDOP))
        why = ti_redop_refusal(c->ev->arg[TI_F_REDOP], c->buf, c->room);
    return why;
}

/* The replayers have memory for a window, in a simulation the same for all ranks. */
static const char *of_window(const struct counts *c)
{
    int64_t bytes = c->ev->arg[TI_F_BYTES], unit = c->ev->arg[TI_F_ESIZE];

    if (bytes < 0 || bytes > WINDOW_MOST || unit < 1 || unit > INT_MAX)
        return say(c->buf, c->room, "no memory is a window of %lld bytes in units of %lld",
                   (long long)bytes, (long long)unit);
    return NULL;
}

const char *ti_elements_refusal(bool live, const struct ti_event *ev, int64_t peers, char *buf,
                                size_t room)
{
    const struct counts c = {live, ev, buf, room};

    if (ti_op_is(ev->op, TI_T_SENDS) || ti_op_is(ev->op, TI_T_RECEIVES) ||
        ti_op_is(ev->op, TI_T_PROBED))
        return of_message(&c);
    if (ti_op_collective(ev->op))
        return of_collective(&c, peers);
    if (ti_op_is(ev->op, TI_T_PUTS) || ti_op_is(ev->op, TI_T_GETS))
        return of_transfer(&c);
    if ((ev->mask & TI_M_WIN) && (ev->mask & TI_M_BYTES) && (ev->mask & TI_M_COMM))
        return of_window(&c);
    return live && (ti_op_is(ev->op, TI_T_READS) || ti_op_is(ev->op, TI_T_WRITES))
               ? amount(&c, TI_ELEMENTS_DATA, false)
               : NULL;
}
