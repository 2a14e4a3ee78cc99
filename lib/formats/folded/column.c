#include "formats/folded/column.h"

#include <stdlib.h>
#include <string.h>


/* ----------------------------------------------------------------- columns -- */

static void close_run(struct ti_column *c, struct ti_run next)
{
    c->run = ti_grow(c->run, &c->cap, c->nruns + 1, sizeof *c->run);
    c->run[c->nruns++] = c->open;
    c->open = next;
}

void ti_column_add(struct ti_column *c, uint64_t value)
{
    struct ti_run *r = &c->open;

    if (r->n == 0) {
        *r = (struct ti_run){value, 0, 1};
    } else if (r->n == 1) {
        r->stride = value - r->first;
        r->n = 2;
    } else if (value == r->first + r->stride * r->n) {
        r->n++;
    } else if (r->n == 2 && value == r->first + r->stride) { /* a, b, b: the run is that of b */
        r->n = 1;
        r->stride = 0;
        close_run(c, (struct ti_run){value, 0, 2});
    } else {
        close_run(c, (struct ti_run){value, 0, 1});
    }
}

static void append_run(struct ti_column *c, const struct ti_run *more)
{
    struct ti_run *r = &c->open;

    if (more->n < 3 && r->n) {
        for (uint64_t i = 0; i < more->n; i++)
            ti_column_add(c, more->first + i * more->stride);
        return;
    }
    if (r->n == 0)
        *r = *more;
    else if (r->n > 1 && r->stride == more->stride && more->first == r->first + r->stride * r->n)
        r->n += more->n;
    else if (r->n == 1 && more->first - r->first == more->stride)
        *r = (struct ti_run){r->first, more->stride, more->n + 1};
    else
        close_run(c, *more);
}

void ti_column_append(struct ti_column *c, const struct ti_column *more)
{
    for (size_t i = 0; i < more->nruns; i++)
        append_run(c, &more->run[i]);
    if (more->open.n)
        append_run(c, &more->open);
}

uint64_t ti_column_first(const struct ti_column *c)
{
    return c->nruns ? c->run[0].first : c->open.first;
}

void ti_column_free(struct ti_column *c)
{
    free(c->run);
    *c = (struct ti_column){.run = NULL};
}

/* ---------------------------------------------------------------- encoding -- */

/* A run as it is stored. */
struct token {
    uint64_t n, difference, stride;
};

#define LAST_SEEN 1024 /* power of two */

struct tokens {
    struct token *token;
    size_t n, cap;
};

static struct tokens tokens_of(const struct ti_column *c)
{
    struct tokens t = {NULL, 0, 0};
    uint64_t last = ti_column_first(c);

    t.token = ti_grow(NULL, &t.cap, c->nruns + 1, sizeof *t.token);
    for (size_t i = 0; i <= c->nruns; i++) {
        const struct ti_run *r = i < c->nruns ? &c->run[i] : &c->open;

        if (r->n == 0)
            continue;
        t.token[t.n++] = (struct token){r->n, r->first - last, r->n > 1 ? r->stride : 0};
        last = r->first + r->stride * (r->n - 1);
    }
    /* the last value repeats for ever */
    if (t.n && t.token[t.n - 1].stride == 0) {
        struct token *end = &t.token[t.n - 1];

        end->n = 1;
        if (end->difference == 0)
            t.n--;
    }
    return t;
}

static bool same(const struct token *a, const struct token *b)
{
    return a->n == b->n && a->difference == b->difference && a->stride == b->stride;
}

static size_t seen_slot(const struct token *t)
{
    uint64_t h = (t->n * 0x9e3779b97f4a7c15u ^ t->difference) * 0xff51afd7ed558ccdu ^ t->stride;

    return (size_t)((h * 0xc4ceb9fe1a85ec53u) >> 40) & (LAST_SEEN - 1);
}

static void put_token(struct ti_buffer *b, const struct token *t)
{
    ti_buffer_varint(b, t->n << 1);
    ti_buffer_varint(b, ti_zigzag((int64_t)t->difference));
    if (t->n > 1)
        ti_buffer_varint(b, ti_zigzag((int64_t)t->stride));
}

/* How many tokens from `i` on are those from `from` on. */
static size_t match(const struct tokens *t, size_t from, size_t i)
{
    size_t n = 0;

    while (i + n < t->n && same(&t->token[from + n], &t->token[i + n]))
        n++;
    return n;
}

void ti_column_put(struct ti_buffer *b, const struct ti_column *c)
{
    struct tokens t = tokens_of(c);
    size_t seen[LAST_SEEN] = {0}; /* number + 1 of the last token with this hash */
    size_t *at, cap = 0;          /* where each token begins */
    size_t literal = 0;           /* the tokens from here on are not repeated ones */

    at = ti_grow(NULL, &cap, t.n + 1, sizeof *at);
    for (size_t i = 0; i < t.n;) {
        size_t *slot = &seen[seen_slot(&t.token[i])];
        size_t from = *slot, n = from > literal ? match(&t, from - 1, i) : 0;

        at[i] = b->n;
        if (n >= 3 || (n == 2 && i + n == t.n)) {
            ti_buffer_varint(b, (uint64_t)n << 1 | 1);
            ti_buffer_varint(b, at[i] - at[from - 1]);
            i += n;
            literal = i;
        } else {
            *slot = i + 1;
            put_token(b, &t.token[i++]);
        }
    }
    free(at);
    free(t.token);
}

/* ---------------------------------------------------------------- decoding -- */

void ti_cursor_start(struct ti_cursor *c, uint64_t first, const uint8_t *blob, size_t bytes)
{
    *c = (struct ti_cursor){.at = blob, .end = blob + bytes, .start = blob, .last = first};
}

/* Begin to repeat `n` runs that stand before the token at `token`. */
static bool start_repeat(struct ti_cursor *c, const uint8_t *token, uint64_t n)
{
    uint64_t back;

    if (!ti_get_varint(&c->at, c->end, &back) || back == 0 || back > (uint64_t)(token - c->start) ||
        n == 0)
        return false;
    c->circle = token - back;
    c->circle_end = token;
    c->next = c->circle;
    c->again = n;
    return true;
}

bool ti_cursor_run(struct ti_cursor *c)
{
    const uint8_t *token = c->at, **p = &c->at, *end = c->end;
    uint64_t n, difference, stride = 0;

    if (!c->again) {
        if (!ti_get_varint(p, end, &n))
            return false;
        if (n & 1 && !start_repeat(c, token, n >> 1))
            return false;
    }
    if (c->again) {
        c->again--;
        if (c->next == c->circle_end)
            c->next = c->circle;
        p = &c->next;
        end = c->circle_end;
        if (!ti_get_varint(p, end, &n) || n & 1)
            return false;
    }
    n >>= 1;
    if (n == 0 || !ti_get_varint(p, end, &difference) || (n > 1 && !ti_get_varint(p, end, &stride)))
        return false;
    c->stride = (uint64_t)ti_unzigzag(stride);
    c->last += (uint64_t)ti_unzigzag(difference) - c->stride;
    c->left = n;
    return true;
}
