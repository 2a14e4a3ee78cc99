/* Columns: what is encoded is decoded, in few bytes; damage is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fold/column.h"
#include "tests/unit/records.h"

static struct ti_pool pool;

struct values {
    uint64_t *v;
    size_t n, cap;
};

static void add(struct values *l, uint64_t value)
{
    l->v = ti_grow(l->v, &l->cap, l->n + 1, sizeof *l->v);
    l->v[l->n++] = value;
}

static void add_run(struct values *l, uint64_t first, uint64_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(l, first + i * stride);
}

static uint64_t wide(void)
{
    return records_any() >> records_below(64);
}

/* Values that look alike in one of many ways. */
enum { CONSTANT, STRIDE, TWO, FEW, ANY, RUNS, PATTERN, NESTED, EDGES, WAYS };

static void add_random(struct values *l, int way, size_t n);

static void add_pattern(struct values *l, int way, size_t n)
{
    struct values p = {NULL, 0, 0};
    size_t more = 1 + records_below(40);

    add_random(&p, way, 1 + records_below(30));
    for (size_t i = 0; i < more * p.n && i < n; i++)
        add(l, p.v[i % p.n]);
    free(p.v);
}

static void add_random(struct values *l, int way, size_t n)
{
    static const uint64_t edges[] = {0, 1, INT64_MAX, 1 + (uint64_t)INT64_MAX, UINT64_MAX};
    uint64_t a = wide(), b = wide();

    switch (way) {
    case CONSTANT:
        add_run(l, a, 0, n);
        break;
    case STRIDE:
        add_run(l, a, b, n);
        break;
    case TWO:
        for (size_t i = 0; i < n; i++)
            add(l, i % 2 ? a : b);
        break;
    case FEW:
        for (size_t i = 0; i < n; i++)
            add(l, a + records_below(3));
        break;
    case ANY:
        for (size_t i = 0; i < n; i++)
            add(l, wide());
        break;
    case RUNS:
        for (size_t i = 0; i < n; i += 8)
            add_run(l, wide(), records_below(3) ? records_below(3) : wide(), records_below(17));
        break;
    case PATTERN:
        add_pattern(l, (int)records_below(PATTERN), 3 * n);
        break;
    case NESTED:
        for (size_t i = 0; i < n; i += 10)
            add_pattern(l, (int)records_below(WAYS), 30);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            add(l, edges[records_below(sizeof edges / sizeof *edges)]);
    }
}

static struct ti_column column_of(const struct values *l)
{
    struct ti_column c = {.head = NULL};

    for (size_t i = 0; i < l->n; i++)
        ti_column_add(&pool, &c, l->v[i]);
    return c;
}

static struct ti_buffer blob_of(const struct ti_column *c)
{
    struct ti_buffer b = {.data = NULL};

    ti_column_put(&b, c);
    return b;
}

/* The bytes of the blob of these values. */
static size_t bytes_of(const struct values *l)
{
    struct ti_column c = column_of(l);
    struct ti_buffer b = blob_of(&c);

    free(b.data);
    ti_column_free(&pool, &c);
    return b.n;
}

static void must_hold(const struct ti_column *c, const struct values *l)
{
    struct ti_buffer b = blob_of(c);
    struct ti_cursor cursor;
    uint64_t v = 0;

    assert_true(ti_column_first(c) == (l->n ? l->v[0] : 0));
    ti_cursor_start(&cursor, ti_column_first(c), b.data, b.n);
    for (size_t i = 0; i < l->n + 10; i++) {
        assert_true(ti_cursor_next(&cursor, &v));
        if (l->n && v != l->v[i < l->n ? i : l->n - 1])
            fail_msg("value %zu of %zu is %#llx", i, l->n, (unsigned long long)v);
    }
    free(b.data);
}

/* From any value on, skipping and adding up lead to the same values as reading. */
static void must_skip(const struct ti_column *c, const struct values *l)
{
    struct ti_buffer b = blob_of(c);

    for (int round = 0; round < 20; round++) {
        struct ti_cursor cursor;
        uint64_t value = 0;
        size_t at = 0;

        ti_cursor_start(&cursor, ti_column_first(c), b.data, b.n);
        while (at < l->n) {
            size_t n = records_below(3) ? records_below(l->n - at + 1) : records_below(3);

            uint64_t sum = 0, of;

            n = n < l->n - at ? n : l->n - at;
            for (size_t i = at; i < at + n; i++)
                sum += l->v[i];
            if (round % 2) {
                assert_true(ti_cursor_skip(&cursor, n));
            } else {
                assert_true(ti_cursor_sum(&cursor, n, &of));
                assert_true(of == sum);
            }
            at += n;
            for (size_t few = records_below(4); few && at < l->n; few--) {
                assert_true(ti_cursor_next(&cursor, &value));
                assert_true(value == l->v[at++]);
            }
        }
    }
    free(b.data);
}

static void must_have_stats(const struct ti_column *c, const struct values *l)
{
    struct ti_buffer b = blob_of(c);
    struct ti_column_stats stats;

    for (int round = 0; round < 20; round++) {
        size_t n = round ? records_below(l->n + 1) : l->n;
        int64_t min = INT64_MAX, max = INT64_MIN;
        uint64_t sum = 0;

        for (size_t i = 0; i < n; i++) {
            int64_t value = (int64_t)l->v[i];

            sum += l->v[i];
            min = value < min ? value : min;
            max = value > max ? value : max;
        }
        assert_true(ti_column_stats(ti_column_first(c), b.data, b.n, n, &stats));
        assert_true(stats.n == n && stats.sum == sum);
        if (stats.min == INT64_MIN && stats.max == INT64_MAX)
            continue; /* a run wraps around */
        assert_true(stats.min == min && stats.max == max);
    }
    free(b.data);
}

static void test_all_ways(void **state)
{
    (void)state;
    records_seed = 1;
    for (int turn = 0; turn < 3000; turn++) {
        struct values l = {NULL, 0, 0};
        struct ti_column c;

        add_random(&l, turn % WAYS, records_below(turn % 50 ? 60 : 2000));
        if (turn % 3 == 0)
            add_random(&l, (int)records_below(WAYS), records_below(30));
        c = column_of(&l);
        must_hold(&c, &l);
        must_skip(&c, &l);
        must_have_stats(&c, &l);
        ti_column_free(&pool, &c);
        assert_true(c.head == NULL && c.open.n == 0);
        free(l.v);
    }
}

/* Columns that are appended equal columns to which values are added, to the byte. */
static void test_append(void **state)
{
    (void)state;
    records_seed = 2;
    for (int turn = 0; turn < 3000; turn++) {
        struct values all = {NULL, 0, 0};
        struct ti_column c = {.head = NULL}, one;
        struct ti_buffer a, b;

        for (uint32_t parts = records_below(12); parts > 0; parts--) {
            struct values l = {NULL, 0, 0};
            struct ti_column more;

            for (uint32_t runs = records_below(6); runs > 0; runs--)
                add_run(&l, records_below(4), records_below(3) - UINT64_C(1), records_below(6));
            for (size_t i = 0; i < l.n; i++)
                add(&all, l.v[i]);
            more = column_of(&l);
            ti_column_move(&pool, &c, &more);
            assert_true(more.head == NULL && more.open.n == 0);
            if (records_below(2)) {
                add(&all, parts);
                ti_column_add(&pool, &c, parts);
            }
            free(l.v);
        }
        must_hold(&c, &all);
        one = column_of(&all);
        a = blob_of(&c);
        b = blob_of(&one);
        assert_int_equal(a.n, b.n);
        assert_true(a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
        free(a.data);
        free(b.data);
        ti_column_free(&pool, &c);
        ti_column_free(&pool, &one);
        free(all.v);
    }
}

/* -------------------------------------------------------------------- size -- */

static size_t bytes_of_run(uint64_t first, uint64_t stride, size_t n)
{
    struct values l = {NULL, 0, 0};
    size_t bytes;

    add_run(&l, first, stride, n);
    bytes = bytes_of(&l);
    free(l.v);
    return bytes;
}

static void test_size_of_runs(void **state)
{
    struct values l = {NULL, 0, 0};

    (void)state;
    assert_int_equal(bytes_of(&l), 0);
    assert_int_equal(bytes_of_run(77, 0, 1), 0);
    assert_int_equal(bytes_of_run(77, 0, 1000000), 0);
    assert_int_equal(bytes_of_run(77, 1, 63), 3);
    assert_int_equal(bytes_of_run(UINT64_MAX - 5, 1, 63), 3);
    assert_int_equal(bytes_of_run(77, UINT64_MAX, 8191), 4);
    assert_int_equal(bytes_of_run(0, UINT64_C(1) << 63, 63), 12);
    /* a first value of its own, as of a loop's first trip */
    add(&l, 5);
    add_run(&l, 7, 0, 100);
    assert_int_equal(bytes_of(&l), 3);
    /* and a last one */
    add(&l, 9);
    assert_int_equal(bytes_of(&l), 2 + 4 + 2);
    free(l.v);
}

/* The bytes of `n` repetitions of a pattern. */
static size_t bytes_of_pattern(const struct values *pattern, size_t n)
{
    struct values l = {NULL, 0, 0};
    size_t bytes;

    for (size_t i = 0; i < n * pattern->n; i++)
        add(&l, pattern->v[i % pattern->n]);
    bytes = bytes_of(&l);
    free(l.v);
    return bytes;
}

/* A thousand repetitions cost little more than one. */
static void test_size_of_patterns(void **state)
{
    (void)state;
    records_seed = 3;
    for (int turn = 0; turn < 300; turn++) {
        struct values p = {NULL, 0, 0};
        uint32_t alphabet = 1 + records_below(20);
        size_t bound, bytes;

        for (int run = 0; run < 20; run++)
            add_run(&p, 10 * records_below(alphabet), records_below(2),
                    1 + records_below(turn % 2 ? 4 : 1));
        bound = 2 * bytes_of_pattern(&p, 1) + 20;
        bytes = bytes_of_pattern(&p, 1000);
        if (bytes > bound)
            fail_msg("turn %d: %zu bytes, expected %zu at most", turn, bytes, bound);
        free(p.v);
    }
}

/* Repetitions whose first and last trips differ, one after the other. */
static void test_size_of_phases(void **state)
{
    struct values l = {NULL, 0, 0}, p = {NULL, 0, 0};
    size_t bound = 0, bytes;

    (void)state;
    records_seed = 4;
    for (int phase = 0; phase < 20; phase++) {
        p.n = 0;
        for (int i = 0; i < 20; i++)
            add(&p, 10 * records_below(4));
        bound += 2 * bytes_of_pattern(&p, 1) + 20;
        for (size_t i = 3; i < 500; i++)
            add(&l, p.v[i % p.n]);
    }
    bytes = bytes_of(&l);
    if (bytes > bound)
        fail_msg("%zu bytes, expected %zu at most", bytes, bound);
    free(p.v);
    free(l.v);
}

/* Noise costs no more than the differences. */
static void test_size_of_noise(void **state)
{
    struct values l = {NULL, 0, 0};

    (void)state;
    records_seed = 5;
    for (int i = 0; i < 10000; i++)
        add(&l, 1000000 + records_below(60));
    assert_in_range(bytes_of(&l), 7000, 20000);
    free(l.v);
}

/* ------------------------------------------------------------------ damage -- */

/* Read values of a blob that lies at the end of a block of memory; returns how many. */
static size_t read_blob(const uint8_t *data, size_t bytes, uint64_t *v, size_t n)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);
    struct ti_cursor c;
    size_t i = 0;

    assert_non_null(copy);
    if (bytes)
        memcpy(copy, data, bytes);
    ti_cursor_start(&c, 0, copy, bytes);
    while (i < n && ti_cursor_next(&c, &v[i]))
        i++;
    free(copy);
    return i;
}

/* Of a blob that is cut, the first values are right.  Then it ends, or the last one repeats. */
static void test_truncation(void **state)
{
    uint64_t v[400];

    (void)state;
    records_seed = 6;
    for (int turn = 0; turn < 300; turn++) {
        struct values l = {NULL, 0, 0};
        struct ti_column c;
        struct ti_buffer b;

        add(&l, 0);
        add_random(&l, turn % WAYS, 1 + records_below(100));
        c = column_of(&l);
        b = blob_of(&c);
        for (size_t bytes = 0; bytes < b.n && bytes < 300; bytes++) {
            size_t n = read_blob(b.data, bytes, v, l.n < 400 ? l.n : 400), i = 0;

            while (i < n && v[i] == l.v[i])
                i++;
            for (; i < n; i++)
                assert_true(i > 0 && v[i] == v[i - 1]);
        }
        free(b.data);
        ti_column_free(&pool, &c);
        free(l.v);
    }
}

static void test_random_bytes(void **state)
{
    enum { MANY = 20000 };
    uint64_t *v = malloc(MANY * sizeof *v);
    size_t whole = 0, cut = 0;

    (void)state;
    assert_non_null(v);
    records_seed = 7;
    for (int turn = 0; turn < 5000; turn++) {
        uint8_t blob[24];
        size_t bytes = records_below(sizeof blob + 1), n;

        for (size_t i = 0; i < bytes; i++)
            blob[i] = (uint8_t)records_below(turn % 2 ? 256 : 12);
        n = read_blob(blob, bytes, v, turn % 10 ? 500 : MANY);
        *(n == (turn % 10 ? 500 : MANY) ? &whole : &cut) += 1;
    }
    assert_true(whole > 500 && cut > 500);
    free(v);
}

static void must_fail(const char *what, const uint8_t *blob, size_t bytes, size_t after)
{
    uint64_t v[100];
    size_t n = read_blob(blob, bytes, v, 100);
    struct ti_cursor cursor;

    if (n != after)
        fail_msg("%s: fails after %zu values", what, n);
    ti_cursor_start(&cursor, 0, blob, bytes);
    if (ti_cursor_skip(&cursor, 100))
        fail_msg("%s: is skipped", what);
}

#define MUST_FAIL(what, after, ...)                                                                \
    must_fail(what, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), after)

static void test_malformed(void **state)
{
    (void)state;
    MUST_FAIL("no values in a run", 0, 0, 0);
    MUST_FAIL("a run without difference", 0, 2);
    MUST_FAIL("a run without stride", 0, 4, 0);
    MUST_FAIL("a run that never ends its varint", 0, 0x80, 0x80);
    MUST_FAIL("a varint beyond 64 bits", 0, 0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
              0x02, 0);
    MUST_FAIL("a repetition of nothing", 0, 3, 1);
    MUST_FAIL("a repetition of bytes before the blob", 1, 2, 2, 3, 3);
    MUST_FAIL("a repetition of no bytes", 1, 2, 2, 3, 0);
    MUST_FAIL("no repetitions", 1, 2, 2, 1, 2);
    MUST_FAIL("a repetition without distance", 1, 2, 2, 3);
    MUST_FAIL("a repetition of repetitions", 2, 2, 2, 3, 2, 3, 2);
    MUST_FAIL("a repetition that begins in a run", 1, 2, 2, 3, 1);
}

/* More values than anyone can ask for, of a few bytes, cost nothing. */
static void test_bomb(void **state)
{
    static const uint8_t blob[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 2, 2,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 12};
    uint64_t v[1000];

    (void)state;
    assert_int_equal(read_blob(blob, sizeof blob - 11, v, 1000), 1000);
    assert_true(v[0] == 1 && v[999] == 1000);
    assert_int_equal(read_blob(blob + 9, sizeof blob - 9, v, 1000), 0);
}

/* 2^40 values in two runs that repeat: from 0 up to 9, and so on from 100 more each time. */
static void test_far(void **state)
{
    const uint64_t last = UINT64_C(1) << 40;
    struct ti_buffer b = {.data = NULL};
    struct ti_column_stats stats;
    struct ti_cursor cursor;
    uint64_t v;

    (void)state;
    ti_buffer_varint(&b, 4 << 1); /* 0 1 2 3 */
    ti_buffer_varint(&b, ti_zigzag(0));
    ti_buffer_varint(&b, ti_zigzag(1));
    ti_buffer_varint(&b, 6 << 1); /* 100 102 ... 110; the next 0 is 110 + 0 */
    ti_buffer_varint(&b, ti_zigzag(97));
    ti_buffer_varint(&b, ti_zigzag(2));
    v = b.n;
    ti_buffer_varint(&b, last << 1 | 1);
    ti_buffer_varint(&b, v);
    for (uint64_t at = 3; at < last; at = at * 7 + 1) {
        ti_cursor_start(&cursor, 0, b.data, b.n);
        assert_true(ti_cursor_skip(&cursor, at));
        for (int i = 0; i < 25; i++, at++) {
            assert_true(ti_cursor_next(&cursor, &v));
            assert_true(v == at / 10 * 110 + (at % 10 < 4 ? at % 10 : 100 + 2 * (at % 10 - 4)));
        }
    }
    ti_cursor_start(&cursor, 0, b.data, b.n);
    assert_true(ti_cursor_sum(&cursor, 7, &v) && v == 6 + 306);
    assert_true(ti_cursor_sum(&cursor, last / 10 * 10 - 7, &v));
    assert_true(v == last / 10 * (6 + 630) + 1100 * (last / 10 * (last / 10 - 1) / 2) - 312);
    assert_true(ti_column_stats(0, b.data, b.n, last / 10 * 10, &stats));
    assert_true(stats.min == 0 && stats.max == (int64_t)((last / 10 - 1) * 110 + 110));
    assert_true(stats.sum == last / 10 * (6 + 630) + 1100 * (last / 10 * (last / 10 - 1) / 2));
    free(b.data);
}

/* Repetitions of repeated runs may cost more than their bytes: the caller says how much. */
static void test_limit_of_sums(void **state)
{
    static const struct ti_bounds any = {INT64_MIN, INT64_MAX};
    uint8_t blob[2 * 100 + 3];
    uint64_t runs = 100000, few, sum = 0, same;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 100; i++) { /* runs of one value, 7 more or 7 less than the one before */
        blob[n++] = 2;
        blob[n++] = i & 1 ? 13 : 14;
    }
    blob[n++] = 55 << 1 | 1; /* 55 of these again, from 200 bytes before on */
    blob[n++] = 128 + 200 % 128;
    blob[n++] = 200 / 128;
    assert_true(ti_column_sum(0, blob, n, 155, &any, &runs, &sum));
    assert_int_equal(runs, 100000 - 155);
    few = 155;
    assert_true(ti_column_sum(0, blob, n, 155, &any, &few, &same));
    assert_int_equal(few, 0);
    assert_true(same == sum);
    few = 154;
    assert_false(ti_column_sum(0, blob, n, 155, &any, &few, &same));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ways),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_size_of_runs),
        cmocka_unit_test(test_size_of_patterns),
        cmocka_unit_test(test_size_of_phases),
        cmocka_unit_test(test_size_of_noise),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_limit_of_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
