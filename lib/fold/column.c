#include "fold/column.h"

#include <stdlib.h>

#include "fold/quality_columns.h"

/* ---------------------------------------------------------------- encoding -- */

/* How the tokens from here to the end are stored: one as it is, or `literal` as they are and then
 * `repeated` by a token. */
struct plan {
    size_t bytes;
    size_t literal, repeated;
};

struct tokens {
    struct ti_token *token;
    size_t n, cap;
    size_t *at;        /* where each would begin if all were stored as they are; n + 1 */
    struct plan *plan; /* for each, and for the end */
    bool no_memory;
};

static struct tokens tokens_of(const struct ti_column *c)
{
    struct ti_tokens all = ti_column_tokens(c, 0);
    struct tokens t = {.token = NULL};
    struct ti_token token;

    while (!t.no_memory && ti_token_next(&all, &token)) {
        t.no_memory = !TI_ROOM(t.token, &t.cap, t.n + 1);
        if (!t.no_memory)
            t.token[t.n++] = token;
    }
    return t;
}

static bool same(const struct ti_token *a, const struct ti_token *b)
{
    return a->n == b->n && a->difference == b->difference && a->stride == b->stride;
}

static int put_repeat(uint8_t *p, size_t tokens, size_t bytes)
{
    int n = ti_put_varint(p, (uint64_t)tokens << 1 | 1);

    return n + ti_put_varint(p + n, bytes);
}

/* -------------------------------------------------------------- repetitions -- */

#define KEPT  8  /* distances that are followed at a time */
#define TRIES 16 /* distances that are tried at each token */

/* The tokens from the present one on equal those `distance` tokens later, `n` of them. */
struct match {
    size_t distance, n;
};

/* Searches for repetitions, from the last token to the first. */
struct search {
    const struct tokens *t;
    size_t *head, *next; /* tokens + 1 with the same hash of two tokens, the nearest one first */
    size_t slots;        /* power of two */
    struct match match[KEPT];
    size_t steps; /* comparisons that may still be made */
};

static size_t *slot_of(struct search *s, size_t i)
{
    uint64_t h = 0;

    for (const struct ti_token *t = &s->t->token[i]; t <= &s->t->token[i + 1]; t++) {
        h = (h ^ t->n) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ h >> 29 ^ t->difference) * UINT64_C(0xff51afd7ed558ccd);
        h = (h ^ h >> 31 ^ t->stride) * UINT64_C(0xc4ceb9fe1a85ec53);
    }
    return &s->head[(h >> 32) & (s->slots - 1)];
}

/* The matches of token `i` + 1 are known: those at the same distance have a token more, or end. */
static void extend_matches(struct search *s, size_t i)
{
    const struct ti_token *token = s->t->token;

    for (struct match *m = s->match; m < s->match + KEPT; m++) {
        if (m->n && same(&token[i], &token[i + m->distance]))
            m->n++;
        else
            *m = (struct match){0, 0};
    }
}

/* Compare the tokens from `i` on with those from `j` on, and keep the match in place of the
 * shortest one.  A multiple of a period is no better than the period. */
static void try_match(struct search *s, size_t i, size_t j)
{
    const struct tokens *t = s->t;
    struct match *shortest = s->match;
    size_t n = 0;

    for (struct match *m = s->match; m < s->match + KEPT; m++) {
        if (m->distance == j - i || (m->distance < j - i && m->n >= j - i))
            return;
        if (m->n < shortest->n)
            shortest = m;
    }
    while (j + n < t->n && same(&t->token[i + n], &t->token[j + n]) && s->steps > 0) {
        s->steps--;
        n++;
    }
    if (n > shortest->n)
        *shortest = (struct match){j - i, n};
}

static void find_matches(struct search *s, size_t i)
{
    size_t *slot, j;
    int tries = 0;

    extend_matches(s, i);
    if (i + 1 >= s->t->n)
        return;
    slot = slot_of(s, i);
    for (j = *slot; j && tries < TRIES; j = s->next[j - 1], tries++)
        try_match(s, i, j - 1);
    s->next[i] = *slot;
    *slot = i + 1;
}

/* Choose the smallest way to store the tokens from `i` on. */
static void choose(struct search *s, size_t i)
{
    const size_t *at = s->t->at + i;
    struct plan *plan = s->t->plan + i;
    uint8_t bytes[2 * TI_VARINT_MAX];

    *plan = (struct plan){at[1] - at[0] + plan[1].bytes, 1, 0};
    for (const struct match *m = s->match; m < s->match + KEPT; m++) {
        size_t literal = at[m->distance] - at[0], n;

        if (m->n == 0)
            continue;
        n = literal + (size_t)put_repeat(bytes, m->n, literal) + plan[m->distance + m->n].bytes;
        if (n < plan->bytes)
            *plan = (struct plan){n, m->distance, m->n};
    }
}

/* Returns false when memory is short. */
static bool make_plan(struct tokens *t)
{
    struct search s = {.t = t, .slots = 16, .steps = 64 * t->n};
    size_t ats = 0, plans = 0, nexts = 0, heads = 0;
    uint8_t bytes[TI_TOKEN_BYTES];
    bool fine;

    while (s.slots < t->n)
        s.slots *= 2;
    fine = TI_ROOM(t->at, &ats, t->n + 1) && TI_ROOM(t->plan, &plans, t->n + 1) &&
           TI_ROOM(s.next, &nexts, t->n) && TI_ROOM(s.head, &heads, s.slots);
    for (size_t i = 0; fine && i < t->n; i++)
        t->at[i + 1] = t->at[i] + (size_t)ti_token_put(bytes, &t->token[i]);
    for (size_t i = t->n; fine && i-- > 0;) {
        find_matches(&s, i);
        choose(&s, i);
    }
    free(s.head);
    free(s.next);
    return fine;
}

void ti_column_put(struct ti_buffer *b, const struct ti_column *c)
{
    uint8_t bytes[TI_TOKEN_BYTES];
    struct tokens t = tokens_of(c);

    if (t.no_memory || (t.n && !make_plan(&t))) {
        b->no_memory = true;
        t.n = 0;
    }
    for (size_t i = 0; i < t.n;) {
        const struct plan *plan = &t.plan[i];
        size_t literal = t.at[i + plan->literal] - t.at[i];

        for (size_t end = i + plan->literal; i < end; i++)
            ti_buffer_put(b, bytes, (size_t)ti_token_put(bytes, &t.token[i]));
        if (plan->repeated)
            ti_buffer_put(b, bytes, (size_t)put_repeat(bytes, plan->repeated, literal));
        i += plan->repeated;
    }
    free(t.plan);
    free(t.at);
    free(t.token);
}

/* ---------------------------------------------------------------- decoding -- */

void ti_cursor_start(struct ti_cursor *c, uint64_t first, const uint8_t *blob, size_t bytes)
{
    const uint8_t *end = bytes ? blob + bytes : blob; /* an empty blob may be NULL */

    *c = (struct ti_cursor){.at = blob, .end = end, .start = blob, .last = first};
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

/* n * (n - 1) / 2 modulo 2^64 */
static uint64_t triangle(uint64_t n)
{
    return n & 1 ? (n - 1) / 2 * n : n / 2 * (n - 1);
}

/* Pass the next `n` values of the present run; returns their sum. */
static uint64_t pass_run(struct ti_cursor *c, uint64_t n)
{
    uint64_t sum = n * c->last + c->stride * triangle(n + 1);

    c->left -= n;
    c->last += n * c->stride;
    return sum;
}

/* Pass whole circles, as many as there are among the next *n values, if the cursor is at the start
 * of one.  Subtracts their values from *n, and what is read from *runs, and adds up their values;
 * false if malformed. */
static bool pass_circles(struct ti_cursor *c, uint64_t *n, uint64_t *runs, uint64_t *sum)
{
    struct ti_cursor circle = *c; /* goes through it once */
    uint64_t before = c->again, values = 0, once = 0, all = *n, whole, step;

    if (c->next != c->circle && c->next != c->circle_end)
        return true;
    do {
        if (circle.again == 0 || values >= all)
            return true; /* there is no whole one */
        if (*runs == 0 || !ti_cursor_run(&circle))
            return false;
        --*runs;
        values += circle.left;
        once += pass_run(&circle, circle.left);
    } while (circle.next != circle.circle_end);
    whole = before / (before - circle.again);
    whole = whole < all / values ? whole : all / values;
    step = circle.last - c->last;
    c->again -= whole * (before - circle.again);
    c->last += whole * step;
    *n -= whole * values;
    *sum += whole * once + values * step * triangle(whole);
    return true;
}

bool ti_cursor_sum(struct ti_cursor *c, uint64_t n, uint64_t *sum)
{
    uint64_t runs = TI_RUNS_MAX;

    *sum = 0;
    for (;;) {
        uint64_t some = n < c->left ? n : c->left;

        *sum += pass_run(c, some);
        n -= some;
        if (n && c->again && !pass_circles(c, &n, &runs, sum))
            return false;
        if (n == 0 || (c->at == c->end && c->again == 0)) {
            *sum += n * c->last;
            return true;
        }
        if (runs-- == 0 || !ti_cursor_run(c))
            return false;
    }
}

bool ti_cursor_skip(struct ti_cursor *c, uint64_t n)
{
    uint64_t sum;

    if (!c->draw)
        return ti_cursor_sum(c, n, &sum);
    ti_draw_skip(c->draw, n);
    return true;
}

bool ti_cursor_take(struct ti_cursor *c, uint64_t n, uint64_t *runs, struct ti_pool *pool,
                    struct ti_column *to)
{
    while (n) {
        struct ti_column_run run = {.n = n};

        if (!c->left && (c->at < c->end || c->again) && (*runs == 0 || !ti_cursor_run(c)))
            return false;
        if (c->left) {
            run.stride = c->stride;
            run.n = n < c->left ? n : c->left;
            c->left -= run.n;
            *runs -= *runs > 0;
        }
        run.first = c->last + run.stride;
        c->last += run.n * run.stride;
        n -= run.n;
        ti_column_add_run(pool, to, &run);
    }
    return true;
}

/* ------------------------------------------------------------------ sums -- */

struct adder {
    uint64_t left; /* values still to be added */
    uint64_t last, sum;
    double about; /* the sum, not modulo 2^64 */
    int64_t min, max;
    struct ti_bounds bounds;
    uint64_t runs; /* that may still be read */
};

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

/* Take the values value, value + step, ..., value + step * n into account for the extremes. */
static void extend(struct adder *a, int64_t value, int64_t step, uint64_t n)
{
    int64_t end;

    if (n > INT64_MAX || __builtin_mul_overflow(step, (int64_t)n, &end) ||
        __builtin_add_overflow(value, end, &end)) {
        a->min = INT64_MIN;
        a->max = INT64_MAX;
        return;
    }
    a->min = value < a->min ? value : a->min;
    a->min = end < a->min ? end : a->min;
    a->max = value > a->max ? value : a->max;
    a->max = end > a->max ? end : a->max;
}

/* Add the run at *p; false if it is malformed or breaks the bounds. */
static bool add_run(struct adder *a, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, difference, coded = 0, stride, value;
    int64_t first;

    if (!ti_get_varint(p, end, &n) || n < 2 || n & 1 || !ti_get_varint(p, end, &difference) ||
        (n > 2 && !ti_get_varint(p, end, &coded)) || a->runs == 0)
        return false;
    a->runs--;
    n >>= 1;
    if (n > a->left)
        n = a->left;
    stride = (uint64_t)ti_unzigzag(coded);
    value = a->last + (uint64_t)ti_unzigzag(difference);
    a->last = value + stride * (n - 1);
    first = (int64_t)value;
    if (!within(&a->bounds, first, 0, 0) || !within(&a->bounds, first, (int64_t)stride, n - 1))
        return false;
    extend(a, first, (int64_t)stride, n - 1);
    a->sum += n * value + stride * triangle(n);
    a->about += (double)n * ((double)first + (double)(int64_t)a->last) / 2;
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
    int64_t min, max;

    a->min = INT64_MAX;
    a->max = INT64_MIN;
    if (!add_runs(a, start, end, &rest))
        return false;
    min = a->min;
    max = a->max;
    extend(a, before.min, 0, 0);
    extend(a, before.max, 0, 0);
    runs = again - rest; /* in the circle, if anything is left */
    if (!rest || !a->left)
        return true;
    values = before.left - a->left;
    step = a->last - before.last;
    circles = rest / runs;
    most = a->left / values;
    circles = circles < most ? circles : most;
    if (!within(&a->bounds, min, (int64_t)step, circles) ||
        !within(&a->bounds, max, (int64_t)step, circles))
        return false;
    extend(a, min, (int64_t)step, circles);
    extend(a, max, (int64_t)step, circles);
    a->sum += circles * (a->sum - before.sum) + values * step * triangle(circles + 1);
    a->about +=
        (double)circles * (a->about - before.about) +
        (double)values * (double)(int64_t)step * (double)circles * (double)(circles + 1) / 2;
    a->last += circles * step;
    a->left -= circles * values;
    rest -= circles * runs;
    return add_runs(a, start, end, &rest);
}

/* Add up to a->left values of a column; false if it is malformed or breaks the bounds. */
static bool add_column(struct adder *a, const uint8_t *blob, size_t bytes)
{
    const uint8_t *p = blob, *end = blob + bytes;

    while (p < end && a->left) {
        const uint8_t *token = p;
        uint64_t head, back;

        if (!ti_get_varint(&p, end, &head))
            return false;
        if (!(head & 1)) {
            p = token;
            if (!add_run(a, &p, end))
                return false;
        } else if (head == 1 || !ti_get_varint(&p, end, &back) || back == 0 ||
                   back > (uint64_t)(token - blob) ||
                   !add_circle(a, token - back, token, head >> 1)) {
            return false;
        }
    }
    if (!a->left)
        return true;
    extend(a, (int64_t)a->last, 0, 0);
    a->sum += a->left * a->last;
    a->about += (double)a->left * (double)(int64_t)a->last;
    return within(&a->bounds, (int64_t)a->last, 0, 0);
}

bool ti_column_sum(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                   const struct ti_bounds *bounds, uint64_t *runs, uint64_t *sum)
{
    struct adder a = {.left = n, .last = first, .bounds = *bounds, .runs = *runs};

    if (!add_column(&a, blob, bytes))
        return false;
    *runs = a.runs;
    *sum = bounds->low >= 0 && a.about > 0x1p62 ? UINT64_MAX : a.sum;
    return true;
}

bool ti_column_stats(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                     struct ti_column_stats *out)
{
    struct adder a = {.left = n,
                      .last = first,
                      .bounds = {INT64_MIN, INT64_MAX},
                      .min = INT64_MAX,
                      .max = INT64_MIN,
                      .runs = TI_RUNS_MAX};

    if (!add_column(&a, blob, bytes))
        return false;
    *out = (struct ti_column_stats){n, a.sum, a.min, a.max};
    return true;
}
