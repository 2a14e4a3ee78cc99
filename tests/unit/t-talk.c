/* Text of tools on standard error: nothing in it commands the terminal. */
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
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
    ti_talk_init("ti-test", true, TI_PROGRESS_NONE);
    ti_say("node '%s'", NASTY);
    ti_progress("merging", "ranks", 0, 8);
}

static void test_plain(void **state)
{
    char buf[256];

    (void)state;
    ti_talk_init("ti-test", false, TI_PROGRESS_NONE);
    assert_string_equal(said(say, buf, sizeof buf), "ti-test: node '" PLAIN "'\n");
    assert_string_equal(said(warn, buf, sizeof buf), "ti-test: warning: node '" PLAIN "'\n");
    assert_string_equal(said(hint, buf, sizeof buf), "hint: node '" PLAIN "'\n");
    assert_string_equal(said(quiet, buf, sizeof buf), "");
}

/* The clock of progress. */
static double now;
double __wrap_ti_now(void);

double __wrap_ti_now(void)
{
    return now;
}

/* Called more often than it is shown. */
static void merge(void)
{
    for (int rank = 0; rank < 8; rank++, now += 0.15)
        ti_progress("merging", "ranks", rank, 8);
    ti_progress("merging", "ranks", 3, 8);
    ti_progress_clear();
    ti_progress_end(true);
    ti_progress_end(true);
}

static void give_up(void)
{
    ti_progress("checking", "ranks", 2, 8);
    now += 4;
    ti_progress("checking", "ranks", 4, 8);
    ti_progress_end(false);
}

/* More than was estimated. */
static void run(void)
{
    ti_progress_show(&(struct ti_progress){.step = "running",
                                           .unit = "bytes",
                                           .done = 5,
                                           .of = 70,
                                           .left_s = 1.5,
                                           .note = NASTY,
                                           .also = {{"ranks", 3}}});
    ti_progress("running", "bytes", 99, 0);
    ti_progress_end(true);
}

static void probe(void)
{
    ti_progress_show(&(struct ti_progress){.step = "probing", .note = NASTY});
    ti_progress_end(true);
}

#define STEP(name) "{\"progress\":{\"tool\":\"ti-test\",\"step\":\"" name "\","

static void test_objects(void **state)
{
    char buf[1024];

    (void)state;
    ti_talk_init("ti-test", true, TI_PROGRESS_JSON);
    assert_true(ti_progress_on());
    assert_string_equal(
        said(merge, buf, sizeof buf),
        STEP(
            "merging") "\"done\":0,\"of\":8,\"unit\":\"ranks\","
                       "\"seconds\":0.000}}\n" STEP("mergin"
                                                    "g") "\"done\":"
                                                         "2,\"of\":"
                                                         "8,"
                                                         "\"unit\":"
                                                         "\"ranks\","
                                                         "\"seconds"
                                                         "\":0.300}}"
                                                         "\n" STEP("merging") "\"done\":4,\"of\":8,"
                                                                              "\"unit\":\"ranks\","
                                                                              "\"seconds\":0.600}}"
                                                                              "\n" STEP("merging") "\"done\":6,\"of\":8,\"unit\":\"ranks\",\"seconds\":0.900}}\n" STEP(
                                                                                  "mergin"
                                                                                  "g") "\""
                                                                                       "do"
                                                                                       "ne"
                                                                                       "\""
                                                                                       ":7"
                                                                                       ","
                                                                                       "\""
                                                                                       "of"
                                                                                       "\""
                                                                                       ":8"
                                                                                       ","
                                                                                       "\""
                                                                                       "un"
                                                                                       "it"
                                                                                       "\""
                                                                                       ":"
                                                                                       "\""
                                                                                       "ra"
                                                                                       "nk"
                                                                                       "s"
                                                                                       "\""
                                                                                       ","
                                                                                       "\""
                                                                                       "se"
                                                                                       "co"
                                                                                       "nd"
                                                                                       "s"
                                                                                       "\""
                                                                                       ":1"
                                                                                       ".2"
                                                                                       "00"
                                                                                       ","
                                                                                       "\""
                                                                                       "le"
                                                                                       "ft"
                                                                                       "_s"
                                                                                       "\""
                                                                                       ":0"
                                                                                       ".1"
                                                                                       "71"
                                                                                       "}}"
                                                                                       "\n" STEP(
                                                                                           "mergin"
                                                                                           "g") "\""
                                                                                                "do"
                                                                                                "ne"
                                                                                                "\""
                                                                                                ":8"
                                                                                                ","
                                                                                                "\""
                                                                                                "of"
                                                                                                "\""
                                                                                                ":8"
                                                                                                ","
                                                                                                "\""
                                                                                                "un"
                                                                                                "it"
                                                                                                "\""
                                                                                                ":"
                                                                                                "\""
                                                                                                "ra"
                                                                                                "nk"
                                                                                                "s"
                                                                                                "\""
                                                                                                ","
                                                                                                "\""
                                                                                                "se"
                                                                                                "co"
                                                                                                "nd"
                                                                                                "s"
                                                                                                "\""
                                                                                                ":1"
                                                                                                ".2"
                                                                                                "00"
                                                                                                ","
                                                                                                "\""
                                                                                                "le"
                                                                                                "ft"
                                                                                                "_s"
                                                                                                "\""
                                                                                                ":0"
                                                                                                ".0"
                                                                                                "00"
                                                                                                "}}"
                                                                                                "\n");
    assert_string_equal(
        said(give_up, buf, sizeof buf),
        STEP("checking") "\"done\":2,\"of\":8,\"unit\":\"ranks\",\"seconds\":0.000}}\n" STEP(
            "checking") "\"done\":4,\"of\":8,\"unit\":\"ranks\",\"seconds\":4.000,\"left_s\":8.000}"
                        "}\n");
    assert_string_equal(said(run, buf, sizeof buf),
                        STEP("running") "\"done\":5,\"of\":70,\"unit\":\"bytes\",\"seconds\":0.000,"
                                        "\"left_s\":1.500,\"ranks\":3}}\n" STEP(
                                            "running") "\"done\":99,\"of\":99,\"unit\":\"bytes\","
                                                       "\"seconds\":0.000,\"left_s\":0.000}}\n");
    assert_string_equal(said(probe, buf, sizeof buf),
                        STEP("probing") "\"seconds\":0.000}}\n" STEP(
                            "probing") "\"seconds\":0.000,\"left_s\":0.000}}\n");
    /* no line where there is no terminal */
    ti_talk_init("ti-test", false, TI_PROGRESS_LINE);
    assert_false(ti_progress_on());
    assert_string_equal(said(merge, buf, sizeof buf), "");
}

static void check_many(void)
{
    ti_progress_show(&(struct ti_progress){
        .step = "checking", .unit = "ranks", .done = 1000, .of = 2000000, .note = "a\033, b"});
    ti_say("done");
    ti_progress_end(true);
}

/* The bytes that are written to a terminal of so many columns. */
static char *seen(int columns, char *buf, size_t room)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int ours, theirs, was = dup(STDERR_FILENO);
    struct termios raw;
    size_t n = 0;

    assert_int_equal(openpty(&ours, &theirs, NULL, NULL, &size), 0);
    assert_int_equal(tcgetattr(theirs, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(theirs, TCSANOW, &raw), 0);
    assert_true(dup2(theirs, STDERR_FILENO) >= 0);
    ti_talk_init("ti-test", false, TI_PROGRESS_AUTO);
    check_many();
    assert_true(dup2(was, STDERR_FILENO) >= 0);
    while (!n || buf[n - 1] != '\n') { /* it comes in pieces */
        ssize_t got = read(ours, buf + n, room - 1 - n);

        assert_true(got > 0);
        n += (size_t)got;
    }
    buf[n] = '\0';
    close(was);
    close(ours);
    close(theirs);
    return buf;
}

/* The line is cut where a part ends, which the comma of a number is not. */
static void test_line(void **state)
{
    static const struct {
        int columns;
        const char *line;
    } of[] = {{100, "checking: 1,000 of 2,000,000 ranks, a?, b"},
              {41, "checking: 1,000 of 2,000,000 ranks, a?"},
              {38, "checking: 1,000 of 2,000,000 ranks"},
              {31, "checking: 1,000 of 2,000,000 r"},
              {1, ""}};
    char buf[256], wanted[256];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(wanted, sizeof wanted, "\r\033[K%s\r\033[Kti-test: done\n", of[i].line);
        assert_string_equal(seen(of[i].columns, buf, sizeof buf), wanted);
    }
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
        cmocka_unit_test(test_plain), cmocka_unit_test(test_objects), cmocka_unit_test(test_line),
        cmocka_unit_test(test_c1),    cmocka_unit_test(test_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
