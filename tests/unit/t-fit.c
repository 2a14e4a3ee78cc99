/*
 * Fits of volumes: sums of terms are found again from a few grids, with an interval that has the
 * true volume of a larger one; where the grids do not tell the terms apart, it is wide.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "extrapolate/fit.h"

#define MOST  4096
#define CELLS 1024

typedef double volume(double x, double y, double np);

static struct ti_inputs in;
static struct ti_models models;
static struct ti_known known[MOST];
static struct ti_spot asked[MOST];
static struct ti_fit_samples samples;

static struct ti_spot spot_of(const int64_t *p, int64_t rank)
{
    return (struct ti_spot){.np = p[0] * p[1],
                            .rank = rank,
                            .axes = 2,
                            .p = {p[0], p[1]},
                            .x = {rank % p[0], rank / p[0]}};
}

/* Cells along both axes; or, where parts remain as large, cells of each part, and cells beside. */
static int64_t cells = CELLS, each;

static int64_t value_at(volume *v, const struct ti_spot *at)
{
    return llround(v((double)(each + ti_block(cells, at->p[0], at->x[0])),
                     (double)(each + ti_block(cells, at->p[1], at->x[1])), (double)at->np));
}

/* Make what is known of `n` grids, and what is asked for of grid number n. */
static void make(const int64_t (*p)[2], int n, volume *v)
{
    in = (struct ti_inputs){.n = n};
    models = (struct ti_models){.in = &in, .np = p[n][0] * p[n][1], .grid = {.axes = 2}};
    models.block[0] = (struct ti_block_axis){0, cells, each, TI_DEAL_FIRST};
    models.block[1] = (struct ti_block_axis){1, cells, each, TI_DEAL_FIRST};
    models.nblocks = 2;
    samples = (struct ti_fit_samples){.m = &models, .value = known, .asked = asked};
    for (int i = 0; i < n; i++) {
        in.input[i].np = p[i][0] * p[i][1];
        for (int64_t rank = 0; rank < in.input[i].np; rank++) {
            struct ti_spot at = spot_of(p[i], rank);

            assert_true(samples.nvalues < MOST);
            known[samples.nvalues++] = (struct ti_known){at, value_at(v, &at), i};
        }
    }
    for (int64_t rank = 0; rank < models.np; rank++)
        asked[samples.nasked++] = spot_of(p[n], rank);
}

/* Fit it.  Returns the true volume of the target as a share of the one that is fitted; it is in the
 * interval. */
static double fit(const int64_t (*p)[2], int n, volume *v, struct ti_fit *out, struct ti_fit *rival)
{
    double was = 0, made = 0;

    make(p, n, v);
    assert_true(ti_fit_find(&samples, out, rival));
    for (size_t i = 0; i < samples.nasked; i++) {
        was += (double)value_at(v, &asked[i]);
        made += ti_fit_value(&models, out, &asked[i]);
    }
    assert_true(made > 0);
    assert_true(was / made >= out->low && was / made <= out->high);
    return was / made;
}

static void finds(const int64_t (*p)[2], int n, volume *v, const char *text)
{
    struct ti_fit is, rival;
    char buf[300];
    double share = fit(p, n, v, &is, &rival);

    assert_true(fabs(share - 1) < 1e-4);
    assert_true(is.error < 1e-4);
    assert_true(is.low > 1 - TI_FIT_WIDE && is.high < 1 + TI_FIT_WIDE);
    assert_string_equal(ti_fit_text(&models, &is, buf, sizeof buf), text);
    ti_fit_text(&models, &is, buf, 4);
    assert_memory_equal(buf, text, 3);
    assert_int_equal(buf[3], '\0');
}

static const int64_t growing[][2] = {{2, 2}, {2, 4}, {4, 4}, {4, 8}, {8, 8}, {16, 16}};
static const int64_t squares[][2] = {{4, 4}, {8, 8}, {16, 16}, {32, 32}};

static double flat(double x, double y, double np)
{
    (void)x, (void)y, (void)np;
    return 123;
}
static double by_side(double x, double y, double np)
{
    (void)x, (void)np;
    return 70 + 1519 * y;
}
static double by_rim(double x, double y, double np)
{
    (void)np;
    return 1000 + 30 * x + 20 * y + 7 * x * y;
}
static double by_ranks(double x, double y, double np)
{
    (void)x, (void)y;
    return 50000 + 1000 * log2(np);
}
static double sorting(double x, double y, double np)
{
    (void)y, (void)np;
    return 500 + 3 * x * log2(x);
}
static double wild(double x, double y, double np)
{
    return 100 * x + 10 * y * sqrt(np);
}

/* Parts of 8 cells, and of 7 in the last four rows and columns, however many there are. */
static void t_weak(void **state)
{
    static const int64_t grids[][2] = {{5, 5}, {5, 6}, {6, 6}, {6, 8}, {16, 16}};

    (void)state;
    cells = -4;
    each = 8;
    finds(grids, 4, by_rim,
          "1000 + 30 * block(8 * px - 4, px, x) + 20 * block(8 * py - 4, py, y) + 7 * "
          "block(8 * px - 4, px, x) * block(8 * py - 4, py, y)");
    cells = CELLS;
    each = 0;
}

static void t_terms(void **state)
{
    (void)state;
    finds(growing, 5, flat, "123");
    finds(growing, 5, by_side, "70 + 1519 * block(1024, py, y)");
    finds(growing, 5, by_rim,
          "1000 + 30 * block(1024, px, x) + 20 * block(1024, py, y) + "
          "7 * block(1024, px, x) * block(1024, py, y)");
    finds(growing, 5, by_ranks, "50000 + 1000 * log2(np)");
    finds(growing, 5, sorting, "500 + 3 * block(1024, px, x) * log2(block(1024, px, x))");
}

/* Two squares: the side of a part explains its volume alone, so it is taken; but with a constant,
 * its area does as well.  A third one decides. */
static void t_interval(void **state)
{
    struct ti_fit is, rival;
    double share;

    (void)state;
    share = fit(squares + 0, 2, by_side, &is, &rival);
    assert_true(fabs(share - 1) < 0.001);
    assert_true(is.high > 1.2);
    assert_true(rival.basis != is.basis);
    assert_true(fabs(ti_fit_value(&models, &rival, &known[0].at) - (double)known[0].value) < 1);
    share = fit(squares + 0, 3, by_side, &is, &rival);
    assert_true(fabs(share - 1) < 0.001);
    assert_true(is.high < 1 + TI_FIT_WIDE && is.low > 1 - TI_FIT_WIDE);
}

/* No sum of terms: the error is told, and the interval has the truth. */
static void t_error(void **state)
{
    struct ti_fit is, rival;

    (void)state;
    fit(growing, 5, wild, &is, &rival);
    assert_true(is.error > 0.001);
    assert_true(is.high - is.low > is.error);
}

/* One input tells nothing but a constant that all its ranks share. */
static void t_too_few(void **state)
{
    struct ti_fit is, rival;

    (void)state;
    make(squares, 1, by_side);
    samples.m = &models;
    assert_false(ti_fit_find(&samples, &is, &rival));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_terms), cmocka_unit_test(t_weak),    cmocka_unit_test(t_interval),
        cmocka_unit_test(t_error), cmocka_unit_test(t_too_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
