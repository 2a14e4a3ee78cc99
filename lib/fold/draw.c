#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "fold/levels.h"
#include "fold/quality_columns.h"

__extension__ typedef unsigned __int128 u128;

struct bin {
    uint64_t n, left;              /* values; of these, not drawn yet */
    uint64_t low, more, more_left; /* the values are `low`, and `more` of them low + 1 */
};

struct histogram {
    uint64_t n, left, random, last;
    uint32_t bin, bins; /* number of its first one, and how many */
};

/* Values of a pattern: value k has the histogram class[(k - lead) % period]; `lead` values in front
 * have none. */
struct pattern {
    uint64_t at, phase;   /* values given, and the phase of the next one */
    uint64_t lead, front; /* the value in front */
    const uint8_t *class; /* NULL: there is one histogram */
    uint32_t period, histograms;
    struct histogram *histogram;
    struct bin *bin; /* of all histograms */
};

struct ti_draw {
    size_t bytes; /* of this structure, with histograms and bins behind it */
    bool is_levels;
    uint64_t n, sum;
    int64_t min, max;
    union {
        struct pattern pattern;
        struct {
            struct ti_levels levels;
            uint64_t last;
        };
    };
};

/* ------------------------------------------------------------------ reading -- */

/* Take a value into account that is there `n` times. */
static void count(struct ti_draw *d, uint64_t n, uint64_t value)
{
    d->sum += n * value;
    d->min = (int64_t)value < d->min ? (int64_t)value : d->min;
    d->max = (int64_t)value > d->max ? (int64_t)value : d->max;
}

/* Read a bin from `p`; false if it is malformed. */
static bool read_bin(const uint8_t **p, const uint8_t *end, uint64_t first, uint64_t most,
                     struct bin *out)
{
    uint64_t values, offset, sum;
    int64_t low;

    if (!ti_get_varint(p, end, &values) || values == 0 || values > most ||
        !ti_get_varint(p, end, &offset))
        return false;
    sum = (uint64_t)ti_unzigzag(offset);
    low = (int64_t)sum / (int64_t)values;
    if (sum - (uint64_t)low * values > INT64_MAX) /* round down */
        low--;
    *out = (struct bin){
        .n = values, .low = first + (uint64_t)low, .more = sum - (uint64_t)low * values};
    return true;
}

/* Read `bins` bins, or up to TI_HISTOGRAM_BINS until the end if that is 0, which have `n` values;
 * false if they are malformed. */
static bool read_histogram(const uint8_t **p, const uint8_t *end, uint64_t first, uint64_t n,
                           uint64_t bins, struct ti_draw *d)
{
    struct pattern *t = &d->pattern;
    struct histogram *h = &t->histogram[t->histograms];
    uint64_t values = 0;

    *h = (struct histogram){.n = n};
    if (t->histograms)
        h->bin = h[-1].bin + h[-1].bins;
    for (; bins ? h->bins < bins : *p < end; h->bins++) {
        struct bin *b = &t->bin[h->bin + h->bins];

        if (h->bins == TI_HISTOGRAM_BINS || !read_bin(p, end, first, n - values, b))
            return false;
        values += b->n;
        count(d, b->n - b->more, b->low);
        if (b->more)
            count(d, b->more, b->low + 1);
    }
    t->histograms++;
    return h->bins > 0 && values == n;
}

/* Of the first `n` values behind those in front, how many are of a class? */
static uint64_t of_class(const struct pattern *t, uint32_t class, uint64_t n)
{
    uint64_t rest = n % t->period, whole = 0, part = 0;

    if (!t->class)
        return n;
    for (uint32_t i = 0; i < t->period; i++) {
        whole += t->class[i] == class;
        part += i < rest && t->class[i] == class;
    }
    return n / t->period * whole + part;
}

static bool read_front(const uint8_t **p, const uint8_t *end, uint64_t first, struct ti_draw *d)
{
    struct pattern *t = &d->pattern;
    uint64_t offset;

    if (!ti_get_varint(p, end, &t->lead) || t->lead > 1 || t->lead >= d->n)
        return false;
    if (!t->lead)
        return true;
    if (!ti_get_varint(p, end, &offset))
        return false;
    t->front = first + (uint64_t)ti_unzigzag(offset);
    count(d, 1, t->front);
    return true;
}

static bool read_pattern(const uint8_t *p, const uint8_t *end, uint64_t first, struct ti_draw *d)
{
    struct pattern *t = &d->pattern;
    uint64_t period, classes, bins;

    if (!read_front(&p, end, first, d) || !ti_get_varint(&p, end, &period) || period == 0 ||
        period > TI_PATTERN_PERIOD || !ti_get_varint(&p, end, &classes) || classes == 0 ||
        classes > TI_PATTERN_CLASSES || period > (uint64_t)(end - p))
        return false;
    t->period = (uint32_t)period;
    t->class = p;
    for (; period; period--)
        if (*p++ >= classes)
            return false;
    for (uint32_t i = 0; i < classes; i++)
        if (!ti_get_varint(&p, end, &bins) || bins == 0 ||
            !read_histogram(&p, end, first, of_class(t, i, d->n - t->lead), bins, d))
            return false;
    return p == end;
}

/* Go through all levels. */
static bool read_levels(const uint8_t *p, const uint8_t *end, uint64_t first, struct ti_draw *d)
{
    uint64_t value;

    d->is_levels = true;
    if (!ti_levels_open(&d->levels, (int64_t)first, p, end))
        return false;
    for (uint64_t i = 0; i < d->n; i++) {
        if (!ti_levels_next(&d->levels, &value) || value > TI_LEVELS_SUM ||
            d->sum > TI_LEVELS_SUM - value)
            return false;
        count(d, 1, value);
    }
    return d->levels.symbol == end && d->levels.left == 0;
}

static bool read_blob(const uint8_t *blob, const uint8_t *end, uint64_t first, struct ti_draw *d)
{
    if (blob[0] == TI_HISTOGRAM) {
        blob++;
        return read_histogram(&blob, end, first, d->n, 0, d);
    }
    if (end - blob < 2)
        return false;
    return blob[1] == TI_CODE_PATTERN  ? read_pattern(blob + 2, end, first, d)
           : blob[1] == TI_CODE_LEVELS ? read_levels(blob + 2, end, first, d)
                                       : false;
}

bool ti_draw_new(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                 struct ti_draw **out)
{
    size_t histograms, bins, size;
    struct ti_draw *d;

    *out = NULL;
    if (bytes == 0 || (blob[0] != TI_HISTOGRAM && blob[0] != TI_CODED))
        return true;
    if (n == 0 || n > INT64_MAX)
        return false;
    histograms = blob[0] == TI_HISTOGRAM ? 1 : TI_PATTERN_CLASSES;
    bins = histograms * TI_HISTOGRAM_BINS < bytes / 2 ? histograms * TI_HISTOGRAM_BINS : bytes / 2;
    if (bytes > 1 && blob[0] == TI_CODED && blob[1] == TI_CODE_LEVELS)
        histograms = bins = 0;
    size = sizeof *d + histograms * sizeof(struct histogram) + bins * sizeof(struct bin);
    d = calloc(1, size);
    if (!d)
        return false;
    *d = (struct ti_draw){.bytes = size, .n = n, .min = INT64_MAX, .max = INT64_MIN};
    d->pattern.period = 1;
    d->pattern.histogram = (struct histogram *)(void *)(d + 1);
    d->pattern.bin = (struct bin *)(void *)(d->pattern.histogram + histograms);
    if (!read_blob(blob, blob + bytes, first, d)) {
        free(d);
        return false;
    }
    ti_draw_start(d, 0);
    *out = d;
    return true;
}

void ti_draw_free(struct ti_draw *d)
{
    free(d);
}

struct ti_draw *ti_draw_copy(const struct ti_draw *d)
{
    struct ti_draw *copy = malloc(d->bytes);

    if (!copy)
        return NULL;
    memcpy(copy, d, d->bytes);
    if (!d->is_levels) {
        size_t bin = (size_t)((const char *)d->pattern.bin - (const char *)d);

        copy->pattern.histogram = (struct histogram *)(void *)(copy + 1);
        copy->pattern.bin = (struct bin *)(void *)((char *)copy + bin);
    }
    return copy;
}

bool ti_draw_is_levels(const struct ti_draw *d)
{
    return d->is_levels;
}

/* ------------------------------------------------------------------ drawing -- */

/* The bins of a histogram, and their end. */
static struct bin *bins_of(const struct pattern *t, const struct histogram *h)
{
    return t->bin + h->bin;
}

static struct bin *end_of(const struct pattern *t, const struct histogram *h)
{
    return t->bin + h->bin + h->bins;
}

static void start_pattern(struct pattern *t, uint64_t seed)
{
    t->at = t->phase = 0;
    for (uint32_t i = 0; i < t->histograms; i++) {
        struct histogram *h = &t->histogram[i];

        h->random = i ? ti_hash_word(seed, i) : seed;
        h->left = h->n;
        for (struct bin *b = bins_of(t, h); b < end_of(t, h); b++) {
            b->left = b->n;
            b->more_left = b->more;
        }
    }
}

void ti_draw_start(struct ti_draw *d, uint64_t seed)
{
    if (d->is_levels)
        ti_levels_start(&d->levels);
    else
        start_pattern(&d->pattern, seed);
}

/* A number below `n`; the multiplication favours none by more than n / 2^64. */
static uint64_t below(struct histogram *h, uint64_t n)
{
    return (uint64_t)((u128)ti_random(&h->random) * n >> 64);
}

static uint64_t draw(const struct pattern *t, struct histogram *h)
{
    struct bin *b = bins_of(t, h);
    uint64_t pick;

    if (h->left == 0)
        return h->last;
    for (pick = below(h, h->left); pick >= b->left; b++)
        pick -= b->left;
    h->last = b->low;
    if (b->more_left && below(h, b->left) < b->more_left) {
        b->more_left--;
        h->last++;
    }
    b->left--;
    h->left--;
    return h->last;
}

uint64_t ti_draw_next(struct ti_draw *d)
{
    struct pattern *t = &d->pattern;
    uint32_t class;

    if (d->is_levels) {
        ti_levels_next(&d->levels, &d->last);
        return d->last;
    }
    if (t->at < t->lead) {
        t->at++;
        return t->front;
    }
    class = t->class ? t->class[t->phase] : 0;
    t->phase = t->phase + 1 < t->period ? t->phase + 1 : 0;
    return draw(t, &t->histogram[class]);
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

/* Draw `n` values of a histogram at once.  Returns the number of entries. */
static size_t shares_of(const struct pattern *t, struct histogram *h, uint64_t n,
                        struct ti_draw_share *share)
{
    uint64_t left = h->left;
    size_t k = 0;

    n = n < left ? n : left;
    h->left -= n;
    for (struct bin *b = bins_of(t, h); b < end_of(t, h); b++) {
        uint64_t more = draw_share(b->more_left, &left, &n);
        uint64_t fewer = draw_share(b->left - b->more_left, &left, &n);

        b->more_left -= more;
        b->left -= more + fewer;
        share[k++] = (struct ti_draw_share){b->low + 1, more};
        share[k++] = (struct ti_draw_share){b->low, fewer};
        h->last = more ? b->low + 1 : fewer ? b->low : h->last;
    }
    return k;
}

size_t ti_draw_shares(struct ti_draw *d, uint64_t n, struct ti_draw_share *share)
{
    struct pattern *t = &d->pattern;
    size_t k = 0;

    if (n && t->at < t->lead) {
        share[k++] = (struct ti_draw_share){t->front, 1};
        t->at++;
        n--;
    }
    n = n < d->n ? n : d->n;
    for (uint32_t i = 0; i < t->histograms; i++)
        k += shares_of(t, &t->histogram[i], of_class(t, i, t->phase + n) - of_class(t, i, t->phase),
                       share + k);
    t->phase = (t->phase + n % t->period) % t->period;
    return k;
}

/* ------------------------------------------------------------------- passing -- */

/* How many of the first `n` values of a histogram are among the `some` lowest of it: their share,
 * rounded down. */
static uint64_t share(const struct histogram *h, uint64_t some, uint64_t n)
{
    return n < h->n ? (uint64_t)((u128)some * n / h->n) : some;
}

static void skip_histogram(const struct pattern *t, struct histogram *h, uint64_t n)
{
    uint64_t before = 0; /* values of lower bins */

    h->left = n < h->n ? h->n - n : 0;
    for (struct bin *b = bins_of(t, h); b < end_of(t, h); before += b++->n) {
        uint64_t taken = share(h, before + b->n, n);

        b->left = b->n - (taken - share(h, before, n));
        b->more_left = b->more - (taken - share(h, before + b->n - b->more, n));
        h->last = b->low + (b->more > 0);
    }
}

/* Of the first `n` values, how many are not in front? */
static uint64_t behind(const struct pattern *t, uint64_t n)
{
    return n > t->lead ? n - t->lead : 0;
}

void ti_draw_skip(struct ti_draw *d, uint64_t n)
{
    struct pattern *t = &d->pattern;

    if (d->is_levels) {
        ti_levels_start(&d->levels);
        ti_draw_leave_out(d, n);
        return;
    }
    t->at = n;
    t->phase = behind(t, n) % t->period;
    for (uint32_t i = 0; i < t->histograms; i++)
        skip_histogram(t, &t->histogram[i], of_class(t, i, behind(t, n)));
}

void ti_draw_leave_out(struct ti_draw *d, uint64_t n)
{
    struct pattern *t = &d->pattern;

    if (d->is_levels) {
        while (n-- && ti_levels_next(&d->levels, &d->last))
            ;
        return;
    }
    if (n && t->at < t->lead) {
        t->at++;
        n--;
    }
    t->phase = (t->phase + n % t->period) % t->period;
}

/* Add the values of a histogram among its first `n` to *sum; false if one is negative, or the sum
 * is above 2^62. */
static bool sum_histogram(const struct pattern *t, const struct histogram *h, uint64_t n,
                          uint64_t *sum)
{
    uint64_t before = 0;

    for (const struct bin *b = bins_of(t, h); b < end_of(t, h); before += b++->n) {
        uint64_t taken = share(h, before + b->n, n), some;
        uint64_t more = taken - share(h, before + b->n - b->more, n);

        if (b->low > INT64_MAX ||
            __builtin_mul_overflow(taken - share(h, before, n), b->low, &some) ||
            __builtin_add_overflow(*sum, some, sum) || *sum + more > UINT64_C(1) << 62)
            return false;
        *sum += more;
    }
    return true;
}

static uint64_t sum_levels(const struct ti_draw *d, uint64_t n)
{
    struct ti_levels levels = d->levels;
    uint64_t sum = 0, value;

    ti_levels_start(&levels);
    while (n-- && ti_levels_next(&levels, &value))
        sum += value;
    return sum;
}

bool ti_draw_sum_first(const struct ti_draw *d, uint64_t n, uint64_t *runs, uint64_t *sum)
{
    const struct pattern *t = &d->pattern;

    *sum = 0;
    n = n < d->n ? n : d->n;
    if (d->is_levels) {
        if (*runs < n)
            return false;
        *runs -= n;
        *sum = sum_levels(d, n);
        return true;
    }
    if (n && t->lead)
        *sum = t->front;
    for (uint32_t i = 0; i < t->histograms && *sum <= UINT64_C(1) << 62; i++)
        if (!sum_histogram(t, &t->histogram[i], of_class(t, i, behind(t, n)), sum))
            *sum = UINT64_MAX;
    if (*sum > UINT64_C(1) << 62)
        *sum = UINT64_MAX;
    return true;
}

uint64_t ti_draw_sum(const struct ti_draw *d)
{
    return d->sum;
}

void ti_draw_stats(const struct ti_draw *d, struct ti_column_stats *out)
{
    *out = (struct ti_column_stats){.n = d->n, .sum = d->sum, .min = d->min, .max = d->max};
}

/* ------------------------------------------------------------------- another n -- */

/* Append the bins of a histogram as if it had `n` values, and count them in *bins. */
static void put_bins(const struct pattern *t, const struct histogram *h, uint64_t first, uint64_t n,
                     struct ti_buffer *b, uint64_t *bins)
{
    uint64_t before = 0, put = 0; /* values of lower bins; those that have been put */

    for (const struct bin *bin = bins_of(t, h); bin < end_of(t, h); bin++) {
        uint64_t values, more;

        before += bin->n;
        values = (uint64_t)((u128)before * n / h->n) - put;
        more = (uint64_t)((u128)bin->more * values / bin->n);
        if (!values)
            continue;
        ti_buffer_varint(b, values);
        ti_buffer_varint(b, ti_zigzag((int64_t)(values * (bin->low - first) + more)));
        put += values;
        ++*bins;
    }
}

uint32_t ti_draw_period(const struct ti_draw *d)
{
    return d->is_levels ? 1 : d->pattern.period;
}

bool ti_draw_put(const struct ti_draw *d, uint64_t first, uint64_t n, struct ti_buffer *b)
{
    static const uint8_t heads[][2] = {{TI_HISTOGRAM}, {TI_CODED, TI_CODE_PATTERN}};
    const struct pattern *t = &d->pattern;

    for (uint32_t i = 0; i < t->histograms; i++)
        if (of_class(t, i, behind(t, n)) == 0)
            return false;
    ti_buffer_put(b, heads[t->class != NULL], t->class ? 2 : 1);
    if (t->class) {
        ti_buffer_varint(b, t->lead);
        if (t->lead)
            ti_buffer_varint(b, ti_zigzag((int64_t)(t->front - first)));
        ti_buffer_varint(b, t->period);
        ti_buffer_varint(b, t->histograms);
        ti_buffer_put(b, t->class, t->period);
    }
    for (uint32_t i = 0; i < t->histograms; i++) {
        struct ti_buffer all = {.data = NULL};
        uint64_t bins = 0;

        put_bins(t, &t->histogram[i], first, of_class(t, i, behind(t, n)), &all, &bins);
        if (t->class)
            ti_buffer_varint(b, bins);
        ti_buffer_join(b, &all);
        free(all.data);
    }
    return true;
}
