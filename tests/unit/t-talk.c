/* Text of tools on standard error: nothing in it commands the terminal. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cli.h"

#define NASTY "a\033[2Jb\x07\x7f\r\tc"
#define PLAIN "a?[2Jb???\tc"

/* Standard error of say(). */
static char *said(void (*say)(void), char *buf, size_t room)
{
    int fd[2], was = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(fd), 0);
    fflush(stderr);
    assert_true(dup2(fd[1], STDERR_FILENO) >= 0);
    close(fd[1]);
    say();
    fflush(stderr);
    assert_true(dup2(was, STDERR_FILENO) >= 0);
    close(was);
    n = read(fd[0], buf, room - 1);
    close(fd[0]);
    assert_true(n >= 0);
    buf[n] = '\0';
    return buf;
}

static void say(void)
{
    ti_say("node '%s'", NASTY);
}

static void warn(void)
{
    ti_warn("node '%s'", NASTY);
}

static void hint(void)
{
    ti_hint("node '%s'", NASTY);
}

static void quiet(void)
{
    ti_talk_init("ti-test", true, true);
    ti_say("node '%s'", NASTY);
    ti_progress("node '%s'", NASTY);
}

static void test_plain(void **state)
{
    char buf[256];

    (void)state;
    ti_talk_init("ti-test", false, true);
    assert_string_equal(said(say, buf, sizeof buf), "ti-test: node '" PLAIN "'\n");
    assert_string_equal(said(warn, buf, sizeof buf), "ti-test: warning: node '" PLAIN "'\n");
    assert_string_equal(said(hint, buf, sizeof buf), "hint: node '" PLAIN "'\n");
    assert_string_equal(said(quiet, buf, sizeof buf), "");
}

/* Terminals take U+009B for ESC [. */
static void test_c1(void **state)
{
    char text[] = "a\302\2332Jb\302\302\200\302\237c\302\240d";

    (void)state;
    ti_strip_controls(text);
    assert_string_equal(text, "a??2Jb\302????c\302\240d");
}

/* Other alphabets stay what they are. */
static void test_letters(void **state)
{
    char text[] = "Grenoble: \303\251t\303\251\n";
    struct ti_err err;

    (void)state;
    ti_strip_controls(text);
    assert_string_equal(text, "Grenoble: \303\251t\303\251\n");
    ti_err_set(&err, TI_ERR_INPUT, "%s", NASTY);
    assert_string_equal(err.text, PLAIN);
    ti_err_hint(&err, "%s", NASTY);
    assert_string_equal(err.hint, PLAIN);
    ti_err_prefix(&err, TI_ERR_INPUT, "%s", NASTY);
    assert_string_equal(err.text, PLAIN ": " PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_c1),
        cmocka_unit_test(test_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
