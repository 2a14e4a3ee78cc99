/* remote/hostclass.h: hosts that an ssh configuration treats equally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote/hostclass.h"

static char path[64];

/* As if ssh had read that text. */
static struct ti__hostclass *of(const char *text)
{
    FILE *f = fopen(path, "w");
    char said[256];

    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
    snprintf(said, sizeof said,
             "OpenSSH_9.2p1\ndebug1: Reading configuration data %s\ndebug1: %s line 1: Applying\n",
             path, path);
    return ti__hostclass_new(said, strlen(said));
}

/* How much alike by that text; asked for each of them. */
static enum ti__share alike(const char *text, const char *one, const char *other)
{
    struct ti__hostclass *a = of(text);
    unsigned char marks[2][256];
    enum ti__share how[2];
    bool same;

    if (!a)
        return TI__SHARE_NONE;
    assert_true(ti__hostclass_bytes(a) <= sizeof marks[0]);
    how[0] = ti__hostclass_fingerprint(a, one, marks[0]);
    how[1] = ti__hostclass_fingerprint(a, other, marks[1]);
    same = how[0] && how[1] && memcmp(marks[0], marks[1], ti__hostclass_bytes(a)) == 0;
    ti__hostclass_free(a);
    if (!same)
        return TI__SHARE_NONE;
    assert_int_equal(how[0], how[1]);
    return how[0];
}

static void patterns(void **state)
{
    (void)state;
    assert_int_equal(alike("", "n1", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("Host *\n  User me\n", "n1", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("Host n1\n  User me\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host n1\n  User me\n", "n3", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("host = n? gw\n\tUser me\n", "n1", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("host = n? gw\n\tUser me\n", "n1", "n12"), TI__SHARE_NONE);
    assert_int_equal(alike("HOST=n*.s1 !n2.s1\nUser me", "n1.s1", "n2.s1"), TI__SHARE_NONE);
    assert_int_equal(alike("HOST=n*.s1 !n2.s1\nUser me", "n1.s1", "n3.s1"), TI__SHARE_ALL);
    assert_int_equal(alike("Host *1*\nUser me", "n1.a", "b.1"), TI__SHARE_ALL);
    assert_int_equal(alike("Host a*b*c\nUser me", "abbc", "abb"), TI__SHARE_NONE);
    assert_int_equal(alike("Host a*b*c\nUser me", "abbc", "axbbxcc"), TI__SHARE_ALL);
    assert_int_equal(alike("Host n1\n# Host n2\nHost n2\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Match all\n  User me\n", "n1", "n2"), TI__SHARE_ALL);
}

/* Settings that depend on the name, or may. */
static void names(void **state)
{
    (void)state;
    assert_int_equal(alike("HostName there\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host *\nHostName %h.org\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host x\nHostName y\n", "n1", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("CanonicalizeHostname yes\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host *\nIdentityFile ~/.ssh/%h\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host *\nControlPath ~/.ssh/%C\n", "n1", "n2"), TI__SHARE_KEYS);
    assert_int_equal(alike("Host *\nControlPath ~/.ssh/m\n", "n1", "n2"), TI__SHARE_ALL);
    assert_int_equal(alike("Match exec \"test %h = n1\"\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Match host n1\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("\"Host\" n1\nUser me\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("Host \"n1\"\nUser me\n", "n1", "n2"), TI__SHARE_NONE);
    assert_int_equal(alike("", "N1", "N2"), TI__SHARE_NONE);
    assert_int_equal(alike("", "::1", "::1"), TI__SHARE_NONE);
    assert_int_equal(alike("", "10.0.0.1", "10.0.0.1"), TI__SHARE_NONE);
    assert_int_equal(alike("", "", ""), TI__SHARE_NONE);
}

/* Files that cannot be read, or were not. */
static void no_files(void **state)
{
    static const char *const said[] = {"", "OpenSSH_9.2p1\n",
                                       "debug1: Reading configuration data /tmp/there/is/none\n",
                                       "debug1: Reading configuration data /dev/zero\n",
                                       "debug1: Reading configuration data /etc/passwd"};

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_null(ti__hostclass_new(said[i], strlen(said[i])));
}

static int prepare(void **state)
{
    int fd;

    (void)state;
    snprintf(path, sizeof path, "/tmp/t-alike-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? 1 : close(fd);
}

static int clean_up(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns), cmocka_unit_test(names),
                                       cmocka_unit_test(no_files)};

    return cmocka_run_group_tests(tests, prepare, clean_up);
}
