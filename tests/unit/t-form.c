/* Unrolled loops of forms: a rank whose loop has one trip gets the loop of the other ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "extrapolate/form.h"

#define MOST 16

/* A form in words: calls are letters, each with its value as its number; "(ab)" is an unrolled
 * loop, whose trips `times` says, one after the other, with one value for each call of each trip.
 */
static struct ti_rank_form form_of(const char *text, const int *times)
{
    struct ti_rank_form f = {.n = 0};
    int32_t trip = -1;
    int64_t trips = 0;
    const char *body = NULL;

    f.number = calloc(MOST, sizeof *f.number);
    f.value = calloc(MOST, sizeof *f.value);
    f.step = calloc(MOST, sizeof *f.step);
    assert_true(f.number && f.value && f.step);
    for (const char *c = text; *c; c++) {
        struct ti_form_step step = {.kind = TI_STEP_CALL, .node = (uint32_t)*c, .numbers = 1};

        if (*c == '(') {
            step = (struct ti_form_step){TI_STEP_UNROLLED, 0, 1};
            trips = *times++;
            body = c + 1;
        } else if (*c == ')') {
            step = (struct ti_form_step){TI_STEP_END, TI_UNROLLED_END, 0};
        }
        if (trip <= 0)
            f.step[f.nsteps++] = step;
        if (*c != ')') {
            f.number[f.n] =
                (struct ti_number){.kind = *c == '(' ? TI_NUMBER_TIMES : TI_NUMBER_FIELD,
                                   .trip = *c == '(' ? -1 : trip};
            f.value[f.n++] = *c == '(' ? trips : 100 * (trip > 0 ? trip : 0) + *c;
        }
        if (*c == '(')
            trip = 0;
        if (*c == ')' && ++trip < trips)
            c = body - 1;
        else if (*c == ')')
            trip = -1;
    }
    return f;
}

static void same(const struct ti_rank_form *a, const struct ti_rank_form *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->nsteps, b->nsteps);
    assert_memory_equal(a->value, b->value, a->n * sizeof *a->value);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(a->number[i].kind, b->number[i].kind);
        assert_int_equal(a->number[i].trip, b->number[i].trip);
    }
    for (size_t i = 0; i < a->nsteps; i++) {
        assert_int_equal(a->step[i].kind, b->step[i].kind);
        assert_int_equal(a->step[i].node, b->step[i].node);
        assert_int_equal(a->step[i].numbers, b->step[i].numbers);
    }
}

/* The form `text` with the loops of `more` is `want`; NULL: there is none, and it stays as it was.
 */
static void unrolls(const char *text, int times, const char *more, int others, const char *want,
                    const int *wanted)
{
    struct ti_rank_form f = form_of(text, &times), before = form_of(text, &times);
    struct ti_rank_form other = form_of(more, &others);

    assert_int_equal(ti_form_unroll(&f, &other), want != NULL);
    if (want) {
        struct ti_rank_form is = form_of(want, wanted);

        same(&f, &is);
        ti_form_free(&is);
    } else {
        same(&f, &before);
    }
    ti_form_free(&f);
    ti_form_free(&before);
    ti_form_free(&other);
}

static void t_unroll(void **state)
{
    (void)state;
    unrolls("ab", 0, "ab", 0, "ab", NULL);
    unrolls("ab", 0, "(a)b", 3, "(a)b", (const int[]){1});
    unrolls("abc", 0, "a(bc)", 2, "a(bc)", (const int[]){1});
    unrolls("a(b)c", 3, "abc", 0, "a(b)c", (const int[]){3});
    unrolls("(a)b", 2, "(a)b", 4, "(a)b", (const int[]){2});
    unrolls("(a)b", 2, "a(b)", 3, "(a)(b)", (const int[]){2, 1});
    unrolls("a(b)", 2, "(a)b", 3, "(a)(b)", (const int[]){1, 2});
}

/* Loops that overlap, or of which one is in the other, are no loops of one form. */
static void t_overlap(void **state)
{
    (void)state;
    unrolls("(a)bc", 2, "(ab)c", 2, NULL, NULL);
    unrolls("(ab)c", 2, "(a)bc", 2, NULL, NULL);
    unrolls("(ab)c", 2, "a(bc)", 2, NULL, NULL);
    unrolls("(abc)", 2, "a(b)c", 2, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(t_unroll), cmocka_unit_test(t_overlap)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
