/*
 * Periods: the tokens of a column that repeat others are only counted.
 *
 * A column of more than one block is searched for a period, as Brent's algorithm finds
 * cycles (R. P. Brent, BIT 20, 1980, section 2): a mark stays on one token, and new tokens are
 * compared with it.  It moves on to the newest token after 2, 4, 8, ... tokens, so that it leaves
 * behind what came before the period, and any length of a period is found.  Where the last few
 * tokens equal those from the mark on, the tokens in between are the part that repeats.
 *
 * From then on new tokens are compared with those of the part, in turn, and only counted.  A token
 * that differs ends the copy.  If a new copy is short, or several in a row are, a part of a longer
 * period was taken for one: a new search begins, which wants twice as many equal tokens.  After a
 * long copy there is most often a value more, or another one, or one less than before, as where a
 * program prints something every tenth step.  So the copy is taken up again if one of the next
 * tokens is the one that was due, or one of the three after it.
 *
 * The cost of a token is limited: it is compared with at most four others.
 */
#include "trace/writer_internal.h"

#define LEAST_BLOCKS 1 /* full blocks of a column before it is searched */
#define NEED_LEAST   3 /* equal tokens that are a period, at first ... */
#define NEED_MOST    96 /* ... and at most */
#define LONG         4 /* a copy is long if it has LONG times as many tokens as were equal */
#define SHORTS       4 /* short copies in a row, of a part that was copied at length */
#define MISSES       4 /* tokens after which a copy is not taken up again */

_Static_assert(PERIODS <= UINT8_MAX, "struct column has 8 bits for the number");

enum { SEARCHING, COPYING, RESUMING }; /* states of a period, from 0 */

struct token {
    uint64_t run, word;
};

/* ------------------------------------------------------------------- reading -- */

static uint64_t read_varint(const struct ti_writer *w, struct place *p)
{
    uint64_t v = 0;

    for (int shift = 0;; shift += 7) {
        uint8_t byte;

        if (p->offset == w->block_data) {
            p->block = ti__block(w, p->block)->next;
            p->offset = 0;
        }
        byte = ti__block(w, p->block)->data[p->offset++];
        p->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
}

/* The token at *p, before byte `end`; copies are passed over.  False at the end. */
static bool read_token(const struct ti_writer *w, struct place *p, uint32_t end, struct token *out)
{
    while (p->at < end) {
        out->run = read_varint(w, p);
        out->word = read_varint(w, p);
        if (out->word)
            return true;
        read_varint(w, p);
    }
    return false;
}

/* The token of the part that is due at *p, which may be the first one again. */
static struct token due_token(const struct ti_writer *w, const struct period *p, struct place *at)
{
    struct token t = {0, 0};

    if (!read_token(w, at, p->end, &t)) {
        *at = p->begin;
        read_token(w, at, p->end, &t);
    }
    return t;
}

static bool are_equal(const struct token *a, const struct token *b)
{
    return a->run == b->run && a->word == b->word;
}

/* ------------------------------------------------------------------- copying -- */

static void put_copy(struct ti_writer *w, struct column *c, const struct period *p)
{
    if (p->count == 0)
        return;
    ti__column_varint(w, c, p->count);
    ti__column_byte(w, c, 0);
    ti__column_varint(w, c,
                      p->how == TI_COPY_NEW ? TI_COPY_NEW + (p->end - p->begin.at) : p->how);
}

void ti__column_copied(struct ti_writer *w, struct column *c)
{
    struct period *p = c->period ? &w->period[c->period - 1] : NULL;

    if (!p || p->state != COPYING || p->count == 0)
        return;
    put_copy(w, c, p);
    p->before += p->count;
    p->count = 0;
    p->how = 0;
}

/* The token is not the one that is due. */
static void end_copy(struct ti_writer *w, struct column *c, struct period *p)
{
    put_copy(w, c, p);
    p->state = RESUMING;
    p->misses = 0;
    p->tokens = 0;
    p->count += p->before;
    p->before = 0;
    if (p->count >= LONG * p->need) {
        p->shorts = 0;
    } else if (p->how == TI_COPY_NEW || ++p->shorts == SHORTS) {
        p->state = SEARCHING;
        p->shorts = 0;
        if (p->need < NEED_MOST)
            p->need *= 2;
    }
}

/* Whether the copy that ended goes on with the token. */
static bool resume_copy(const struct ti_writer *w, struct period *p, const struct token *t)
{
    struct place at = p->next;
    struct token due;

    for (uint8_t how = 0; how < TI_COPY_NEW; how++) {
        due = due_token(w, p, &at);
        if (!are_equal(&due, t))
            continue;
        p->state = COPYING;
        p->how = how;
        p->count = 1;
        p->next = at;
        return true;
    }
    if (++p->misses == MISSES)
        p->state = SEARCHING;
    return false;
}

/* Whether the token only repeats others. */
static bool is_copied(struct ti_writer *w, struct column *c, struct period *p,
                      const struct token *t)
{
    struct place at = p->next;
    struct token due;

    if (p->state == RESUMING)
        return resume_copy(w, p, t);
    if (p->state == SEARCHING)
        return false;
    due = due_token(w, p, &at);
    if (!are_equal(&due, t)) {
        end_copy(w, c, p);
        return false;
    }
    p->next = at;
    p->count++;
    return true;
}

/* ----------------------------------------------------------------- searching -- */

/* The tokens after the mark that matched are followed by those that repeat. */
static void begin_copy(const struct ti_writer *w, const struct column *c, struct period *p)
{
    p->state = COPYING;
    p->how = TI_COPY_NEW;
    p->count = p->before = 0;
    p->begin = p->next;
    p->end = ti__column_stored(w, c);
    p->matched = 0;
}

/* Look at a new token, which was appended at `here`. */
static void search(const struct ti_writer *w, const struct column *c, struct period *p,
                   const struct token *t, struct place here)
{
    struct token other = {0, 0};

    if (p->tokens++ == 0) {
        p->mark = here;
        p->matched = 0;
        p->limit = 2;
        return;
    }
    if (p->matched && read_token(w, &p->next, here.at, &other) && are_equal(&other, t)) {
        if (++p->matched >= p->need)
            begin_copy(w, c, p);
        return;
    }
    p->next = p->mark;
    p->matched = read_token(w, &p->next, here.at, &other) && are_equal(&other, t);
    if (p->matched || p->tokens < p->limit)
        return;
    p->mark = here;
    p->limit = 2 * p->tokens;
}

/* -------------------------------------------------------------------- tokens -- */

static struct place end_of(const struct ti_writer *w, const struct column *c)
{
    return (struct place){ti__column_stored(w, c), c->tail, c->fill};
}

void ti__column_token(struct ti_writer *w, struct column *c, uint64_t word)
{
    struct period *p = c->period ? &w->period[c->period - 1] : NULL;
    struct token t = {c->run, word};
    struct place here;

    c->run = 0;
    if (p && is_copied(w, c, p, &t))
        return;
    here = end_of(w, c);
    ti__column_varint(w, c, t.run);
    ti__column_varint(w, c, t.word);
    if (p && p->state == SEARCHING)
        search(w, c, p, &t, here);
    else if (!p && c->full >= LEAST_BLOCKS && w->nperiods < PERIODS) {
        w->period[w->nperiods++] = (struct period){.need = NEED_LEAST};
        c->period = (uint8_t)w->nperiods;
    }
}
