/* Overviews: the time of groups of ranks, in pieces (replayer/profile/overview.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay-bridge/replayer/profile/overview.h"

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

/* Seconds of a group with a kind, from the first piece that begins at `from` up to `to`. */
static double between(const json_t *j, size_t group, int kind, double from, double to)
{
    const json_t *list = json_array_get(json_object_get(j, "spent"), group);
    double sum = 0;

    for (size_t bin = 0; bin < json_array_size(list) / TI_OVERVIEW_KINDS; bin++) {
        double begin = (double)bin * number(j, "bin_s");

        if (begin >= from && begin < to)
            sum += json_number_value(json_array_get(list, TI_OVERVIEW_KINDS * bin + (size_t)kind));
    }
    return sum;
}

static void equal(double is, double wanted)
{
    if (fabs(is - wanted) > 1e-12 + 1e-9 * wanted)
        fail_msg("%.15g, not %.15g", is, wanted);
}

/* Pieces are joined as the time goes on, and nothing is lost by it. */
static void test_joined(void **state)
{
    struct ti_overview *o = ti_overview_new(2);
    json_t *j;

    (void)state;
    ti_overview_add(o, 0, TI_OVERVIEW_COMPUTING, 0, 3e-6);
    ti_overview_add(o, 0, TI_OVERVIEW_WAITING, 3e-6, 0.5);
    ti_overview_add(o, 1, TI_OVERVIEW_MESSAGES, 0.25, 0.25); /* of no length */
    ti_overview_add(o, 1, TI_OVERVIEW_COLLECTIVES, 0.25, 100);
    j = ti_overview_json(o);
    equal(number(j, "group"), 1);
    equal(number(j, "end_s"), 100);
    assert_true(number(j, "bin_s") * 1024 > 100 && number(j, "bin_s") * 512 <= 100);
    equal(between(j, 0, TI_OVERVIEW_COMPUTING, 0, 101), 3e-6);
    equal(between(j, 0, TI_OVERVIEW_WAITING, 0, 101), 0.5 - 3e-6);
    equal(between(j, 1, TI_OVERVIEW_MESSAGES, 0, 101), 0);
    equal(between(j, 1, TI_OVERVIEW_COLLECTIVES, 0, 101), 99.75);
    equal(between(j, 1, TI_OVERVIEW_COLLECTIVES, 50, 51),
          number(j, "bin_s") * (floor(51 / number(j, "bin_s")) - floor(50 / number(j, "bin_s"))));
    json_decref(j);
    ti_overview_free(o);
}

/* 16,384 ranks are 32 groups; 33 ranks are 17 of two. */
static void test_groups(void **state)
{
    static const struct {
        int64_t np, group, ngroups;
    } cases[] = {{1, 1, 1}, {32, 1, 32}, {33, 2, 17}, {16384, 512, 32}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_overview *o = ti_overview_new(cases[i].np);
        json_t *j;

        for (int64_t rank = 0; rank < cases[i].np; rank++)
            ti_overview_add(o, rank, TI_OVERVIEW_COMPUTING, 0, 1e-4);
        j = ti_overview_json(o);
        equal(number(j, "group"), (double)cases[i].group);
        assert_int_equal(json_array_size(json_object_get(j, "spent")), cases[i].ngroups);
        equal(between(j, 0, TI_OVERVIEW_COMPUTING, 0, 1), 1e-4 * (double)cases[i].group);
        json_decref(j);
        ti_overview_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
