/* Spreads and distributions, against sorted lists. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acquire/skew/figures.h"

static void spread_is_of_the_sorted(void **state)
{
    double odd[] = {3, -1, 2}, even[] = {4, 1, 3, 2};
    struct ti_spread s = ti_spread_of(odd, 3), t = ti_spread_of(even, 4), none;

    (void)state;
    assert_true(s.n == 3 && s.min == -1 && s.median == 2 && s.max == 3);
    assert_true(t.n == 4 && t.min == 1 && t.median == 2.5 && t.max == 4);
    none = ti_spread_of(odd, 0);
    assert_int_equal(none.n, 0);
    assert_true(!ti_spread_known(&none));
}

/* Half of the distance of the quartiles, for every small number of figures. */
static void quartiles_tell_the_spread(void **state)
{
    static const struct {
        int n;
        double value[7], half;
    } cases[] = {
        {2, {0.430825, 0.204224}, 0.1133005},
        {2, {3, 3}, 0},
        {3, {1, 3, 2}, 5.0 / 6},
        {4, {4, 1, 3, 2}, 13.0 / 12},
        {5, {1, 2, 3, 4, 5}, 4.0 / 3},
        {5, {1, 2, 3, 4, 1000}, 1003.0 / 6},
        {7, {7, 1, 6, 2, 5, 3, 4}, 11.0 / 6},
        {7, {7000, 1, 6, 2, 5, 3, 4}, 11.0 / 6},
    };
    double one[] = {5};
    struct ti_spread alone = ti_spread_of(one, 1);

    (void)state;
    assert_true(!ti_spread_known(&alone) && isnan(alone.half) && alone.median == 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value[7];
        struct ti_spread s;

        memcpy(value, cases[i].value, sizeof value);
        s = ti_spread_of(value, cases[i].n);
        assert_true(ti_spread_known(&s));
        if (fabs(s.half - cases[i].half) > 1e-9)
            fail_msg("case %zu: %.9g, not %.9g", i, s.half, cases[i].half);
    }
}

static void one_figure_has_no_extremes(void **state)
{
    double value[] = {2, 1};
    struct ti_spread one = ti_spread_of(value, 1), two = ti_spread_of(value, 2);
    json_t *j = ti_spread_json(&one);

    (void)state;
    assert_true(json_is_null(json_object_get(j, "least")) &&
                json_is_null(json_object_get(j, "most")) &&
                json_number_value(json_object_get(j, "median")) == 2);
    json_decref(j);
    j = ti_spread_json(&two);
    assert_true(json_number_value(json_object_get(j, "least")) == 1 &&
                json_number_value(json_object_get(j, "most")) == 2);
    json_decref(j);
}

static void text_shows_what_is_there(void **state)
{
    static const struct {
        struct ti_spread s;
        const char *text, *with_sign;
    } cases[] = {
        {{0, 0, 0, 0, 0}, "-", "-"},
        {{1, 2.5, 2.5, 2.5, 0}, "2.50", "+2.50"},
        {{3, 0, 0, 0, 0}, "0", "0"},
        {{3, 1, 12.345, 1234, 9}, "12.3 (1.00 to 1234)", "+12.3 (+1.00 to +1234)"},
        {{2, -0.00001, 0.002, 0.05, 0.01},
         "0.0020 (-1.0e-05 to 0.0500)",
         "+0.0020 (-1.0e-05 to +0.0500)"},
    };
    char buf[128];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(ti_spread_text(&cases[i].s, false, buf, sizeof buf), cases[i].text);
        assert_string_equal(ti_spread_text(&cases[i].s, true, buf, sizeof buf), cases[i].with_sign);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of all sizes, both signs and zeros, drawn by lot. */
static void quantiles_are_those_of_the_list(void **state)
{
    enum { N = 20000 };
    static double value[N];
    static struct ti_deviations d;

    (void)state;
    memset(&d, 0, sizeof d);
    assert_true(ti_deviations_quantile(&d, 0.5) == 0);
    srand48(1);
    for (int i = 0; i < N; i++) {
        double size = pow(10, 12 * drand48() - 8);

        value[i] = i % 5 == 0 ? 0 : i % 5 < 3 ? size : -size;
        ti_deviations_add(&d, value[i]);
    }
    qsort(value, N, sizeof *value, by_value);
    assert_true(ti_deviations_quantile(&d, 0) == value[0]);
    assert_true(ti_deviations_quantile(&d, 1) == value[N - 1]);
    for (double q = 0; q <= 1; q += 0.01) {
        double is = ti_deviations_quantile(&d, q), should = value[(int)(q * (N - 1) + 0.5)];

        assert_true(fabs(is - should) <= 0.012 * fabs(should));
    }
}

/* Smaller and larger than there are bins for. */
static void extremes_are_kept(void **state)
{
    static struct ti_deviations d;

    (void)state;
    memset(&d, 0, sizeof d);
    ti_deviations_add(&d, -1e-15);
    ti_deviations_add(&d, 1e12);
    ti_deviations_add(&d, 1e-12);
    assert_true(d.min == -1e-15 && d.max == 1e12 && d.n == 3);
    assert_true(fabs(ti_deviations_quantile(&d, 0.5)) <= 1.1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_is_of_the_sorted),
        cmocka_unit_test(quartiles_tell_the_spread),
        cmocka_unit_test(one_figure_has_no_extremes),
        cmocka_unit_test(text_shows_what_is_there),
        cmocka_unit_test(quantiles_are_those_of_the_list),
        cmocka_unit_test(extremes_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
