/*
 * Memory of a rank as a function of their number: what is fitted to points that are
 * known, and what it says of other numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acquire/plan/memory_model.h"

#define MIB 1048576.0

static double truth(double a, double b, double c, int64_t np)
{
    return a + b / (double)np + c * (double)np;
}

/* Fit to n points of a truth. */
static struct ti_memory_model fit(double a, double b, double c, int n, const int64_t *np)
{
    struct ti_memory_point point[TI_MEMORY_POINTS_MAX];
    struct ti_memory_model m;
    struct ti_err err;

    for (int i = 0; i < n; i++)
        point[i] = (struct ti_memory_point){np[i], (int64_t)truth(a, b, c, np[i])};
    assert_int_equal(ti_memory_model_fit(point, n, &m, &err), TI_OK);
    return m;
}

static void assert_near(double is, double should, double pct)
{
    if (fabs(is - should) > should * pct / 100)
        fail_msg("%.9g, not %.9g", is, should);
}

static void test_two_points_are_exact(void **state)
{
    struct ti_memory_model m = fit(5 * MIB, 800 * MIB, TI_PEER_BYTES, 2, (const int64_t[]){16, 4});

    (void)state;
    assert_int_equal(m.point[0].np, 4); /* sorted */
    assert_near(m.a, 5 * MIB, 0.01);
    assert_near(m.b, 800 * MIB, 0.01);
    assert_near(m.c, TI_PEER_BYTES, 0.01);
    assert_true(m.residual_pct < 1e-6);
    assert_false(m.grows);
    /* unknown how well it fits: 5 %, and 2 % for each doubling from 16 on */
    assert_near(ti_memory_model_margin_pct(&m, 8), 5, 0.01);
    assert_near(ti_memory_model_margin_pct(&m, 64), 9, 0.01);
    assert_near((double)ti_memory_model_bytes(&m, 64),
                1.09 * truth(5 * MIB, 800 * MIB, TI_PEER_BYTES, 64), 0.01);
    assert_false(ti_memory_model_far(&m, 256));
    assert_true(ti_memory_model_far(&m, 257));
}

static void test_residuals_say_how_well_it_fits(void **state)
{
    struct ti_memory_point point[] = {
        {4, 100000000}, {8, 55000000}, {16, 30000000}, {32, 17500000}};
    struct ti_memory_model m;
    struct ti_err err;
    char text[256];

    (void)state;
    for (int i = 0; i < 4; i++) /* up, down, up, down by 3 % */
        point[i].bytes += point[i].bytes / 100 * (i % 2 ? -3 : 3);
    assert_int_equal(ti_memory_model_fit(point, 4, &m, &err), TI_OK);
    assert_true(m.residual_pct > 1.5 && m.residual_pct < 6);
    assert_near(m.b, 376e6, 10);
    assert_near(ti_memory_model_margin_pct(&m, 32), m.residual_pct, 0.01);
    assert_non_null(strstr(ti_memory_model_text(&m, text, sizeof text), "(4, 8, 16 and 32 ranks)"));
    assert_non_null(strstr(text, ", to within "));
    /* no point of it is above what it says with its margin */
    for (int i = 0; i < 4; i++)
        assert_true(ti_memory_model_bytes(&m, point[i].np) >= point[i].bytes);
}

static void test_least_squares_are_relative(void **state)
{
    /* the first point alone is off, by 10 %: a fit to bytes would follow it */
    struct ti_memory_point point[] = {
        {2, 550000000}, {8, 125000000}, {16, 62500000}, {32, 31250000}, {64, 15625000}};
    struct ti_memory_model m;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_memory_model_fit(point, 5, &m, &err), TI_OK);
    assert_near(m.a + m.b / 64 + m.c * 64, 15625000, 5);
}

static void test_nothing_is_negative(void **state)
{
    struct ti_memory_point steep[] = {{4, 100000000}, {8, 40000000}, {16, 15000000}};
    struct ti_memory_point falling[] = {{4, 10000000}, {8, 9900000}};
    struct ti_memory_model m;
    struct ti_err err;
    double at32;

    (void)state;
    assert_int_equal(ti_memory_model_fit(steep, 3, &m, &err), TI_OK);
    assert_true(m.a == 0 && m.b > 0);
    assert_true(m.residual_pct > 10); /* and it says so */
    at32 = (double)ti_memory_model_bytes(&m, 32);
    assert_true(at32 > m.b / 32);
    assert_int_equal(ti_memory_model_fit(falling, 2, &m, &err), TI_OK);
    assert_true(m.a > 0 && m.b >= 0);
}

static void test_growth(void **state)
{
    static const int64_t np[] = {4, 8, 16, 32, 64};
    struct ti_memory_point chance[] = {{4, 100000000}, {8, 100200000}, {16, 100400000}};
    struct ti_memory_model m;
    struct ti_err err;

    (void)state;
    /* buffers for all others, 1 MiB each */
    m = fit(10 * MIB, 0, MIB, 2, np);
    assert_true(m.grows);
    assert_near(m.c, MIB, 0.1);
    assert_near(ti_memory_model_bytes(&m, 1024) / 1.19, truth(10 * MIB, 0, MIB, 1024), 1);
    m = fit(10 * MIB, 0, MIB, 3, np);
    assert_true(m.grows);
    assert_near(m.c, MIB, 0.1);
    /* beside a part that is divided: four points show it, three do not */
    m = fit(10 * MIB, 400 * MIB, MIB, 5, np);
    assert_true(m.grows);
    assert_near(m.a, 10 * MIB, 1);
    assert_near(m.b, 400 * MIB, 1);
    assert_near(m.c, MIB, 1);
    assert_true(m.residual_pct < 0.1);
    /* chance is no growth: Open MPI's share is what is left */
    assert_int_equal(ti_memory_model_fit(chance, 3, &m, &err), TI_OK);
    assert_false(m.grows);
    assert_near(m.c, TI_PEER_BYTES, 0.01);
    assert_true(m.residual_pct < 1);
}

static void test_one_point_is_a_bound(void **state)
{
    struct ti_memory_model m = fit(5 * MIB, 800 * MIB, TI_PEER_BYTES, 1, (const int64_t[]){8});
    double there = truth(5 * MIB, 800 * MIB, TI_PEER_BYTES, 8);
    char text[256];

    (void)state;
    assert_true(m.b == 0);
    assert_true(ti_memory_model_bytes(&m, 8) >= (int64_t)there);
    assert_true(ti_memory_model_bytes(&m, 64) >= (int64_t)there);
    assert_non_null(strstr(ti_memory_model_text(&m, text, sizeof text), "(8 ranks)"));
}

static void test_largest_np(void **state)
{
    static const int64_t np[] = {4, 8, 16};
    uint64_t dice = 42;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        double part[3];
        struct ti_memory_model m;
        int64_t more = 1 << 18, room, n;

        for (int k = 0; k < 3; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            part[k] = (double)(dice >> 40) * (k == 0 ? 4 : k == 1 ? 60 : 0.002);
        }
        m = fit(part[0] + 1000, part[1], TI_PEER_BYTES + part[2], 3, np);
        room = (int64_t)(dice >> 28);
        n = ti_memory_model_largest(&m, more, room);
        assert_true(n == 0 || n * (ti_memory_model_bytes(&m, n) + more) <= room);
        assert_true((n + 1) * (ti_memory_model_bytes(&m, n + 1) + more) > room);
        /* more memory never means fewer ranks */
        assert_true(ti_memory_model_largest(&m, more, room + room / 10) >= n);
    }
}

static void test_what_is_refused(void **state)
{
    struct ti_memory_point point[] = {{4, 1000000}, {4, 1000001}, {8, 0}, {0, 5}};
    struct ti_memory_model m;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_memory_model_fit(point, 0, &m, &err), TI_ERR_INPUT);
    assert_int_equal(ti_memory_model_fit(point, 2, &m, &err), TI_ERR_INPUT);
    assert_string_equal(err.text, "memory at 4 ranks is given twice");
    assert_int_equal(ti_memory_model_fit(point + 1, 2, &m, &err), TI_ERR_INPUT);
    assert_string_equal(err.text, "no memory was measured at 8 ranks");
    assert_int_equal(ti_memory_model_fit(point + 3, 1, &m, &err), TI_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_points_are_exact),
        cmocka_unit_test(test_residuals_say_how_well_it_fits),
        cmocka_unit_test(test_least_squares_are_relative),
        cmocka_unit_test(test_nothing_is_negative),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_one_point_is_a_bound),
        cmocka_unit_test(test_largest_np),
        cmocka_unit_test(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
