/* Shares estimated from samples, and warnings of tools about code that is not counted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/caveats.h"

/* The probability that hits or more, or hits or fewer, of n samples have a property that p has. */
static double tail(int hits, int n, double p, bool more)
{
    double sum = 0;

    for (int k = more ? hits : 0; k <= (more ? n : hits); k++) {
        double term = 1;

        for (int i = 0; i < k; i++)
            term *= p * (n - i) / (k - i);
        for (int i = k; i < n; i++)
            term *= 1 - p;
        sum += term;
    }
    return sum;
}

/* At its bounds a share makes what was seen, or more of that, happen once in 100 times. */
static void bounds_are_exact(void **state)
{
    (void)state;
    for (int n = 1; n < 400; n += 1 + n / 5)
        for (int hits = 0; hits <= n; hits += 1 + hits / 7) {
            struct ti_share s = ti_share_of((uint64_t)hits, (uint64_t)n);

            assert_true(hits ? fabs(tail(hits, n, s.least, true) - 0.01) < 1e-9 : s.least == 0);
            assert_true(hits < n ? fabs(tail(hits, n, s.most, false) - 0.01) < 1e-9 : s.most == 1);
        }
}

static void bounds_hold_for_any_number(void **state)
{
    struct ti_share none = ti_share_of(0, 0), many = ti_share_of(UINT64_MAX / 4, UINT64_MAX),
                    all = ti_share_of(UINT64_MAX, UINT64_MAX), one = ti_share_of(1, UINT64_MAX);

    (void)state;
    assert_true(none.least == 0 && none.most == 1);
    assert_true(many.least > 0.249 && many.least < 0.25 && many.most > 0.25 && many.most < 0.251);
    assert_true(all.least > 0.999 && all.most == 1);
    assert_true(one.least == 0 && one.most > 0 && one.most < 1e-6);
}

static void samples_decide_once_for_all_tools(void **state)
{
    static const struct {
        uint64_t uncounted, unknown, samples;
        enum ti_coverage covers;
        const char *says; /* the first caveat; NULL: none */
    } cases[] = {
        {0, 0, 0, TI_COVERS_UNKNOWN, NULL},
        {0, 0, 50, TI_COVERS_UNKNOWN, NULL},
        {0, 0, 458, TI_COVERS_UNKNOWN, NULL},
        {0, 0, 459, TI_COVERS_ALL, NULL},
        {1, 0, 1, TI_COVERS_UNKNOWN, "up to 100.0 %"},
        {1, 0, 17, TI_COVERS_UNKNOWN, "up to 33.2 %"},
        {2, 0, 7, TI_COVERS_PART, "about 28.6 %"},
        {2, 0, 17, TI_COVERS_UNKNOWN,
         "2 of 17 samples were not in code that ti-mpicc compiled: libc.so"},
        {6, 0, 89, TI_COVERS_PART, "about 6.7 %"},
        {1, 0, 661, TI_COVERS_UNKNOWN, "up to 1.0 %"},
        {1, 0, 662, TI_COVERS_ALL, NULL},
        {1000, 0, 100000, TI_COVERS_UNKNOWN, "up to 1.1 %"},
        {900, 0, 100000, TI_COVERS_ALL, NULL},
        {1100, 0, 100000, TI_COVERS_PART, "about 1.1 %"},
        {0, 6, 89, TI_COVERS_PART,
         "about 6.7 % of the program's CPU time between MPI calls may be"},
        {0, 1, 89, TI_COVERS_UNKNOWN, "1 of 89 samples"},
        {UINT64_MAX, UINT64_MAX, 5, TI_COVERS_PART, "about"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_caveats c = {.uncounted = cases[i].uncounted,
                               .unknown = cases[i].unknown,
                               .samples = cases[i].samples,
                               .uncounted_in = {{"libc.so", cases[i].uncounted}}};
        char text[512] = "";
        bool any = ti_caveats_text(&c, 0, text, sizeof text);

        if (ti_caveats_coverage(&c, "blocks") != cases[i].covers)
            fail_msg("case %zu: %d", i, (int)ti_caveats_coverage(&c, "blocks"));
        if (any != (cases[i].says != NULL) || (any && !strstr(text, cases[i].says)))
            fail_msg("case %zu: '%s'", i, text);
        assert_false(ti_caveats_text(&c, 2, text, sizeof text));
        assert_int_equal(ti_caveats_coverage(&c, "valgrind"), TI_COVERS_ALL);
    }
}

/* The advice is one that the counter can follow: blocks refuses --threads sum. */
static void threads_are_summed_by_other_counters(void **state)
{
    struct ti_caveats c = {
        .ranks = 2, .threaded = 1, .caller_ns = 1000000000, .other_ns = 500000000, .blocks = 2};
    char text[512];

    (void)state;
    assert_true(ti_caveats_text(&c, 0, text, sizeof text));
    assert_non_null(strstr(text, "took 33 % of the CPU time, in 1 of 2 ranks"));
    assert_non_null(strstr(text, "trace with --threads sum, which -c valgrind, -c papi and "
                                 "-c cputime can and blocks cannot"));
    c.blocks = 0;
    assert_true(ti_caveats_text(&c, 0, text, sizeof text));
    assert_string_equal(strstr(text, "trace with"), "trace with --threads sum");
}

/* A trace that was changed says so, and by which command. */
static void changes_are_named(void **state)
{
    struct ti_caveats c = {.ranks = 2, .changed = 1, .change = "ti-info --trips 'a.c:1=2'"},
                      all = {0};
    char text[512];

    (void)state;
    ti_caveats_merge(&all, &(struct ti_caveats){.ranks = 1});
    assert_false(ti_caveats_text(&all, 0, text, sizeof text));
    ti_caveats_merge(&all, &c);
    assert_true(ti_caveats_text(&all, 0, text, sizeof text));
    assert_string_equal(text, "1 rank was changed after it was traced, by ti-info --trips "
                              "'a.c:1=2': no run had these events");
    assert_false(ti_caveats_text(&all, 1, text, sizeof text));
}

static void words_are_those_of_the_numbers(void **state)
{
    static const struct {
        struct ti_caveats c;
        const char *counter;
        bool exact, estimate;
        const char *words;
        int json; /* 1: true, 0: false, -1: null */
    } cases[] = {
        {{.samples = 0}, "valgrind", true, false, "exact", 1},
        {{.samples = 0}, NULL, true, false, "exact", 1},
        {{.samples = 0}, "papi", false, false, "not exact", 0},
        {{.samples = 0}, "cputime", false, true, "an estimate", 0},
        {{.samples = 1000}, "blocks", true, false, "exact", 1},
        {{.samples = 10}, "blocks", true, false, "exact for that code", -1},
        {{.samples = 10}, "blocks", false, false, "not exact", 0},
        {{.samples = 10, .uncounted = 9}, "blocks", true, false, "not of all code", 0},
        {{.samples = 1000, .drawn = 1}, "blocks", true, false, "not exact", 0},
        {{.samples = 10, .bounded = 1}, "blocks", true, false, "not exact", 0},
        {{.changed = 4}, "valgrind", true, false, "changed", 0},
        {{.changed = 4, .bounded = 4}, "valgrind", true, false, "changed", 0},
        {{.changed = 4}, "cputime", false, true, "an estimate", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *j = ti_caveats_exact(&cases[i].c, cases[i].counter, cases[i].exact);

        assert_string_equal(
            ti_caveats_words(&cases[i].c, cases[i].counter, cases[i].exact, cases[i].estimate),
            cases[i].words);
        assert_true(cases[i].json < 0 ? json_is_null(j)
                                      : json_is_boolean(j) && json_is_true(j) == cases[i].json);
        json_decref(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_exact),
        cmocka_unit_test(bounds_hold_for_any_number),
        cmocka_unit_test(samples_decide_once_for_all_tools),
        cmocka_unit_test(threads_are_summed_by_other_counters),
        cmocka_unit_test(changes_are_named),
        cmocka_unit_test(words_are_those_of_the_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
