/* replay-bridge/calibrate/align.h: ranks that leave MPI_Init at different times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "replay-bridge/calibrate/align.h"

#define MACHINE "6f9619ff-8b86-d011-b42d-00cf4fc964ff"

static struct ti_rank_span span_of(const char *begin, double seconds)
{
    struct ti_rank_span span = {.seconds = seconds};

    ti_rank_span_begin(&span, begin);
    return span;
}

static void is_near(double value, double wanted)
{
    assert_true(fabs(value - wanted) < 1e-9);
}

static void the_last_start_counts(void **state)
{
    struct ti_rank_span span[] = {span_of("5000000 " MACHINE, 0.316),
                                  span_of("5281000 " MACHINE, 0.035),
                                  span_of("5100000 " MACHINE, 0.215)};

    (void)state;
    is_near(ti_rank_spans_align(span, 3), 0.281);
    is_near(span[0].seconds, 0.035);
    is_near(span[1].seconds, 0.035);
    is_near(span[2].seconds, 0.034);
}

static void one_rank_has_no_skew(void **state)
{
    struct ti_rank_span span = span_of("7 " MACHINE, 2);

    (void)state;
    assert_true(ti_rank_spans_align(&span, 1) == 0);
    assert_true(span.seconds == 2);
}

static void are_left_alone(struct ti_rank_span a, struct ti_rank_span b)
{
    struct ti_rank_span span[] = {a, b};

    assert_true(ti_rank_spans_align(span, 2) == -1);
    assert_true(span[0].seconds == a.seconds && span[1].seconds == b.seconds);
}

static void other_clocks_are_not_compared(void **state)
{
    struct ti_rank_span here = span_of("5000000 " MACHINE, 3);

    (void)state;
    are_left_alone(here, span_of("5000000 another", 3));
    are_left_alone(here, span_of(NULL, 3));
    are_left_alone(here, span_of("", 3));
    are_left_alone(here, span_of("5000000", 3));
    are_left_alone(here, span_of("-5 " MACHINE, 3));
    are_left_alone(here, span_of("soon " MACHINE, 3));
    are_left_alone(span_of(NULL, 3), span_of(NULL, 3));
}

/* Ranks that wait for nobody: the first is through before the second begins. */
static void ranks_apart_keep_their_times(void **state)
{
    (void)state;
    are_left_alone(span_of("1000000 " MACHINE, 0.5), span_of("1500000 " MACHINE, 0.5));
    are_left_alone(span_of("9000000 " MACHINE, 0.5), span_of("1500000 " MACHINE, 0.5));
}

static void long_text_is_cut(void **state)
{
    char text[300];
    struct ti_rank_span span;

    (void)state;
    snprintf(text, sizeof text, "1 %0250d", 7);
    span = span_of(text, 1);
    assert_true(span.machine[sizeof span.machine - 1] == '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_start_counts),
        cmocka_unit_test(one_rank_has_no_skew),
        cmocka_unit_test(other_clocks_are_not_compared),
        cmocka_unit_test(ranks_apart_keep_their_times),
        cmocka_unit_test(long_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
