#include "tests/unit/sound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fold_script.h"
#include "tests/unit/script.h"

struct ti_check check;
struct ti_problems problems;
static struct ti_err err;

static ti_status see_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                          ti_status st, struct ti_err *why)
{
    (void)arg, (void)rank, (void)w, (void)st;
    if (state == TI_READ_DAMAGED)
        fail_msg("the script cannot be read: %s", why->text);
    return TI_OK;
}

static const struct ti_visitor visitor = {.rank = see_rank};

/* ---- the same of the folded traces ---- */

static struct ti_check folded;
static struct ti_problems folded_problems;

static bool ignore(void *arg, uint32_t depth)
{
    (void)arg, (void)depth;
    return true;
}

static void ignore_times(void *arg, uint32_t depth, uint64_t times)
{
    (void)arg, (void)depth, (void)times;
}

static void same_problems(const struct ti_problems *a, const struct ti_problems *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->shown, b->shown);
    for (int i = 0; i < a->shown; i++) {
        assert_int_equal(a->list[i].rank, b->list[i].rank);
        assert_int_equal(a->list[i].event, b->list[i].event);
        assert_string_equal(a->list[i].call, b->list[i].call);
        assert_string_equal(a->list[i].why, b->list[i].why);
        assert_int_equal(a->list[i].more, b->list[i].more);
    }
}

static void same_pairs(const struct ti_pairs *a, const struct ti_pairs *b)
{
    size_t *order_a = ti_pairs_sorted(a), *order_b = ti_pairs_sorted(b), at_a = 0, at_b = 0;

    assert_int_equal(a->keys.n, b->keys.n);
    while (at_a < a->keys.n) {
        struct ti_pair x = ti_pairs_next(a, order_a, &at_a), y = ti_pairs_next(b, order_b, &at_b);

        assert_true(x.from == y.from && x.to == y.to && x.checked == y.checked);
        assert_true(x.messages == y.messages && x.received == y.received && x.bytes == y.bytes &&
                    x.delivered == y.delivered);
    }
    free(order_a);
    free(order_b);
}

static const struct ti_visitor leaving_out = {
    .rank = see_rank, .remember = ignore, .repeat = ignore_times};

/* The check of the folded ranks, in which trips of loops may be left out, says what the check of
 * all their events said. */
static void same_folded(int np)
{
    struct ti_source *s = ti_source_run_id(script_source) ? fold_script(np, 0, NULL) : NULL;

    ti_check_free(&folded);
    folded_problems = (struct ti_problems){0};
    if (!s)
        return;
    assert_int_equal(ti_check(s, &leaving_out, &folded, &folded_problems, &err), TI_OK);
    assert_int_equal(folded.events, check.events);
    assert_int_equal(folded.messages, check.messages);
    assert_int_equal(folded.collectives, check.collectives);
    assert_int_equal(folded.interrupted, check.interrupted);
    assert_int_equal(folded.unmatched, check.unmatched);
    assert_memory_equal(&folded.conserved, &check.conserved, sizeof check.conserved);
    assert_memory_equal(&folded.unchecked, &check.unchecked, sizeof check.unchecked);
    same_problems(&folded_problems, &problems);
    same_problems(&folded.leaked, &check.leaked);
    same_pairs(&folded.pairs, &check.pairs);
    ti_source_close(s);
}

uint64_t left_out(void)
{
    return folded.left_out.events;
}

/* ---- scripts ---- */

/* Write the trace of a script, between MPI_Init and MPI_Finalize. */
static void write_script(int np, int missing, const char *script)
{
    size_t bytes = strlen(script) + 64;
    char *all = malloc(bytes);

    ti_check_free(&check);
    problems = (struct ti_problems){0};
    snprintf(all, bytes, "* init level=0\n%s* finalize\n", script);
    script_trace(np, missing, all);
    free(all);
}

void check_stretched(int np, const char *script, int64_t from, const int64_t *to)
{
    struct ti_source *s;

    write_script(np, -1, script);
    s = fold_script(np, from, to);
    assert_int_equal(ti_check(s, &leaving_out, &check, &problems, &err), TI_OK);
    ti_source_close(s);
}

void check_of(int np, int missing, const char *script)
{
    write_script(np, missing, script);
    assert_int_equal(ti_check(script_source, &visitor, &check, &problems, &err), TI_OK);
    same_folded(np);
}

void expect_problem(const char *script, uint64_t n, int64_t rank, uint64_t event, const char *why)
{
    const struct ti_problem *p = &problems.list[0];

    if (problems.n == n &&
        (!n || (p->rank == rank && p->event == event && strstr(p->why, why) != NULL)))
        return;
    ti_problems_print(&problems, stderr);
    fail_msg("%llu problems for:\n%s", (unsigned long long)problems.n, script);
}

void unsound(uint64_t n, int64_t rank, uint64_t event, const char *why, int np, const char *script)
{
    check_of(np, -1, script);
    expect_problem(script, n, rank, event, why);
}

void sound(int np, const char *script)
{
    check_of(np, -1, script);
    expect_problem(script, 0, 0, 0, "");
}

void conserved(uint64_t messages, uint64_t bytes)
{
    assert_int_equal(check.conserved.messages, messages);
    assert_int_equal(check.conserved.bytes, bytes);
}

void leaks(uint64_t n, int64_t rank, uint64_t event, const char *call)
{
    assert_int_equal(check.leaked.n, n);
    assert_int_equal(check.leaked.list[0].rank, rank);
    assert_int_equal(check.leaked.list[0].event, event);
    assert_non_null(strstr(check.leaked.list[0].call, call));
}

void sound_forget(void)
{
    ti_check_free(&check);
    ti_check_free(&folded);
    script_forget();
}
