/* How much cores and nodes differ: variance components of times whose truth is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay-bridge/calibrate/cores.h"

static struct ti_calibration c;
static struct ti_err err;

static ti_status read_text(const char *text)
{
    FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    ti_status st;

    assert_non_null(f);
    ti_calibration_init(&c);
    st = ti_cores_read(f, &c, &err);
    fclose(f);
    return st;
}

static bool near(double x, double y, double within)
{
    return fabs(x - y) <= within;
}

/*
 * Two nodes of two cores, two bursts each.  The mean of all is 17.  Each core has a variance of 2.
 * The means of cores, 10, 14, 20 and 24, have a variance of 8 within nodes, of which 2 / 2 is of
 * bursts.  Those of nodes, 12 and 22, have a variance of 50, of which 8 / 2 is that of a mean of
 * two cores.
 */
static void by_hand(void **state)
{
    (void)state;
    assert_int_equal(read_text("words of MPI's\n"
                               "core 1 0 19\ncore 0 0 9\ncore 0 1 13\ncore 0 0 11\n"
                               "core 1 7 23\ncore 0 1 15\ncore 1 0 21\ncore 1 7 25\nend\n"),
                     TI_OK);
    assert_true(near(c.noise.burst, sqrt(2) / 17, 1e-12));
    assert_true(near(c.noise.core, sqrt(8 - 1) / 17, 1e-12));
    assert_true(near(c.noise.node, sqrt(50 - 4) / 17, 1e-12));
    assert_int_equal(c.noise.cores, 4);
    assert_int_equal(c.noise.nodes, 2);
    assert_int_equal(read_text("core 0 3 9\ncore 0 3 11\n"), TI_OK); /* one core */
    assert_true(near(c.noise.burst, sqrt(2) / 10, 1e-12) && c.noise.core < 0 && c.noise.node < 0);
    assert_int_equal(read_text("core 0 0 9\ncore 0 1 11\n"), TI_OK); /* one burst of each */
    assert_true(c.noise.burst < 0 && c.noise.core < 0 && c.noise.cores == 2);
    assert_int_equal(read_text("core 0 0 9\ncore 0 0 11\ncore 0 1 9\ncore 0 1 11\n"), TI_OK);
    assert_true(c.noise.core == 0); /* as alike as they can be */
}

/* A normal figure, as the sum of twelve even ones. */
static double normal(void)
{
    static uint32_t x = 12345;
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        x = x * 1664525 + 1013904223;
        sum += (double)x / 4294967296.0;
    }
    return sum;
}

/* Many nodes, with deviations of 3, 2 and 1 %: each is found, though nodes have 2 to 5 cores. */
static void by_many(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    for (int n = 0; n < 400; n++) {
        double node = 0.01 * normal();

        for (int k = 0; k < 2 + n % 4; k++) {
            double core = 0.02 * normal();

            for (int i = 0; i < 10; i++)
                fprintf(f, "core %d %d %.9f\n", n, k, 5e-3 * (1 + node + core + 0.03 * normal()));
        }
    }
    fclose(f);
    assert_int_equal(read_text(text), TI_OK);
    free(text);
    assert_true(near(c.noise.burst, 0.03, 0.001));
    assert_true(near(c.noise.core, 0.02, 0.0015));
    assert_true(near(c.noise.node, 0.01, 0.003));
}

static void malformed_lines_are_refused(void **state)
{
    static const char *const wrong[] = {"core 0 0\n",    "core 0 0 0\n",   "core 0 0 nan\n",
                                        "core -1 0 1\n", "core 0 0 1 2\n", "core x 0 1\n",
                                        "end\n",         "half 1 2\n"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_text(wrong[i]), TI_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(by_many),
                                       cmocka_unit_test(malformed_lines_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
