/*
 * The `blocks` counter in a program that has what ti-mpicc would have linked into it,
 * and adds to it by hand: its own thread's word and those of others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "minitrace/counters/counter.h"

extern _Thread_local uint64_t tiara_blocks; /* wrap/blocks.c */

static ti_status open_counter(const char *choice, bool sum, struct ti_counter *c,
                              struct ti_err *err)
{
    ti_status st;

    errno = 77;
    st = ti_counter_open(&(struct ti_counter_request){.choice = choice, .sum = sum}, c, err);
    assert_int_equal(errno, 77);
    return st;
}

static struct ti_counter counter;

static void *elsewhere(void *arg)
{
    uint64_t *found = arg;

    found[0] = counter.read_elsewhere();
    tiara_blocks += 1234567890123;
    found[1] = counter.read_elsewhere();
    return NULL;
}

static void test_words(void **state)
{
    uint64_t found[2], before;
    pthread_t thread;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_counter("blocks", false, &counter, &err), TI_OK);
    assert_string_equal(counter.backend->name, "blocks");
    assert_string_equal(counter.unit, "instructions");
    assert_true(counter.exact && counter.backend->from_start && !counter.sum);
    assert_null(counter.read);
    assert_null(counter.others);
    before = *counter.word;
    tiara_blocks += 7;
    assert_int_equal(*counter.word - before, 7);
    assert_int_equal(counter.read_elsewhere(), *counter.word);
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(found[0], 0);
    assert_int_equal(found[1], 1234567890123);
    assert_int_equal(*counter.word - before, 7);
    ti_counter_close(&counter);
}

static void test_refuses_sums(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_counter("blocks", true, &c, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "each thread"));
    assert_non_null(strstr(err.hint, "valgrind"));
}

/* Where nothing better counts, as on most virtual machines. */
static void test_auto(void **state)
{
    struct ti_counter c;
    struct ti_err err;

    (void)state;
    assert_int_equal(open_counter("auto", false, &c, &err), TI_OK);
    assert_true(strcmp(c.backend->name, "papi") == 0 || strcmp(c.backend->name, "blocks") == 0);
    ti_counter_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_refuses_sums),
        cmocka_unit_test(test_auto),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
