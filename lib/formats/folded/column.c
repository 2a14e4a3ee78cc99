#include "formats/folded/column.h"

#include <stdlib.h>
#include <string.h>

#include "formats/folded/quality_columns.h"

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

    if (c->draw) {
        c->last = ti_draw_next(c->draw);
        c->stride = 0;
        c->left = 1;
        return true;
    }
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

/* ------------------------------------------------------------------ sums -- */

struct adder {
    uint64_t left; /* values still to be added */
    uint64_t last, sum;
    double about; /* the sum, not modulo 2^64 */
    int64_t min, max;
    struct ti_bounds bounds;
    uint32_t runs;
};

/* n * (n - 1) / 2 modulo 2^64 */
static uint64_t triangle(uint64_t n)
{
    return n & 1 ? (n - 1) / 2 * n : n / 2 * (n - 1);
}

/* Whether value + step * n is within the bounds, and equal modulo 2^64 to what it is without them.
 */
static bool within(const struct ti_bounds *b, int64_t value, int64_t step, uint64_t n)
{
    int64_t end;

    if (n > INT64_MAX || __builtin_mul_overflow(step, (int64_t)n, &end) ||
        __builtin_add_overflow(value, end, &end))
        return b->low == INT64_MIN && b->high == INT64_MAX;
    return end >= b->low && end <= b->high;
}

/* Add the run at *p; false if it is malformed or breaks the bounds. */
static bool add_run(struct adder *a, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, difference, coded = 0, stride, value;
    int64_t first, last;

    if (!ti_get_varint(p, end, &n) || n < 2 || n & 1 || !ti_get_varint(p, end, &difference) ||
        (n > 2 && !ti_get_varint(p, end, &coded)) || a->runs++ == TI_RUNS_MAX)
        return false;
    n >>= 1;
    if (n > a->left)
        n = a->left;
    stride = (uint64_t)ti_unzigzag(coded);
    value = a->last + (uint64_t)ti_unzigzag(difference);
    a->last = value + stride * (n - 1);
    first = (int64_t)value;
    last = (int64_t)a->last;
    if (!within(&a->bounds, first, 0, 0) || !within(&a->bounds, first, (int64_t)stride, n - 1))
        return false;
    a->min = first < a->min ? first : a->min;
    a->min = last < a->min ? last : a->min;
    a->max = first > a->max ? first : a->max;
    a->max = last > a->max ? last : a->max;
    a->sum += n * value + stride * triangle(n);
    a->about += (double)n * ((double)first + (double)last) / 2;
    a->left -= n;
    return true;
}

/* Add up to `n` runs of those from `start` to `end`; subtracts them from *n. */
static bool add_runs(struct adder *a, const uint8_t *start, const uint8_t *end, uint64_t *n)
{
    for (; start < end && *n && a->left; --*n)
        if (!add_run(a, &start, end))
            return false;
    return true;
}

/* Add `again` runs of those from `start` to `end`, in a circle. */
static bool add_circle(struct adder *a, const uint8_t *start, const uint8_t *end, uint64_t again)
{
    const struct adder before = *a;
    uint64_t rest = again, runs, values, step, circles, most;

    a->min = INT64_MAX;
    a->max = INT64_MIN;
    if (!add_runs(a, start, end, &rest))
        return false;
    runs = again - rest; /* in the circle, if anything is left */
    if (!rest || !a->left)
        return true;
    values = before.left - a->left;
    step = a->last - before.last;
    circles = rest / runs;
    most = a->left / values;
    circles = circles < most ? circles : most;
    if (!within(&a->bounds, a->min, (int64_t)step, circles) ||
        !within(&a->bounds, a->max, (int64_t)step, circles))
        return false;
    a->sum += circles * (a->sum - before.sum) + values * step * triangle(circles + 1);
    a->about +=
        (double)circles * (a->about - before.about) +
        (double)values * (double)(int64_t)step * (double)circles * (double)(circles + 1) / 2;
    a->last += circles * step;
    a->left -= circles * values;
    rest -= circles * runs;
    return add_runs(a, start, end, &rest);
}

bool ti_column_sum(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                   const struct ti_bounds *bounds, uint64_t *sum)
{
    struct adder a = {.left = n, .last = first, .bounds = *bounds};
    const uint8_t *p = blob, *end = blob + bytes;

    while (p < end && a.left) {
        const uint8_t *token = p;
        uint64_t head, back;

        if (!ti_get_varint(&p, end, &head))
            return false;
        if (!(head & 1)) {
            p = token;
            if (!add_run(&a, &p, end))
                return false;
        } else if (head == 1 || !ti_get_varint(&p, end, &back) || back == 0 ||
                   back > (uint64_t)(token - blob) ||
                   !add_circle(&a, token - back, token, head >> 1)) {
            return false;
        }
    }
    if (a.left && !within(bounds, (int64_t)a.last, 0, 0))
        return false;
    *sum = a.sum + a.left * a.last;
    a.about += (double)a.left * (double)(int64_t)a.last;
    if (bounds->low >= 0 && a.about > 0x1p62)
        *sum = UINT64_MAX;
    return true;
}
