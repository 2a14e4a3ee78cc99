#include "tests/unit/sound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/script.h"

struct ti_check check;
struct ti_problems problems;
static struct ti_err err;

static ti_status see_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_rank_state state,
                          ti_status st, struct ti_err *why)
{
    (void)arg, (void)rank, (void)w, (void)st;
    if (state == TI_RANK_DAMAGED)
        fail_msg("the script cannot be read: %s", why->text);
    return TI_OK;
}

static const struct ti_visitor visitor = {.rank = see_rank};

void check_of(int np, int missing, const char *script)
{
    char all[4096];

    ti_check_free(&check);
    problems = (struct ti_problems){0};
    snprintf(all, sizeof all, "* init level=0\n%s* finalize\n", script);
    script_trace(np, missing, all);
    assert_int_equal(ti_check(script_source, &visitor, &check, &problems, &err), TI_OK);
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
    script_forget();
}
