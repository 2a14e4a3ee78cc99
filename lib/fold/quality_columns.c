#include "fold/quality_columns.h"

#include <stdlib.h>

#include "common/order.h"
#include "fold/levels.h"
#include "fold/pattern.h"

#define BINS       8         /* balanced ones */
#define BINS_CLASS 4         /* of a class of a pattern */
#define GAPS       3         /* bins more, at most, that end at a gap between values */
#define FEW        64        /* with fewer values, a histogram has half or a quarter of its bins */
#define PIECES     1024      /* of a run whose values differ */
#define PATTERNED  (1 << 20) /* values of a column that may have a pattern, at most */

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
    ti_column_add_run(pool, out, &(struct ti_column_run){mean + 1, 0, more});
    ti_column_add_run(pool, out, &(struct ti_column_run){mean, 0, s->n - more});
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

static void bound_run(struct segment *s, const struct ti_quality *q, const struct ti_column_run *r,
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
    const struct ti_column_run *r;

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
    bool no_memory;
};

static void add_piece(struct pieces *p, uint64_t first, uint64_t stride, uint64_t n)
{
    uint64_t last = first + stride * (n - 1);

    p->no_memory |= !TI_ROOM(p->piece, &p->cap, p->n + 1);
    if (p->no_memory)
        return;
    p->piece[p->n++] = (struct piece){first < last ? first : last, first < last ? last : first, n,
                                      ((u128)first + last) * n / 2};
}

static void add_run(struct pieces *p, const struct ti_column_run *r)
{
    uint64_t each = r->stride ? (r->n + PIECES - 1) / PIECES : r->n;

    for (uint64_t i = 0, n; i < r->n; i += n) {
        n = r->n - i < each ? r->n - i : each;
        add_piece(p, r->first + i * r->stride, r->stride, n);
    }
}

TI_ORDER_BY(by_value, struct piece, first)

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

/* Whether the values above a piece are so far from it that no bin may hold both: twice as large,
 * and further away than the mean of all.  A bin is drawn as its mean, so rare slow bursts would
 * become more frequent ones that are not as slow. */
static bool ends_at_gap(const struct piece *p, const struct piece *above, u128 mean)
{
    return above->n && above->first / 2 >= p->last && above->first - p->last > mean;
}

/* Put the bins of a histogram with `bins` balanced ones, and sort the pieces; returns how many they
 * are. */
static uint64_t put_bins(struct ti_buffer *b, struct pieces *p, uint64_t minimum, size_t bins)
{
    struct piece bin = {.n = 0}, *last = p->piece;
    struct ti_buffer end = {.data = NULL};
    uint64_t rest = 0, n = 1;
    int gaps = 0;
    u128 mean = 0;

    if (p->no_memory) {
        b->no_memory = true;
        return 0;
    }
    qsort(p->piece, p->n, sizeof *p->piece, by_value);
    for (size_t i = 0; i < p->n; i++) {
        rest += p->piece[i].n;
        mean += p->piece[i].sum;
        last = p->piece[i].last > last->last ? &p->piece[i] : last;
    }
    mean /= rest;
    split_extreme(&p->piece[0], b, minimum, p->piece[0].first);
    if (last->n) {
        split_extreme(last, &end, minimum, last->last);
        n++;
    }
    rest -= n;
    for (size_t i = 0, done = 0; i < p->n; i++) {
        bool full, gap;

        bin.n += p->piece[i].n;
        bin.sum += p->piece[i].sum;
        full = bin.n >= (rest + bins - done - 1) / (bins - done) || i + 1 == p->n;
        gap = !full && gaps < GAPS && ends_at_gap(&p->piece[i], &p->piece[i + 1], mean);
        if (bin.n && (full || gap)) {
            put_bin(b, minimum, bin.n, bin.sum);
            n++;
            rest -= bin.n;
            gaps += gap;
            done += full && done + 1 < bins;
            bin = (struct piece){.n = 0};
        }
    }
    ti_buffer_join(b, &end);
    free(end.data);
    return n;
}

static uint64_t minimum_of(const struct pieces *p)
{
    uint64_t minimum = UINT64_MAX;

    for (size_t i = 0; i < p->n; i++)
        minimum = p->piece[i].first < minimum ? p->piece[i].first : minimum;
    return minimum;
}

static void put_histogram(struct ti_buffer *b, const struct ti_column *c, int64_t *first)
{
    struct pieces p = {.piece = NULL};
    static const uint8_t head = TI_HISTOGRAM;
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_column_run *r;

    while ((r = ti_run_next(&at)))
        add_run(&p, r);
    *first = (int64_t)minimum_of(&p);
    ti_buffer_put(b, &head, 1);
    put_bins(b, &p, (uint64_t)*first, BINS);
    free(p.piece);
}

/* ------------------------------------------------------------------ patterns -- */

/* The values of a column; NULL if there are too many, or memory is short. */
static uint64_t *values_of(const struct ti_column *c, size_t *n, bool *no_memory)
{
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_column_run *r;
    uint64_t *value = NULL;
    size_t cap = 0;

    *n = 0;
    if (ti_column_values(c) > PATTERNED)
        return NULL;
    if (!TI_ROOM(value, &cap, (size_t)ti_column_values(c) + 1)) {
        *no_memory = true;
        return NULL;
    }
    while ((r = ti_run_next(&at)))
        for (uint64_t i = 0; i < r->n; i++)
            value[(*n)++] = r->first + i * r->stride;
    return value;
}

/* Whether the first value is twice the mean, or more. */
static bool is_far(const uint64_t *value, size_t n)
{
    u128 sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += value[i];
    return n > 1 && sum && (u128)value[0] * n >= 2 * sum;
}

/* Put the histogram of the values of a class. */
static void put_class(struct ti_buffer *b, const uint64_t *value, size_t n, uint64_t minimum,
                      const struct ti_pattern *t, uint32_t class)
{
    struct pieces p = {.piece = NULL};
    struct ti_buffer bins = {.data = NULL};
    size_t most = t->period == 1 ? BINS : BINS_CLASS;

    for (size_t i = 0; i < n; i++)
        if (t->class[i % t->period] == class)
            add_piece(&p, value[i], 0, 1);
    if (p.n < FEW)
        most = t->period == 1 ? BINS / 2 : BINS_CLASS / 4;
    ti_buffer_varint(b, put_bins(&bins, &p, minimum, most));
    ti_buffer_join(b, &bins);
    free(bins.data);
    free(p.piece);
}

/* Put the pattern of a column; false, and nothing, if it has none. */
static bool put_pattern(struct ti_buffer *b, const struct ti_column *c, int64_t *first)
{
    static const uint8_t head[] = {TI_CODED, TI_CODE_PATTERN};
    struct ti_pattern pattern = {.period = 1};
    uint64_t minimum = UINT64_MAX;
    size_t n;
    uint64_t *value = values_of(c, &n, &b->no_memory);
    bool lead = value && is_far(value, n);

    if (value)
        ti_pattern_find(value + lead, n - lead, &pattern);
    if (!lead && pattern.period == 1) {
        free(value);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        minimum = value[i] < minimum ? value[i] : minimum;
    *first = (int64_t)minimum;
    ti_buffer_put(b, head, sizeof head);
    ti_buffer_varint(b, lead);
    if (lead)
        ti_buffer_varint(b, ti_zigzag((int64_t)(value[0] - minimum)));
    ti_buffer_varint(b, pattern.period);
    ti_buffer_varint(b, pattern.classes);
    ti_buffer_put(b, pattern.class, pattern.period);
    for (uint32_t i = 0; i < pattern.classes; i++)
        put_class(b, value + lead, n - lead, minimum, &pattern, i);
    free(value);
    return true;
}

/* ------------------------------------------------------------------ choosing -- */

static void widen(const struct ti_column_run *r, uint64_t *n, uint64_t *minimum, uint64_t *maximum)
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
    const struct ti_column_run *r;

    while ((r = ti_run_next(&at)))
        widen(r, &n, &minimum, &maximum);
    return n && maximum < UINT64_C(1) << 62 && maximum - minimum < (UINT64_C(1) << 62) / n;
}

/* A blob that may stand for a column. */
struct candidate {
    struct ti_buffer blob;
    int64_t first;
};

/* About the binary logarithm of n > 0, in 1/256: the same on every machine. */
static uint64_t log_of(uint64_t n)
{
    int e = 63 - __builtin_clzll(n);

    return (uint64_t)e * 256 + ((n << (63 - e)) >> 55) - 256;
}

/* The likely size of a blob once it is compressed, in 1/256 bit: by how often each byte occurs in
 * it, and a bit more for each byte. */
static uint64_t price(const uint8_t *data, size_t n)
{
    uint64_t times[256] = {0}, sum = 256 * n;

    for (size_t i = 0; i < n; i++)
        times[data[i]]++;
    for (int i = 0; i < 256; i++)
        if (times[i])
            sum += times[i] * (log_of(n) - log_of(times[i]));
    return sum;
}

/* Replace what was appended to `b` from `start` on. */
static void take(struct ti_buffer *b, size_t start, const struct candidate *other, int64_t *first)
{
    b->n = start;
    ti_buffer_join(b, &other->blob);
    *first = other->first;
}

/* Replace the exact blob by one of bounded values, if that takes less. */
static void put_bounded(struct ti_buffer *b, size_t start, const struct ti_column *c,
                        const struct ti_quality *q, int64_t *first)
{
    static const uint8_t head[] = {TI_CODED, TI_CODE_LEVELS};
    struct ti_pool pool = {.at = NULL};
    struct ti_column bounded = bound(&pool, c, q);
    struct candidate segments = {.first = (int64_t)ti_column_first(&bounded)};
    struct candidate levels = {.first = 0};

    ti_column_put(&segments.blob, &bounded);
    b->no_memory |= pool.no_memory;
    ti_pool_free(&pool);
    if (price(segments.blob.data, segments.blob.n) < price(b->data + start, b->n - start))
        take(b, start, &segments, first);
    ti_buffer_put(&levels.blob, head, sizeof head);
    if (ti_levels_put(&levels.blob, c, q, &levels.first) &&
        price(levels.blob.data, levels.blob.n) < price(b->data + start, b->n - start))
        take(b, start, &levels, first);
    b->no_memory |= segments.blob.no_memory || levels.blob.no_memory;
    free(segments.blob.data);
    free(levels.blob.data);
}

/* Replace the exact blob by a histogram, if that is smaller, or by a pattern, if that is much
 * smaller. */
static void put_statistics(struct ti_buffer *b, size_t start, const struct ti_column *c,
                           int64_t *first)
{
    struct candidate histogram = {.first = 0}, pattern = {.first = 0};
    size_t exact = b->n - start;

    put_histogram(&histogram.blob, c, &histogram.first);
    if (histogram.blob.n < exact) {
        bool found = put_pattern(&pattern.blob, c, &pattern.first);

        take(b, start, found && pattern.blob.n < exact / 4 * 3 ? &pattern : &histogram, first);
    }
    b->no_memory |= histogram.blob.no_memory || pattern.blob.no_memory;
    free(histogram.blob.data);
    free(pattern.blob.data);
}

void ti_quality_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                    int64_t *first)
{
    size_t start = b->n;

    *first = (int64_t)ti_column_first(c);
    ti_column_put(b, c);
    if (q->kind == TI_EXACT || b->n == start || !is_moderate(c))
        return;
    if (q->kind == TI_BOUNDED)
        put_bounded(b, start, c, q, first);
    else
        put_statistics(b, start, c, first);
}
