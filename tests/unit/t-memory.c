/* What ranks of a node share: bandwidths of times whose truth is known, and lines that are wrong. */
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

#include "replay-bridge/calibrate/memory.h"

static struct ti_calibration c;
static struct ti_err err;

static ti_status read_text(const char *text)
{
    FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    ti_status st;

    assert_non_null(f);
    ti_calibration_free(&c);
    st = ti_memory_read(f, &c, &err);
    fclose(f);
    return st;
}

/* The median of the times of a size, and the median of the sizes: 2 ranks exchange 1, 2 and 4 MB at
 * 1, 1.25 and 4 GB/s each, 8 ranks at 0.5 GB/s.  Copies count with the most ranks only. */
static void by_hand(void **state)
{
    (void)state;
    assert_int_equal(read_text("words of MPI's\n"
                               "exchange 8 1000000 2e-3\n"
                               "copy 2 1000000 1e-4\n"
                               "exchange 2 2000000 1.6e-3\n"
                               "exchange 2 1000000 9\nexchange 2 1000000 1e-3\n"
                               "exchange 2 1000000 1e-4\n"
                               "exchange 2 4000000 1e-3\n"
                               "copy 8 1000000 4e-4\ncopy 8 2000000 8e-4\nend\n"),
                     TI_OK);
    assert_string_equal(c.network.shared, "2:2.5e+09;8:4e+09");
    assert_true(fabs(c.network.copy - 2.5e9) < 1);
}

static void malformed_lines_are_refused(void **state)
{
    static const char *const wrong[] = {
        "exchange 2 1\n",     "exchange 1 1 1\n", "exchange 2 0 1\n",   "exchange 2 1 0\n",
        "exchange 2 1 nan\n", "exchange 2 x 1\n", "exchange 2 1 1 1\n", "copy 2 1 -1\n",
        "end\n",              "half 1 2\n",       "copy 2 inf 1\n"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_text(wrong[i]), TI_ERR_INPUT);
}

/* Between two numbers of ranks the value lies on a straight line; beyond them it stays. */
static void values_for_ranks(void **state)
{
    static const char *const wrong[] = {"", "1", "0:1", "1:0", "1:1;1:2", "2:1;1:1", "1:1;", "1:-1",
                                        "1:1,2:1", "1:nan", "x:1"};
    const char *text = "2:1;4:0.5;8:0.1";

    (void)state;
    assert_true(ti_ranks_check(text) && ti_ranks_check("1:1e9"));
    assert_true(ti_ranks_value(text, 1) == 1 && ti_ranks_value(text, 2) == 1);
    assert_true(ti_ranks_value(text, 3) == 0.75 && ti_ranks_value(text, 4) == 0.5);
    assert_true(fabs(ti_ranks_value(text, 7) - 0.2) < 1e-12);
    assert_true(ti_ranks_value(text, 8) == 0.1 && ti_ranks_value(text, 1000000) == 0.1);
    assert_true(ti_ranks_value("1:3", 5) == 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ti_ranks_check(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(values_for_ranks),
    };

    ti_calibration_init(&c);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
