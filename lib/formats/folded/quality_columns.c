#include "formats/folded/quality_columns.h"

#include <stdlib.h>
#include <string.h>

#define BINS   8    /* balanced ones */
#define PIECES 1024 /* of a run whose values differ */

__extension__ typedef unsigned __int128 u128;

/* ------------------------------------------------------------------ bounded -- */

/* Consecutive values that become their mean. */
struct segment {
    u128 sum;
    uint64_t n, low, high; /* what each may become is from low to high */
};

static void end_segment(struct segment *s, struct ti_pool *pool, struct ti_column *out)
{
    uint64_t mean, more;

    if (s->n == 0)
        return;
    mean = (uint64_t)(s->sum / s->n);
    more = (uint64_t)(s->sum % s->n);
    ti_column_add_run(pool, out, &(struct ti_run){mean + 1, 0, more});
    ti_column_add_run(pool, out, &(struct ti_run){mean, 0, s->n - more});
    *s = (struct segment){.n = 0};
}

/* Add `n` times `value` to the segment; end it before, if the value does not fit. */
static void bound_value(struct segment *s, const struct ti_quality *q, uint64_t value, uint64_t n,
                        struct ti_pool *pool, struct ti_column *out)
{
    uint64_t low = value - ti_quality_slack(q, value), high = value + ti_quality_slack(q, value);
    struct segment next = {s->sum + (u128)value * n, s->n + n, s->low, s->high};
    uint64_t mean;

    if (s->n == 0 || low > next.low)
        next.low = low;
    if (s->n == 0 || high < next.high)
        next.high = high;
    mean = (uint64_t)(next.sum / next.n);
    if (s->n && (mean < next.low || mean + (next.sum % next.n != 0) > next.high)) {
        end_segment(s, pool, out);
        next = (struct segment){(u128)value * n, n, low, high};
    }
    *s = next;
}

static void bound_run(struct segment *s, const struct ti_quality *q, const struct ti_run *r,
                      struct ti_pool *pool, struct ti_column *out)
{
    if (r->stride == 0) {
        if (r->n)
            bound_value(s, q, r->first, r->n, pool, out);
        return;
    }
    for (uint64_t i = 0; i < r->n; i++)
        bound_value(s, q, r->first + i * r->stride, 1, pool, out);
}

/* A column in which each value is within the bound. */
static struct ti_column bound(struct ti_pool *pool, const struct ti_column *c,
                              const struct ti_quality *q)
{
    struct ti_run_iterator at = ti_column_runs(c);
    struct ti_column out = {.head = NULL};
    struct segment s = {.n = 0};
    const struct ti_run *r;

    while ((r = ti_run_next(&at)))
        bound_run(&s, q, r, pool, &out);
    end_segment(&s, pool, &out);
    return out;
}

/* --------------------------------------------------------------- statistics -- */

/* Values that are nearly the same. */
struct piece {
    uint64_t first, last; /* the smallest and the largest */
    uint64_t n;
    u128 sum;
};

struct pieces {
    struct piece *piece;
    size_t n, cap;
};

static void add_piece(struct pieces *p, uint64_t first, uint64_t stride, uint64_t n)
{
    uint64_t last = first + stride * (n - 1);

    p->piece = ti_grow(p->piece, &p->cap, p->n + 1, sizeof *p->piece);
    p->piece[p->n++] = (struct piece){first < last ? first : last, first < last ? last : first, n,
                                      ((u128)first + last) * n / 2};
}

static void add_run(struct pieces *p, const struct ti_run *r)
{
    uint64_t each = r->stride ? (r->n + PIECES - 1) / PIECES : r->n;

    for (uint64_t i = 0, n; i < r->n; i += n) {
        n = r->n - i < each ? r->n - i : each;
        add_piece(p, r->first + i * r->stride, r->stride, n);
    }
}

static int by_value(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

static void put_bin(struct ti_buffer *b, uint64_t minimum, uint64_t n, u128 sum)
{
    ti_buffer_varint(b, n);
    ti_buffer_varint(b, ti_zigzag((int64_t)((uint64_t)sum - n * minimum)));
}

/* Split the extreme value off a piece. */
static void split_extreme(struct piece *p, struct ti_buffer *b, uint64_t minimum, uint64_t value)
{
    put_bin(b, minimum, 1, value);
    p->sum -= value;
    p->n--;
}

static void put_histogram(struct ti_buffer *b, const struct ti_column *c, int64_t *first)
{
    struct pieces p = {NULL, 0, 0};
    struct piece bin = {.n = 0}, *last;
    uint64_t values = 0, minimum, maximum, rest;
    struct ti_buffer end = {NULL, 0, 0};
    static const uint8_t head = TI_HISTOGRAM;
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_run *r;

    while ((r = ti_run_next(&at)))
        add_run(&p, r);
    qsort(p.piece, p.n, sizeof *p.piece, by_value);
    last = p.piece;
    for (size_t i = 0; i < p.n; i++) {
        values += p.piece[i].n;
        last = p.piece[i].last > last->last ? &p.piece[i] : last;
    }
    minimum = p.piece[0].first;
    maximum = last->last;
    *first = (int64_t)minimum;
    ti_buffer_put(b, &head, 1);
    split_extreme(&p.piece[0], b, minimum, minimum);
    if (last->n)
        split_extreme(last, &end, minimum, maximum);
    rest = values - 1 - (end.n > 0);
    for (size_t i = 0, bins = 0; i < p.n; i++) {
        bin.n += p.piece[i].n;
        bin.sum += p.piece[i].sum;
        if (bin.n && (bin.n >= (rest + BINS - bins - 1) / (BINS - bins) || i + 1 == p.n)) {
            put_bin(b, minimum, bin.n, bin.sum);
            rest -= bin.n;
            bins += bins + 1 < BINS;
            bin = (struct piece){.n = 0};
        }
    }
    if (bin.n)
        put_bin(b, minimum, bin.n, bin.sum);
    ti_buffer_put(b, end.data, end.n);
    free(end.data);
    free(p.piece);
}

/* ------------------------------------------------------------------ choosing -- */

static void widen(const struct ti_run *r, uint64_t *n, uint64_t *minimum, uint64_t *maximum)
{
    uint64_t last = r->first + r->stride * (r->n - 1);

    if (r->n == 0)
        return;
    *n += r->n;
    *minimum = r->first < *minimum ? r->first : *minimum;
    *minimum = last < *minimum ? last : *minimum;
    *maximum = r->first > *maximum ? r->first : *maximum;
    *maximum = last > *maximum ? last : *maximum;
}

/* Whether sums of values, and of their differences, stay below 2^62. */
static bool is_moderate(const struct ti_column *c)
{
    uint64_t n = 0, minimum = UINT64_MAX, maximum = 0;
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_run *r;

    while ((r = ti_run_next(&at)))
        widen(r, &n, &minimum, &maximum);
    return n && maximum < UINT64_C(1) << 62 && maximum - minimum < (UINT64_C(1) << 62) / n;
}

void ti_quality_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                    int64_t *first)
{
    struct ti_buffer other = {NULL, 0, 0};
    size_t start = b->n;
    int64_t other_first = 0;

    *first = (int64_t)ti_column_first(c);
    ti_column_put(b, c);
    if (q->kind == TI_EXACT || b->n == start || !is_moderate(c))
        return;
    if (q->kind == TI_BOUNDED) {
        struct ti_pool pool = {.at = NULL};
        struct ti_column bounded = bound(&pool, c, q);

        other_first = (int64_t)ti_column_first(&bounded);
        ti_column_put(&other, &bounded);
        ti_pool_free(&pool);
    } else {
        put_histogram(&other, c, &other_first);
    }
    if (other.n < b->n - start) {
        b->n = start;
        ti_buffer_put(b, other.data, other.n);
        *first = other_first;
    }
    free(other.data);
}

/* ------------------------------------------------------------------ drawing -- */

struct bin {
    uint64_t n, left;              /* values; of these, not drawn yet */
    uint64_t low, more, more_left; /* the values are `low`, and `more` of them low + 1 */
};

struct ti_draw {
    uint64_t n, left, sum, random, last;
    size_t bins;
    struct bin bin[];
};

/* Read the bins, up to `most`; returns their number, 0 if they are malformed. */
static size_t read_bins(const uint8_t *p, const uint8_t *end, uint64_t first, struct ti_draw *d,
                        size_t most)
{
    size_t n = 0;

    for (; p < end; n++) {
        uint64_t values, offset, sum;
        int64_t low;

        if (n == most || !ti_get_varint(&p, end, &values) || values == 0 || values > d->n ||
            !ti_get_varint(&p, end, &offset) || values > d->n - d->left)
            return 0;
        sum = (uint64_t)ti_unzigzag(offset);
        low = (int64_t)sum / (int64_t)values;
        if (sum - (uint64_t)low * values > INT64_MAX) /* round down */
            low--;
        d->bin[n] = (struct bin){
            .n = values, .low = first + (uint64_t)low, .more = sum - (uint64_t)low * values};
        d->left += values;
        d->sum += sum + first * values;
    }
    return n;
}

bool ti_draw_new(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                 struct ti_draw **out)
{
    size_t most = bytes / 2 < TI_HISTOGRAM_BINS ? bytes / 2 : TI_HISTOGRAM_BINS;
    struct ti_draw *d;

    *out = NULL;
    if (bytes == 0 || blob[0] != TI_HISTOGRAM)
        return true;
    if (n > INT64_MAX)
        return false;
    d = calloc(1, sizeof *d + most * sizeof *d->bin);
    if (!d)
        return false;
    d->n = n;
    d->bins = read_bins(blob + 1, blob + bytes, first, d, most);
    if (d->bins == 0 || d->left != n) {
        free(d);
        return false;
    }
    ti_draw_start(d, 0);
    *out = d;
    return true;
}

void ti_draw_start(struct ti_draw *d, uint64_t seed)
{
    d->random = seed;
    d->left = d->n;
    for (size_t i = 0; i < d->bins; i++) {
        d->bin[i].left = d->bin[i].n;
        d->bin[i].more_left = d->bin[i].more;
    }
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 14). */
static uint64_t random_number(struct ti_draw *d)
{
    uint64_t z = d->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number below `n`; the multiplication favours none by more than n / 2^64. */
static uint64_t below(struct ti_draw *d, uint64_t n)
{
    return (uint64_t)((u128)random_number(d) * n >> 64);
}

uint64_t ti_draw_next(struct ti_draw *d)
{
    struct bin *b = d->bin;
    uint64_t pick;

    if (d->left == 0)
        return d->last;
    for (pick = below(d, d->left); pick >= b->left; b++)
        pick -= b->left;
    d->last = b->low;
    if (b->more_left && below(d, b->left) < b->more_left) {
        b->more_left--;
        d->last++;
    }
    b->left--;
    d->left--;
    return d->last;
}

/* How many of the first `n` values are among the `some` lowest of all: their share, rounded down.
 */
static uint64_t share(const struct ti_draw *d, uint64_t some, uint64_t n)
{
    return n < d->n ? (uint64_t)((u128)some * n / d->n) : some;
}

void ti_draw_skip(struct ti_draw *d, uint64_t n)
{
    uint64_t before = 0; /* values of lower bins */

    d->left = n < d->n ? d->n - n : 0;
    for (struct bin *b = d->bin; b < d->bin + d->bins; before += b++->n) {
        uint64_t taken = share(d, before + b->n, n);

        b->left = b->n - (taken - share(d, before, n));
        b->more_left = b->more - (taken - share(d, before + b->n - b->more, n));
        d->last = b->low + (b->more > 0);
    }
}

struct ti_draw *ti_draw_copy(const struct ti_draw *d)
{
    size_t bytes = sizeof *d + d->bins * sizeof *d->bin;
    struct ti_draw *copy = malloc(bytes);

    if (copy)
        memcpy(copy, d, bytes);
    return copy;
}

/* The share of `some` of *left values in *n that are drawn; both become those of the rest.  As it
 * is rounded down, the rest is never asked for more than it has. */
static uint64_t draw_share(uint64_t some, uint64_t *left, uint64_t *n)
{
    uint64_t taken = *left ? (uint64_t)((u128)some * *n / *left) : 0;

    *left -= some;
    *n -= taken;
    return taken;
}

size_t ti_draw_shares(struct ti_draw *d, uint64_t n, struct ti_share *share)
{
    uint64_t left = d->left;
    size_t k = 0;

    n = n < left ? n : left;
    d->left -= n;
    for (struct bin *b = d->bin; b < d->bin + d->bins; b++) {
        uint64_t more = draw_share(b->more_left, &left, &n);
        uint64_t fewer = draw_share(b->left - b->more_left, &left, &n);

        b->more_left -= more;
        b->left -= more + fewer;
        share[k++] = (struct ti_share){b->low + 1, more};
        share[k++] = (struct ti_share){b->low, fewer};
        d->last = more ? b->low + 1 : fewer ? b->low : d->last;
    }
    return k;
}

uint64_t ti_draw_sum_first(const struct ti_draw *d, uint64_t n)
{
    uint64_t before = 0, sum = 0;

    for (const struct bin *b = d->bin; b < d->bin + d->bins; before += b++->n) {
        uint64_t taken = share(d, before + b->n, n), some;
        uint64_t more = taken - share(d, before + b->n - b->more, n);

        if (b->low > INT64_MAX ||
            __builtin_mul_overflow(taken - share(d, before, n), b->low, &some) ||
            __builtin_add_overflow(sum, some, &sum) || sum + more > UINT64_C(1) << 62)
            return UINT64_MAX;
        sum += more;
    }
    return sum;
}

uint64_t ti_draw_sum(const struct ti_draw *d)
{
    return d->sum;
}

void ti_draw_stats(const struct ti_draw *d, struct ti_column_stats *out)
{
    const struct bin *last = &d->bin[d->bins - 1];

    *out = (struct ti_column_stats){.n = d->n,
                                    .sum = d->sum,
                                    .min = (int64_t)d->bin[0].low,
                                    .max = (int64_t)(last->low + (last->more > 0))};
}

void ti_draw_free(struct ti_draw *d)
{
    free(d);
}
