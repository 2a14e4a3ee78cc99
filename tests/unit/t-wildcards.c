/* The reader that runs ahead of a walk: matches, traces that are cut off, damage. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sound/wildcards.h"
#include "tests/unit/script.h"

static const char script[] = "0 init\n0 irecv peer=any tag=any bytes=8 req=0\n"
                             "0 wait req=0 from=1 fromtag=4\n0 finalize\n1 init\n1 finalize\n";

/* Ask about the only receive of rank 0, and, where there is an answer, once more. */
static ti_status ask(struct ti_match *out, struct ti_err *err)
{
    struct ti_wildcards w = {0};
    ti_status st = ti_wildcards_ask(&w, script_source, 0, 1, 0, out, err);
    struct ti_match again;

    if (!st) {
        assert_int_equal(ti_wildcards_ask(&w, script_source, 0, 1, 0, &again, err), TI_OK);
        assert_int_equal(again.state, out->state);
    }
    ti_wildcards_free(&w);
    return st;
}

static void test_known(void **state)
{
    struct ti_match match;
    struct ti_err err;

    (void)state;
    script_trace(2, -1, script);
    assert_int_equal(ask(&match, &err), TI_OK);
    assert_int_equal(match.state, TI_MATCH_KNOWN);
    assert_int_equal(match.from, 1);
    assert_int_equal(match.tag, 4);
}

/* Change the byte at `offset` of rank 0's file. */
static void spoil(off_t offset)
{
    char path[128], byte;
    int fd;

    snprintf(path, sizeof path, "%s/rank-000000.ti", script_dir());
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x55;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static off_t size_of_file(void)
{
    char path[128];
    struct stat sb;

    snprintf(path, sizeof path, "%s/rank-000000.ti", script_dir());
    assert_int_equal(stat(path, &sb), 0);
    return sb.st_size;
}

/* With one byte damaged, the reader ahead says the same as any other reader. */
static void test_damage(void **state)
{
    int damaged = 0;

    (void)state;
    script_trace(2, -1, script);
    for (off_t at = 0, bytes = size_of_file(); at < bytes; at++) {
        struct ti_err err = {0}, expected = {0};
        struct ti_match match;
        struct ti_reader *r;
        struct ti_event ev;
        int got = 1;

        script_trace(2, -1, script);
        spoil(at);
        if (ti_source_reader(script_source, 0, &r, &expected))
            continue;
        for (int i = 0; i < 3 && got == 1; i++)
            got = ti_reader_next(r, &ev, &expected);
        ti_reader_close(r);
        assert_int_equal(ask(&match, &err), got < 0 ? TI_ERR_INPUT : TI_OK);
        if (got < 0) {
            assert_string_equal(err.text, expected.text);
            assert_int_equal(match.state, TI_MATCH_NEVER);
            damaged++;
        }
    }
    assert_true(damaged > 10);
}

/* A trace that was cut off is no damage: the receive never completed. */
static void test_cut(void **state)
{
    struct ti_match match;
    struct ti_err err;

    (void)state;
    script_trace(2, -1, "0 init\n0 irecv peer=any tag=any bytes=8 req=0\n0 END 1\n1 init\n");
    assert_int_equal(ask(&match, &err), TI_OK);
    assert_int_equal(match.state, TI_MATCH_NEVER);
}

static int forget(void **state)
{
    (void)state;
    script_forget();
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests_name("wildcards", tests, NULL, forget);
}
