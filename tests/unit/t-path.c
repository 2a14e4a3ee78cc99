/* Paths: sums, sharing, and memory that does not grow with the length of a simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay-bridge/replayer/profile/path.h"

#define STEPS 400000

static void assert_near(double a, double b)
{
    assert_true(a - b < 1e-6 && b - a < 1e-6);
}

/* An activity outside of loops. */
static struct ti_path *go(struct ti_path_set *paths, struct ti_path *path, int32_t rank,
                          int32_t site, int32_t what, double until)
{
    const struct ti_path_place at = {rank, site, -1};

    return ti_path_go(paths, path, &at, what, until);
}

static double total(const struct ti_path *path)
{
    size_t n;
    struct ti_path_part *part = ti_path_parts(path, &n);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += part[i].seconds;
    free(part);
    return sum;
}

/* Two paths with a common beginning: neither sees how the other goes on. */
static void shares(void **state)
{
    struct ti_path_set *paths = ti_path_set_new();
    struct ti_path *a = go(paths, ti_path_new(paths, 0), 0, 1, TI_PATH_COMPUTING, 2);
    struct ti_path *b = ti_path_hold(a);
    struct ti_path_part *part;
    size_t n;

    (void)state;
    a = go(paths, a, 0, 1, TI_PATH_OVERHEAD, 3);
    b = go(paths, b, 7, 2, 0, 5);
    b = go(paths, b, 7, 2, 0, 6);
    b = go(paths, b, 7, 2, 0, 6);
    assert_near(ti_path_end(a), 3);
    assert_near(ti_path_end(b), 6);
    part = ti_path_parts(a, &n);
    assert_int_equal(n, 2);
    assert_int_equal(part[0].what, TI_PATH_OVERHEAD);
    assert_near(part[0].seconds, 1);
    assert_near(part[1].seconds, 2);
    free(part);
    part = ti_path_parts(b, &n);
    assert_int_equal(n, 2);
    assert_int_equal(part[1].at.rank, 7);
    assert_int_equal(part[1].count, 2);
    assert_near(part[1].seconds, 4);
    free(part);
    ti_path_release(paths, a);
    assert_int_equal(ti_path_set_steps(paths), 2);
    ti_path_release(paths, b);
    assert_int_equal(ti_path_set_steps(paths), 0);
    ti_path_set_free(paths);
}

/* The same call site in two loops, in turns: two sums. */
static void loops(void **state)
{
    struct ti_path_set *paths = ti_path_set_new();
    struct ti_path *path = ti_path_new(paths, 0);
    struct ti_path_part *part;
    size_t n;

    (void)state;
    for (int i = 1; i <= 200; i++) {
        const struct ti_path_place at = {0, 1, i % 3 != 0};

        path = ti_path_go(paths, path, &at, TI_PATH_COMPUTING, i);
    }
    part = ti_path_parts(path, &n);
    assert_int_equal(n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(part[i].at.loop, i);
        assert_near(part[i].seconds, i ? 134 : 66);
    }
    free(part);
    ti_path_release(paths, path);
    ti_path_set_free(paths);
}

/* The path that two ranks have in common grows; what each adds of its own is dropped. */
static void alternates(void **state)
{
    struct ti_path_set *paths = ti_path_set_new();
    struct ti_path *rank[2] = {ti_path_new(paths, 0), ti_path_new(paths, 0)};
    size_t most = 0;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        int from = i % 2, to = 1 - from;
        struct ti_path *message;

        rank[from] = go(paths, rank[from], from, i % 3, TI_PATH_COMPUTING, i + 0.5);
        message = ti_path_hold(rank[from]);
        ti_path_release(paths, rank[to]);
        rank[to] = go(paths, message, to, i % 3, i % 5, i + 1);
        most = ti_path_set_steps(paths) > most ? ti_path_set_steps(paths) : most;
    }
    assert_true(most < 100000);
    assert_near(total(rank[STEPS % 2]), STEPS);
    for (int i = 0; i < 2; i++)
        ti_path_release(paths, rank[i]);
    assert_int_equal(ti_path_set_steps(paths), 0);
    ti_path_set_free(paths);
}

/* Paths that never meet; and one rank that goes on alone, at many call sites. */
static void apart(void **state)
{
    struct ti_path_set *paths = ti_path_set_new();
    struct ti_path *rank[100], *held[100] = {NULL};
    size_t n, most = 0;

    (void)state;
    for (int r = 0; r < 100; r++)
        rank[r] = ti_path_new(paths, 0);
    for (int i = 1; i <= STEPS / 100; i++)
        for (int r = 0; r < 100; r++) {
            ti_path_release(paths, held[r]);
            held[r] = ti_path_hold(rank[r]);
            rank[r] = go(paths, rank[r], r, i % 7, TI_PATH_COMPUTING, i);
            most = ti_path_set_steps(paths) > most ? ti_path_set_steps(paths) : most;
        }
    assert_true(most < 100000);
    for (int r = 0; r < 100; r++) {
        struct ti_path_part *part = ti_path_parts(rank[r], &n);

        assert_int_equal(n, 7);
        assert_int_equal(part[0].at.rank, r);
        free(part);
        assert_near(total(rank[r]), STEPS / 100);
        ti_path_release(paths, held[r]);
    }
    for (int i = 1; i <= STEPS; i++)
        rank[0] = go(paths, rank[0], 0, i % 1000, TI_PATH_OVERHEAD, STEPS / 100 + i);
    assert_near(total(rank[0]), STEPS / 100 + STEPS);
    ti_path_set_free(paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares), cmocka_unit_test(loops),
                                       cmocka_unit_test(alternates), cmocka_unit_test(apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
