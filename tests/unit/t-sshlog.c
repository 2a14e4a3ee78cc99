/* Messages of the OpenSSH client, and how they are understood; lists of methods; targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "remote/internal.h"
#include "remote/sshargs.h"
#include "remote/sshlog.h"

static enum ti_channel_end why(const char *text, char *cause)
{
    struct ti__sshlog l = {.status = -1};

    /* In pieces of any length. */
    for (size_t i = 0; text[i]; i++)
        ti__sshlog_add(&l, text + i, 1);
    return ti__sshlog_why(&l, cause, 512);
}

static void kinds(void **state)
{
    static const struct {
        enum ti_channel_end end;
        const char *text;
    } cases[] = {
        {TI_CHANNEL_NO_NAME, "ssh: Could not resolve hostname x: Name or service not known\r\n"},
        {TI_CHANNEL_REFUSED, "ssh: connect to host x port 22: Connection refused\r\n"},
        {TI_CHANNEL_UNREACHABLE, "ssh: connect to host x port 22: No route to host\r\n"},
        {TI_CHANNEL_TIMED_OUT, "ssh: connect to host x port 22: Connection timed out\r\n"},
        {TI_CHANNEL_TIMED_OUT, "debug1: Connection established.\r\n"
                               "Connection timed out during banner exchange\r\n"
                               "Connection to 10.0.0.1 port 22 timed out\r\n"},
        {TI_CHANNEL_BUSY, "kex_exchange_identification: read: Connection reset by peer\r\n"
                          "Connection reset by 10.0.0.1 port 22\r\n"},
        {TI_CHANNEL_BUSY, "Exceeded MaxStartups\r\nkex_exchange_identification: x\r\n"},
        {TI_CHANNEL_HOST_KEY_UNKNOWN,
         "No ED25519 host key is known for x and you have requested strict checking.\r\n"
         "Host key verification failed.\r\n"},
        {TI_CHANNEL_HOST_KEY_CHANGED,
         "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
         "Offending ED25519 key in /home/me/.ssh/known_hosts:3\r\n"
         "Host key verification failed.\r\n"},
        {TI_CHANNEL_NO_AUTH, "debug1: Remote protocol version 2.0\r\n"
                             "me@x: Permission denied (publickey).\r\n"},
        {TI_CHANNEL_NO_METHOD, "Unable to negotiate with 10.0.0.1 port 22: no matching cipher "
                               "found. Their offer: aes128-cbc\r\n"},
        {TI_CHANNEL_NO_COMMAND, "debug1: Authentication succeeded (publickey).\r\n"
                                "exec request failed on channel 0\r\n"},
        {TI_CHANNEL_LOST, "debug2: exec request accepted on channel 0\r\n"
                          "Timeout, server x not responding.\r\n"},
        {TI_CHANNEL_BUSY, ""},
    };
    char cause[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (why(cases[i].text, cause) != cases[i].end)
            fail_msg("%s: %s, '%s'", cases[i].text, ti_channel_end_text(why(cases[i].text, cause)),
                     cause);
        assert_true(cause[0]);
    }
}

static void hints(void **state)
{
    struct ti__sshlog l = {.status = -1};
    const char text[] = "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n"
                        "Offending ED25519 key in /home/me/.ssh/known_hosts:3\n";
    char hint[512];

    (void)state;
    ti__sshlog_add(&l, text, strlen(text));
    ti__sshlog_hint(&l, TI_CHANNEL_HOST_KEY_CHANGED, "x", hint, sizeof hint);
    assert_non_null(strstr(hint, "/home/me/.ssh/known_hosts:3"));
    ti__sshlog_hint(&l, TI_CHANNEL_HOST_KEY_UNKNOWN, "-J gw x", hint, sizeof hint);
    assert_non_null(strstr(hint, "ssh -J gw x true"));
}

static void status_of_the_command(void **state)
{
    struct ti__sshlog l = {.status = -1};
    const char text[] = "debug2: exec request accepted on channel 0\r\ndebug1: Exit status 255\r\n";

    (void)state;
    ti__sshlog_add(&l, text, strlen(text));
    assert_true(l.running);
    assert_int_equal(l.status, 255);
}

static void long_lines(void **state)
{
    struct ti__sshlog l = {.status = -1};
    char text[5000], cause[512];

    (void)state;
    memset(text, 'x', sizeof text);
    ti__sshlog_add(&l, text, sizeof text);
    ti__sshlog_add(&l, "\n", 1);
    assert_int_equal(ti__sshlog_why(&l, cause, sizeof cause), TI_CHANNEL_BUSY);
    assert_int_equal(strlen(cause), 511);
}

static void first(void **state)
{
    static const char *const cases[][2] = {{"a,b,c", "b,a,c"}, {"b,a", "b,a"},   {"a,b", "b,a"},
                                           {"a,bb", "a,bb"},   {"bb,b", "b,bb"}, {"", ""}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *s = ti__put_first(cases[i][0], "b");

        assert_string_equal(s, cases[i][1]);
        free(s);
    }
}

static void targets(void **state)
{
    static const char *const wrong[] = {
        "", "-oProxyCommand=x", "a@-b", "a@", "x:0", "x:70000", "x:2b", "[::1", "[::1]x"};
    struct ti__target t;

    (void)state;
    assert_true(ti__target(&t, "me@n1.site:2222"));
    assert_string_equal(t.user, "me");
    assert_string_equal(t.host, "n1.site");
    assert_string_equal(t.port, "2222");
    assert_true(ti__target(&t, "[::1]:22"));
    assert_string_equal(t.host, "::1");
    assert_string_equal(t.port, "22");
    assert_true(ti__target(&t, "fe80::1"));
    assert_string_equal(t.host, "fe80::1");
    assert_null(t.port);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (ti__target(&t, wrong[i]))
            fail_msg("'%s' is taken", wrong[i]);
}

/* Text of the other side before its host key is checked is no message of ssh. */
static void no_word_of_others(void **state)
{
    static const char *const words[] = {"exec request accepted on channel 0",
                                        "Authentication succeeded (publickey).",
                                        "Entering interactive session.",
                                        "Exit status 0",
                                        "master session id: 2",
                                        "Received exit status from master 0",
                                        "client_input_channel_req: rtype exit-signal",
                                        "Offering public key: x"};
    char cause[512], text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct ti__sshlog l = {.status = -1, .master = true};

        snprintf(text, sizeof text,
                 "debug2: KEX algorithms: %s\r\ndebug2: compression ctos: none,%s: 1\r\n"
                 "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n",
                 words[i], words[i]);
        ti__sshlog_add(&l, text, strlen(text));
        assert_false(l.running || l.login || l.signalled || l.keys[0]);
        assert_int_equal(l.status, -1);
        assert_int_equal(ti__sshlog_why(&l, cause, sizeof cause), TI_CHANNEL_HOST_KEY_CHANGED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(hints),
        cmocka_unit_test(status_of_the_command),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(first),
        cmocka_unit_test(targets),
        cmocka_unit_test(no_word_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
