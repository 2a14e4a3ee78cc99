/* Noise: what --noise may say, and whether what is drawn is what was asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/order.h"
#include "replay-bridge/trace/noise.h"

#define DRAWS 20000

static struct ti_err err;

TI_ORDER_NUMBERS(ascending, double)

/* The test of Kolmogorov and Smirnov: whether figures are of the log-normal distribution with mean
 * 1.  Good figures exceed the limit in one of 1000 cases; these are always the same ones. */
static bool is_log_normal(double *value, int n, double deviation)
{
    double s = sqrt(log(1 + deviation * deviation)), distance = 0;

    qsort(value, (size_t)n, sizeof *value, ascending);
    for (int i = 0; i < n; i++) {
        double p = 0.5 * erfc(-(log(value[i]) + s * s / 2) / s / sqrt(2));

        distance = fmax(distance, fmax(fabs(p - (double)i / n), fabs(p - (i + 1.0) / n)));
    }
    return distance < 1.95 / sqrt(n);
}

static void draws_are_log_normal(void **state)
{
    static double value[DRAWS];
    const struct ti_noise n = {.node = 0.2, .core = 0.1, .burst = 0.3, .seed = 5};
    const struct ti_noise core = {.core = 0.1}, node = {.node = 0.2};
    char name[32];

    (void)state;
    for (int i = 0; i < DRAWS; i++) /* of one rank */
        value[i] = ti_noise_burst(&n, n.burst, 3, (uint64_t)i);
    assert_true(is_log_normal(value, DRAWS, 0.3));
    assert_false(is_log_normal(value, DRAWS, 0.31));
    for (int i = 0; i < DRAWS; i++) /* of one event of all ranks */
        value[i] = ti_noise_burst(&n, n.burst, i, 17);
    assert_true(is_log_normal(value, DRAWS, 0.3));
    for (int i = 0; i < DRAWS; i++)
        value[i] = ti_noise_lasting(&core, i, "node-0");
    assert_true(is_log_normal(value, DRAWS, 0.1));
    for (int i = 0; i < DRAWS; i++) {
        snprintf(name, sizeof name, "node-%d", i);
        value[i] = ti_noise_lasting(&node, 3, name);
    }
    assert_true(is_log_normal(value, DRAWS, 0.2));
}

/* Of independent figures, the correlation is within 4 / sqrt(n). */
static void draws_are_independent(void **state)
{
    struct ti_noise n = {.burst = 0.1}, other = {.burst = 0.1, .seed = 1};
    double seeds = 0, ranks = 0, events = 0, square = 0;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        double x = ti_noise_burst(&n, 0.1, 0, (uint64_t)i) - 1;

        square += x * x;
        seeds += x * (ti_noise_burst(&other, 0.1, 0, (uint64_t)i) - 1);
        ranks += x * (ti_noise_burst(&n, 0.1, 1, (uint64_t)i) - 1);
        events += x * (ti_noise_burst(&n, 0.1, 0, (uint64_t)i + 1) - 1);
    }
    assert_true(fabs(seeds / square) < 4 / sqrt(DRAWS));
    assert_true(fabs(ranks / square) < 4 / sqrt(DRAWS));
    assert_true(fabs(events / square) < 4 / sqrt(DRAWS));
}

static void what_is_not_asked_for_is_not_drawn(void **state)
{
    const struct ti_noise core = {.node = -1, .core = 0.1, .burst = -1},
                          both = {.node = 0.2, .core = 0.1};
    const struct ti_noise none = TI_NOISE_NONE;

    (void)state;
    assert_true(ti_noise_lasting(&none, 1, "a") == 1 && ti_noise_burst(&none, -1, 1, 1) == 1);
    assert_true(ti_noise_lasting(&core, 1, "a") == ti_noise_lasting(&core, 1, "b"));
    assert_true(ti_noise_lasting(&both, 1, "a") != ti_noise_lasting(&both, 1, "b"));
    assert_true(ti_noise_lasting(&both, 1, "a") != ti_noise_lasting(&both, 2, "a"));
    assert_false(ti_noise_any(&none));
    assert_true(ti_noise_any(&core));
}

static void the_option_is_read(void **state)
{
    static const struct {
        const char *text, *again; /* again NULL: it is wrong */
    } cases[] = {{"3%", "burst:0.029999999999999999"},
                 {"0.25", "burst:0.25"},
                 {"burst:25%,core:0.5,node:12.5%", "node:0.125,core:0.5,burst:0.25"},
                 {"rate,core:50%", "rate,core:0.5"},
                 {"calibration", ""},
                 {"0", ""},
                 {"1000%", "burst:10"},
                 {"", NULL},
                 {"3%,", NULL},
                 {"-1%", NULL},
                 {"1001%", NULL},
                 {"nan", NULL},
                 {"3 %", NULL},
                 {"disk:3%", NULL},
                 {"rate,3%", NULL}};
    char text[TI_NOISE_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_noise n = {.seed = 9}, again = {0};
        ti_status st = ti_noise_parse(cases[i].text, &n, &err);

        if ((st == TI_OK) != (cases[i].again != NULL))
            fail_msg("'%s' is %s", cases[i].text, st ? err.text : "taken");
        if (st)
            continue;
        ti_noise_text(&n, text);
        assert_string_equal(text, cases[i].again);
        assert_int_equal(n.seed, 9);
        if (*text) {
            assert_int_equal(ti_noise_parse(text, &again, &err), TI_OK);
            assert_true(again.burst == n.burst && again.core == n.core && again.node == n.node);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_log_normal), cmocka_unit_test(draws_are_independent),
        cmocka_unit_test(what_is_not_asked_for_is_not_drawn), cmocka_unit_test(the_option_is_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
