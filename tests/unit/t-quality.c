/* Bounded columns and histograms against the values that they stand for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fold/column.h"
#include "fold/levels.h"
#include "fold/quality_columns.h"

static uint64_t rng = 88172645463325252u;
static uint64_t rnd(uint64_t below)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng % below;
}

/* Values of a kind that bursts may have. */
static void make_values(uint64_t *value, size_t n)
{
    uint64_t kind = rnd(9), base = 1 + rnd(1u << rnd(30));

    for (size_t i = 0; i < n; i++) {
        switch (kind) {
        case 0: /* noise of some per mille */
            value[i] = base + rnd(base / 200 + 1);
            break;
        case 1: /* noise of some percent */
            value[i] = base + rnd(base / 10 + 1);
            break;
        case 2: /* a slow drift */
            value[i] = base + i * 3;
            break;
        case 3: /* two levels */
            value[i] = rnd(2) ? base : base * 100;
            break;
        case 4: /* small numbers */
            value[i] = rnd(4);
            break;
        case 5: /* anything */
            value[i] = rng >> rnd(64);
            break;
        case 6: /* noise as large as the values */
            value[i] = base / 2 + rnd(base * (1 + 9 * (rnd(20) == 0)));
            break;
        case 7: /* a period, and noise of some percent */
            value[i] = (base << i % 5) + rnd(base / 10 + 1);
            break;
        default:
            value[i] = base;
        }
    }
}

struct encoded {
    struct ti_buffer blob;
    int64_t first;
};

static struct encoded encode(const uint64_t *value, size_t n, const struct ti_quality *q)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    struct encoded e = {{.data = NULL}, 0};

    for (size_t i = 0; i < n; i++)
        ti_column_add(&pool, &column, value[i]);
    ti_quality_put(&e.blob, &column, q, &e.first);
    ti_pool_free(&pool);
    return e;
}

static bool is_code(const struct encoded *e, uint8_t code)
{
    return e->blob.n > 1 && e->blob.data[0] == TI_CODED && e->blob.data[1] == code;
}

/* Decode `n` values with a seed; returns whether the blob is no list of tokens. */
static bool decode(const struct encoded *e, size_t n, uint64_t seed, uint64_t *out)
{
    struct ti_cursor cursor;
    struct ti_draw *draw;

    ti_cursor_start(&cursor, (uint64_t)e->first, e->blob.data, e->blob.n);
    assert_true(ti_draw_new((uint64_t)e->first, e->blob.data, e->blob.n, n, &draw));
    if (draw)
        ti_draw_start(draw, seed);
    cursor.draw = draw;
    for (size_t i = 0; i < n; i++)
        assert_true(ti_cursor_next(&cursor, &out[i]));
    ti_draw_free(draw);
    return draw != NULL;
}

static uint64_t sum_of(const uint64_t *value, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += value[i];
    return sum;
}

/* Half of the distance that is allowed, and the next value beyond: computed with doubles. */
static void bursts_are_within_the_bound(void **state)
{
    static const uint32_t ppm[] = {1, 1000, 10000, 100000, 500000};
    uint64_t value[3000], got[3000], again[3000];
    int levels = 0, tokens = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct ti_quality q = {TI_BOUNDED, ppm[rnd(5)]};
        size_t n = 1 + rnd(3000);
        struct encoded e;

        make_values(value, n);
        e = encode(value, n, &q);
        levels += decode(&e, n, 0, got);
        tokens += !is_code(&e, TI_CODE_LEVELS);
        decode(&e, n, 1, again);
        assert_memory_equal(got, again, n * sizeof *got);
        assert_true(sum_of(value, n) == sum_of(got, n));
        for (size_t i = 0; i < n; i++) {
            double off =
                got[i] > value[i] ? (double)(got[i] - value[i]) : (double)(value[i] - got[i]);

            assert_true(off <= (double)value[i] * q.ppm / 1e6 * (1 + 1e-9));
        }
        free(e.blob.data);
    }
    assert_true(levels > 200);
    assert_true(tokens > 200);
}

/* Noise above the bound: neighbours have no common mean, but a value has few levels to be at. */
static void large_noise_becomes_small_symbols(void **state)
{
    const struct ti_quality exact = {TI_EXACT, 0}, one = {TI_BOUNDED, 10000};
    uint64_t value[3000], got[3000];
    uint8_t different[256] = {0};
    struct encoded e;
    size_t symbols = 0;

    (void)state;
    for (size_t i = 0; i < 3000; i++)
        value[i] = 1000000 + rnd(100000) + rnd(100000);
    e = encode(value, 3000, &exact);
    assert_true(e.blob.n > 10000);
    free(e.blob.data);
    e = encode(value, 3000, &one);
    assert_true(is_code(&e, TI_CODE_LEVELS));
    assert_true(e.blob.n < 3000 + 50);
    assert_true(decode(&e, 3000, 0, got));
    for (size_t i = 50; i < e.blob.n; i++)
        different[e.blob.data[i]] = 1;
    for (size_t i = 0; i < 256; i++)
        symbols += different[i];
    assert_true(symbols <= 14); /* noise of 20 %, in steps of less than 2 % */
    free(e.blob.data);
}

static void noise_becomes_a_few_bytes(void **state)
{
    const struct ti_quality exact = {TI_EXACT, 0}, bound = {TI_BOUNDED, 10000};
    uint64_t value[3000];
    struct encoded e;

    (void)state;
    for (size_t i = 0; i < 3000; i++)
        value[i] = 1000000 + rnd(5000);
    e = encode(value, 3000, &exact);
    assert_true(e.blob.n > 3000);
    free(e.blob.data);
    e = encode(value, 3000, &bound);
    assert_true(e.blob.n < 16);
    free(e.blob.data);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void histograms_keep_what_they_promise(void **state)
{
    const struct ti_quality q = {TI_STATISTICS, 0};
    uint64_t value[3000], got[3000], again[3000], other[3000];
    int histograms = 0, orders = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + rnd(3000);
        struct encoded e;

        make_values(value, n);
        e = encode(value, n, &q);
        if (decode(&e, n, 7, got)) {
            histograms++;
            assert_true(e.blob.n < (is_code(&e, TI_CODE_PATTERN) ? 600 : 200));
            decode(&e, n, 7, again);
            assert_memory_equal(got, again, n * sizeof *got);
            decode(&e, n, 8, other);
            orders += memcmp(got, other, n * sizeof *got) != 0;
        }
        assert_true(sum_of(value, n) == sum_of(got, n));
        qsort(value, n, sizeof *value, by_value);
        qsort(got, n, sizeof *got, by_value);
        assert_true(value[0] == got[0]);
        assert_true(value[n - 1] == got[n - 1]);
        free(e.blob.data);
    }
    assert_true(histograms > 500);
    assert_true(orders > histograms / 2);
}

/* A blob of another number of values has them in the same shares, phase by phase. */
static void histograms_get_other_numbers(void **state)
{
    enum { MOST = 3000, TIMES = 7 };
    const struct ti_quality q = {TI_STATISTICS, 0};
    static uint64_t value[MOST], got[MOST * TIMES];
    int histograms = 0, patterns = 0, too_few = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        size_t n = 100 + rnd(MOST - 100), other = rnd(2) ? n * TIMES : 1 + rnd(rnd(2) ? n : 8);
        struct encoded e, more = {{.data = NULL}, 0};
        struct ti_draw *draw;
        uint32_t period;
        double mean, is;

        make_values(value, n);
        e = encode(value, n, &q);
        assert_true(ti_draw_new((uint64_t)e.first, e.blob.data, e.blob.n, n, &draw));
        if (!draw) {
            free(e.blob.data);
            continue;
        }
        more.first = e.first;
        period = ti_draw_period(draw);
        patterns += period > 1;
        histograms += period == 1;
        if (!ti_draw_put(draw, (uint64_t)e.first, other, &more.blob)) {
            too_few++;
            assert_true(other <= TI_PATTERN_PERIOD && !more.blob.n);
        } else {
            assert_true(decode(&more, other, 3, got));
            mean = (double)sum_of(value, n) / (double)n;
            is = (double)sum_of(got, other) / (double)other;
            qsort(value, n, sizeof *value, by_value);
            if (is_code(&e, TI_CODE_PATTERN)) /* the value in front has another share */
                assert_true(mean > 1e15 || other < 1000 || (is < mean * 1.2 && is > mean * 0.8));
            else if (other == n * TIMES)
                assert_true(sum_of(got, other) == TIMES * sum_of(value, n));
            else /* of each bin, one value more or less */
                assert_true(mean > 1e15 ||
                            fabs(is - mean) * (double)other < 16 * (double)value[n - 1]);
        }
        ti_draw_free(draw);
        free(e.blob.data);
        free(more.blob.data);
    }
    assert_true(histograms > 100 && patterns > 50 && too_few > 2);
}

/* Quantiles of noise that is spread evenly: the eighths of a histogram are those of the values. */
static void histograms_are_balanced(void **state)
{
    const struct ti_quality q = {TI_STATISTICS, 0};
    uint64_t value[8000], got[8000];
    struct encoded e;

    (void)state;
    for (size_t i = 0; i < 8000; i++)
        value[i] = 1000000 + rnd(800000);
    e = encode(value, 8000, &q);
    assert_true(decode(&e, 8000, 1, got));
    qsort(got, 8000, sizeof *got, by_value);
    for (uint64_t eighth = 0; eighth < 8; eighth++) {
        uint64_t middle = got[500 + eighth * 1000], expected = 1050000 + eighth * 100000;

        assert_true(middle > expected - 10000 && middle < expected + 10000);
    }
    free(e.blob.data);
}

/* Rare slow values, here about 1 of 240, remain as many and as slow: they are not taken together
 * with the largest of the others. */
static void rare_values_remain_rare(void **state)
{
    const struct ti_quality q = {TI_STATISTICS, 0};
    uint64_t value[2000], got[2000], slow = 0, drawn = 0;
    struct encoded e;

    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        value[i] = (rnd(240) == 0 ? 60000 : 3000) + rnd(150);
        slow += value[i] >= 60000;
    }
    e = encode(value, 2000, &q);
    assert_true(decode(&e, 2000, 1, got));
    for (size_t i = 0; i < 2000; i++) {
        drawn += got[i] >= 60000;
        assert_true(got[i] < 3150 || got[i] >= 60000);
    }
    assert_true(slow > 3);
    assert_int_equal(drawn, slow);
    free(e.blob.data);
}

/* The slow values of a period stay at their phases, and the first value where it is. */
static void patterns_keep_phases(void **state)
{
    const struct ti_quality q = {TI_STATISTICS, 0};
    uint64_t value[2900], got[2900];
    double sum[2][29] = {{0}};
    struct encoded e;

    (void)state;
    for (size_t i = 0; i < 2900; i++) {
        value[i] = UINT64_C(1000) << (i * i % 29) % 8;
        value[i] += rnd(value[i]);
    }
    value[0] = 10000000;
    e = encode(value, 2900, &q);
    assert_true(is_code(&e, TI_CODE_PATTERN));
    assert_true(e.blob.n < 400);
    assert_true(decode(&e, 2900, 3, got));
    assert_true(got[0] == 10000000);
    assert_true(sum_of(value, 2900) == sum_of(got, 2900));
    for (size_t i = 1; i < 2900; i++) {
        sum[0][i % 29] += (double)value[i];
        sum[1][i % 29] += (double)got[i];
    }
    for (size_t i = 0; i < 29; i++)
        assert_true(sum[1][i] > 0.8 * sum[0][i] && sum[1][i] < 1.25 * sum[0][i]);
    free(e.blob.data);

    for (size_t i = 0; i < 2900; i++) /* nothing depends on the place */
        value[i] = 1000 + rnd(1000);
    e = encode(value, 2900, &q);
    assert_true(e.blob.data[0] == TI_HISTOGRAM);
    free(e.blob.data);
}

/* Sums of the first values, and passing values, against reading them one by one. */
static void values_can_be_passed(void **state)
{
    uint64_t value[3000], got[3000];
    int levels = 0, patterns = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct ti_quality q = {rnd(2) ? TI_BOUNDED : TI_STATISTICS, 10000};
        size_t n = 1 + rnd(3000), some = rnd(n + 1);
        uint64_t runs = n, sum, before = 0, rest = 0;
        struct encoded e;
        struct ti_draw *draw;

        make_values(value, n);
        e = encode(value, n, &q);
        decode(&e, n, 0, got);
        assert_true(ti_draw_new((uint64_t)e.first, e.blob.data, e.blob.n, n, &draw));
        for (size_t i = 0; draw && i <= n; i += 1 + rnd(300), before = sum, runs = n) {
            assert_true(ti_draw_sum_first(draw, i, &runs, &sum));
            assert_true(sum >= before);
            assert_true(!is_code(&e, TI_CODE_LEVELS) || sum == sum_of(got, i));
        }
        if (draw) {
            assert_true(ti_draw_sum_first(draw, some, &runs, &sum));
            ti_draw_skip(draw, some);
            for (size_t i = some; i < n; i++)
                rest += ti_draw_next(draw);
            assert_true(sum + rest == ti_draw_sum(draw));
        }
        if (is_code(&e, TI_CODE_LEVELS)) {
            levels++;
            runs = n - 1;
            assert_false(ti_draw_sum_first(draw, n, &runs, &sum));
            ti_draw_start(draw, 0);
            ti_draw_leave_out(draw, some);
            for (size_t i = some; i < n; i++)
                assert_true(ti_draw_next(draw) == got[i]);
        }
        patterns += is_code(&e, TI_CODE_PATTERN);
        ti_draw_free(draw);
        free(e.blob.data);
    }
    assert_true(levels > 50);
    assert_true(patterns > 20);
}

/* Values of a blob add up to its sum, and are within its extremes. */
static void check_draw(struct ti_draw *draw, uint64_t values)
{
    struct ti_column_stats stats;
    uint64_t sum = 0;

    ti_draw_stats(draw, &stats);
    for (uint64_t i = 0; i < values; i++) {
        uint64_t value = ti_draw_next(draw);

        assert_true((int64_t)value >= stats.min && (int64_t)value <= stats.max);
        sum += value;
    }
    assert_true(sum == ti_draw_sum(draw));
    assert_true(sum == stats.sum);
}

/* Blobs of levels and of patterns with some bytes changed, and cut anywhere. */
static void damaged_codes_are_refused_or_consistent(void **state)
{
    uint64_t value[300];
    int read = 0;

    (void)state;
    for (int round = 0; round < 100000; round++) {
        struct ti_quality q = {rnd(2) ? TI_BOUNDED : TI_STATISTICS, 10000};
        size_t n = 8 + rnd(290);
        static struct encoded e;
        static size_t values;
        struct ti_draw *draw;
        uint8_t *blob;
        size_t bytes;

        if (round % 100 == 0) {
            free(e.blob.data);
            make_values(value, n);
            e = encode(value, n, &q);
            values = n;
        }
        if (e.blob.n < 2 || e.blob.data[0] != TI_CODED)
            continue;
        bytes = rnd(3) ? e.blob.n : rnd(e.blob.n + 1);
        blob = malloc(bytes + 1); /* the end of it is the end of the memory */
        assert_non_null(blob);
        memcpy(blob, e.blob.data, bytes);
        for (uint64_t k = rnd(3); k && bytes; k--)
            blob[rnd(bytes < 20 || rnd(2) ? bytes : 20)] = (uint8_t)(rng >> 20);
        if (ti_draw_new((uint64_t)e.first + rnd(3), blob, bytes, values, &draw) && draw) {
            read++;
            check_draw(draw, values);
            ti_draw_free(draw);
        }
        free(blob);
    }
    assert_true(read > 1000);
}

static void malformed_histograms_are_refused(void **state)
{
    uint8_t blob[64] = {TI_HISTOGRAM};
    struct ti_draw *full;

    (void)state;
    for (size_t i = 1; i < sizeof blob; i++) /* bins of one value, the minimum */
        blob[i] = i % 2;
    assert_true(ti_draw_new(7, blob, 1 + 2 * TI_HISTOGRAM_BINS, TI_HISTOGRAM_BINS, &full));
    assert_int_equal(ti_draw_sum(full), 7 * TI_HISTOGRAM_BINS);
    ti_draw_free(full);
    assert_false(ti_draw_new(7, blob, 3 + 2 * TI_HISTOGRAM_BINS, TI_HISTOGRAM_BINS + 1, &full));
    for (int round = 0; round < 200000; round++) {
        size_t n = 1 + rnd(12);
        uint64_t values = 1 + rnd(50);
        struct ti_draw *draw;

        blob[0] = TI_HISTOGRAM;
        for (size_t i = 1; i < n; i++)
            blob[i] = (uint8_t)(rnd(3) ? rnd(40) : rng);
        if (!ti_draw_new(rng, blob, n, values, &draw))
            continue;
        assert_non_null(draw);
        check_draw(draw, values);
        ti_draw_free(draw);
    }
}

static void texts_of_qualities(void **state)
{
    static const char *const good[] = {"exact",      "stats",     "bound:1%",
                                       "bound:0.5%", "bound:50%", "bound:0.0001%"};
    static const char *const bad[] = {"",          "bound",      "bound:",    "bound:1",
                                      "bound:-1%", "bound:51%",  "bound:0%",  "bound: 1%",
                                      "exact ",    "bound:nan%", "statistics"};
    struct ti_quality q;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(ti_quality_parse(good[i], &q));
        ti_quality_text(&q, text, sizeof text);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(ti_quality_parse(bad[i], &q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_are_within_the_bound),
        cmocka_unit_test(noise_becomes_a_few_bytes),
        cmocka_unit_test(large_noise_becomes_small_symbols),
        cmocka_unit_test(histograms_keep_what_they_promise),
        cmocka_unit_test(histograms_get_other_numbers),
        cmocka_unit_test(histograms_are_balanced),
        cmocka_unit_test(rare_values_remain_rare),
        cmocka_unit_test(patterns_keep_phases),
        cmocka_unit_test(values_can_be_passed),
        cmocka_unit_test(malformed_histograms_are_refused),
        cmocka_unit_test(damaged_codes_are_refused_or_consistent),
        cmocka_unit_test(texts_of_qualities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
