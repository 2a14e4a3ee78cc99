/* The search for the value of an option at which a time is reached, on functions with known roots.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay-bridge/sweep/search.h"

#define MOST  1e6
#define TRIES 9 /* beside that of x = 1 */

/* A ping-pong whose latency grows; whose bandwidth falls; with a latency that is hidden at first.
 */
static double line(double x)
{
    return 3 + 0.5 * x;
}

static double steep(double x)
{
    return 1e-3 + x;
}

static double faint(double x)
{
    return 1 + 1e-4 * x;
}

static double hidden(double x)
{
    return fmax(1, 0.2 + 0.6 * x);
}

static double curved(double x)
{
    return 1 + 0.01 * x * x;
}

static double flattening(double x)
{
    return 2 - 1 / x;
}

static double jump(double x)
{
    return x < 1.37 ? 1 + 1e-3 * x : 2 + 1e-3 * x;
}

static double flat(double x)
{
    return x > 0 ? 5 : 0;
}

static double bounded(double x)
{
    return 1 + 0.02 * (1 - 1 / x);
}

/* Returns the number of times that were measured. */
static int search(struct ti_search *s, double (*f)(double), double slower)
{
    int tries = 0;

    ti_search_begin(s, f(1), f(1) * (1 + slower), MOST);
    while (s->end == TI_SEARCH_GOES_ON && tries < TRIES) {
        double x = ti_search_next(s);

        assert_true(x > 1 && x <= MOST);
        ti_search_note(s, x, f(x));
        tries++;
    }
    return tries;
}

static void roots_are_found(void **state)
{
    static double (*const functions[])(double) = {line, steep, faint, hidden, curved, flattening};
    static const double slower[] = {0.001, 0.01, 0.02, 0.05, 0.5};
    struct ti_search s;

    (void)state;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t i = 0; i < sizeof slower / sizeof *slower; i++) {
            int tries = search(&s, functions[f], slower[i]);

            if (s.end != TI_SEARCH_FOUND)
                fail_msg("function %zu, %g: end %d after %d tries, %g to %g", f, slower[i],
                         (int)s.end, tries, s.low, s.high);
            assert_true(s.x_s == functions[f](s.x));
            assert_true(fabs(s.x_s / functions[f](1) - 1 - slower[i]) <= 0.0101 * slower[i]);
            assert_true(tries <= 2 || functions[f] != line);
        }
}

static void what_is_not_reached_is_told(void **state)
{
    struct ti_search s;

    (void)state;
    assert_true(search(&s, flat, 0.01) <= 6);
    assert_true(s.end == TI_SEARCH_NEVER && s.low_s == 5 && s.x == MOST);
    search(&s, bounded, 0.05);
    assert_true(s.end == TI_SEARCH_NEVER && s.x_s == bounded(MOST));
    search(&s, bounded, 0.01);
    assert_true(s.end == TI_SEARCH_FOUND && fabs(s.x - 2) < 0.05);
}

static void a_jump_is_bracketed(void **state)
{
    struct ti_search s;

    (void)state;
    search(&s, jump, 0.05);
    assert_true(s.low < 1.37 && s.high >= 1.37 && s.high - s.low < 0.15);
    ti_search_stop(&s);
    assert_true(s.end == TI_SEARCH_JUMP && s.x == s.high && s.x_s == jump(s.high));
}

/* Times that others measured narrow a bracket, and never widen it. */
static void other_times_help(void **state)
{
    struct ti_search s;

    (void)state;
    ti_search_begin(&s, line(1), line(1) * 1.1, MOST);
    ti_search_note(&s, 4, line(4));
    assert_true(s.low == 1 && s.high == 4);
    ti_search_note(&s, 1.2, line(1.2));
    ti_search_note(&s, 9, line(9));
    ti_search_note(&s, 1.1, line(1.1));
    assert_true(s.low == 1.2 && s.high == 4);
    assert_true(fabs(line(ti_search_next(&s)) - s.target) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_found), cmocka_unit_test(what_is_not_reached_is_told),
        cmocka_unit_test(a_jump_is_bracketed), cmocka_unit_test(other_times_help)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
