/* Rate files: what is read, what is said of what is wrong where, and which rate a burst has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/rates.h"

static struct ti_err err;

/* NULL, and `err` is set, if it is not read. */
static struct ti_rates *read_text(const char *text, char **more)
{
    struct ti_rates *r = NULL;
    char path[64];
    int fd = memfd_create("rates", 0);
    ti_status st;

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = (struct ti_err){"", ""};
    st = ti_rates_read(path, &r, more, &err);
    assert_true((st == TI_OK) == (r != NULL));
    assert_true(st == TI_OK || st == TI_ERR_INPUT);
    close(fd);
    return r;
}

static struct ti_rates *must_read(const char *text)
{
    struct ti_rates *r = read_text(text, NULL);

    if (!r)
        fail_msg("%s\n%s", err.text, text);
    return r;
}

static const char all_keys[] = "# by hand\n"
                               "[class 1000000]  ; out of order\n"
                               "rate = 1.25G\n"
                               "[rates]\n"
                               "unit = instructions\n"
                               "counter = \"pa\\x22pi\"\n"
                               "cpu = \"A, B\" # two\n"
                               "hosts = 2\n"
                               "ranks = 8\n"
                               "reference = 2G\n"
                               "[site]\n"
                               "site = \"z+0x1 [ab]\"\n"
                               "rate = 7\n"
                               "[class 64]\n"
                               "  rate = 2.5 G\n"
                               "deviation = 80M\n"
                               "bursts = 12\n"
                               "seconds = 1.5e-06\n"
                               "[site]\n"
                               "rate = 3k\n"
                               "site = a+0x10 b\n"
                               "deviation = 0\n"
                               "seconds = 0\n";

static void all_keys_are_read(void **state)
{
    struct ti_rates *r = must_read(all_keys);

    (void)state;
    assert_string_equal(r->unit, "instructions");
    assert_string_equal(r->counter, "pa\"pi");
    assert_string_equal(r->cpu, "A, B");
    assert_int_equal(r->hosts, 2);
    assert_int_equal(r->ranks, 8);
    assert_true(r->reference == 2e9);
    assert_int_equal(r->nclasses, 2);
    assert_int_equal(r->volume_class[0].from, 64);
    assert_true(r->volume_class[0].rate == 2.5e9 && r->volume_class[0].deviation == 8e7);
    assert_true(r->volume_class[0].bursts == 12 && r->volume_class[0].seconds == 1.5e-6);
    assert_true(r->volume_class[1].rate == 1.25e9 && r->volume_class[1].bursts == 0);
    assert_int_equal(r->nsites, 2);
    assert_string_equal(r->site[0].site, "a+0x10 b");
    assert_string_equal(r->site[1].site, "z+0x1 [ab]");
    ti_rates_free(r);
    ti_rates_free(NULL);
}

static void a_burst_has_a_rate(void **state)
{
    struct ti_rates *r = must_read(all_keys);

    (void)state;
    /* below the first class, at its edges, in it, beyond the last */
    assert_true(ti_rates_class(r, 0)->rate == 2.5e9);
    assert_true(ti_rates_class(r, 64)->rate == 2.5e9);
    assert_true(ti_rates_class(r, 999999)->rate == 2.5e9);
    assert_true(ti_rates_class(r, 1000000)->rate == 1.25e9);
    assert_true(ti_rates_class(r, UINT64_MAX)->rate == 1.25e9);
    /* sites; a part of a name is none */
    assert_true(ti_rates_site(r, "z+0x1 [ab]")->rate == 7);
    assert_true(ti_rates_site(r, "a+0x10 b")->rate == 3000);
    assert_null(ti_rates_site(r, "a+0x10"));
    assert_null(ti_rates_site(r, "m"));
    assert_null(ti_rates_site(r, ""));
    ti_rates_free(r);
    r = must_read("[class 0]\nrate=1M");
    assert_null(ti_rates_site(r, "x"));
    assert_true(ti_rates_class(r, 5)->rate == 1e6);
    assert_true(r->reference == 1e6);
    ti_rates_free(r);
    r = must_read("[rates]\n[class 8]\nrate = 3\n[class 0]\nrate = 5\n");
    assert_true(r->reference == 5);
    ti_rates_free(r);
}

/* Each class of many, at both ends. */
static void many_classes_are_searched(void **state)
{
    char text[4096] = "";
    struct ti_rates *r;

    (void)state;
    for (int i = 40; i >= 0; i--)
        sprintf(text + strlen(text), "[class %llu]\nrate = %d\n", 1ull << i, i + 1);
    r = must_read(text);
    assert_int_equal(r->nclasses, 41);
    for (int i = 0; i <= 40; i++) {
        assert_true(ti_rates_class(r, UINT64_C(1) << i)->rate == i + 1);
        assert_true(ti_rates_class(r, (UINT64_C(2) << i) - 1)->rate == i + 1);
    }
    ti_rates_free(r);
}

static void errors_are_where_they_are(void **state)
{
    static const struct {
        const char *text, *expect;
    } cases[] = {
        {"", ":1:1: there is no '[class VOLUME]'"},
        {"[rates]\nunit = x\n", ":1:1: there is no '[class VOLUME]'"},
        {"[class]\nrate = 1\n", ":1:2: a class needs its smallest volume"},
        {"[class x]\nrate = 1\n", ":1:8: a class needs its smallest volume"},
        {"[class -1]\nrate = 1\n", ":1:8: a class needs"},
        {"[class 18446744073709551616]\nrate = 1\n", ":1:8: a class needs"},
        {"[class 1]\nrate = 1\n[clas 2]\nrate = 1\n", ":3:2: unknown section '[clas]'"},
        {"[class 1]\nrate = 1\n[site x]\nrate = 1\n", ":3:7: [site] takes no name: the key"},
        {"[class 1]\nrate = 1\n[rates x]\n", ":3:8: [rates] takes no name"},
        {"[class 1]\n", ":1:1: this section has no rate"},
        {"[class 1]\nrate =\n", ":2:1: 'rate' has no value"},
        {"[class 1]\nrate = 0\n", ":2:8: rate is volume a second"},
        {"[class 1]\nrate = -1\n", ":2:8: rate is"},
        {"[class 1]\nrate = nan\n", ":2:8: rate is"},
        {"[class 1]\nrate = 1e19\n", ":2:8: rate is"},
        {"[class 1]\nrate = 1 X\n", ":2:8: rate is volume a second, such as 2.53G, not '1 X'"},
        {"[class 1]\nrate = 1\nrate = 2\n", ":3:1: 'rate' was given before, in line 2"},
        {"[class 1]\nrate = 1\ndeviation = x\n", ":3:13: deviation is"},
        {"[class 1]\nrate = 1\nseconds = x\n", ":3:11: seconds is"},
        {"[class 1]\nrate = 1\nbursts = 1.5\n", ":3:10: bursts is a whole number"},
        {"[class 1]\nrate = 1\nspeed = 1\n", ":3:1: [class] has no key 'speed'"},
        {"[class 1]\nrate = 1\nsite = a\n", ":3:1: [class] has no key 'site'"},
        {"[rates]\nrate = 1\n[class 1]\nrate = 1\n", ":2:1: [rates] has no key 'rate'"},
        {"[rates]\nreference = 0\n[class 1]\nrate = 1\n", ":2:13: reference is volume a second"},
        {"[rates]\nhosts = two\n[class 1]\nrate = 1\n", ":2:9: hosts is a whole number"},
        {"[rates]\n[rates]\n[class 1]\nrate = 1\n", ":2:1: '[rates]' was there before, in line 1"},
        {"[class 1]\nrate = 1\n[class 01]\nrate = 2\n",
         ":3:1: class 1 was there before, in line 1"},
        {"[class 1]\nrate = 1\n[site]\nrate = 1\n", ":3:1: this [site] does not say which"},
        {"[class 1]\nrate = 1\n[site]\nsite = \"a\nrate = 1\n", ":4:8: site is text in quotes"},
        {"[class 1]\nrate = 1\n[site]\nsite = \"a\\n\"\nrate = 1\n", ":4:8: site is text"},
        {"[class 1]\nrate = 1\n[site]\nsite = \"a\\x\"\nrate = 1\n", ":4:8: site is text"},
        {"[class 1]\nrate = 1\n[site]\nsite = \"a\" b\nrate = 1\n", ":4:8: site is text"},
        {"[class 1]\nrate = 1\n[site]\nsite=a\nrate=1\n[site]\nsite=\"\\x61\"\nrate=2\n",
         ":6:1: this site was there before, in line 3"},
        {"rate = 1\n", ":1:1: 'rate' stands before any section"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_rates *r = read_text(cases[i].text, NULL);

        if (r || !strstr(err.text, cases[i].expect))
            fail_msg("'%s': '%s', not '%s'", cases[i].text, err.text, cases[i].expect);
    }
}

static void all_findings_are_told(void **state)
{
    char *more = NULL;

    (void)state;
    assert_null(read_text("[class 1]\nrate = x\n[class 2]\nrate = y\n[class 3]\n", &more));
    assert_non_null(strstr(err.text, ":2:8: "));
    assert_non_null(more);
    assert_non_null(strstr(more, ":4:8: "));
    assert_non_null(strstr(more, ":5:1: this section has no rate\n"));
    free(more);
}

static bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* But for what units of 1000 cost in the last digit. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void expect_same(const struct ti_rate *a, const struct ti_rate *b)
{
    assert_true(a->from == b->from && same_text(a->site, b->site) && a->bursts == b->bursts);
    assert_true(near(a->rate, b->rate) && near(a->deviation, b->deviation));
    assert_true(near(a->seconds, b->seconds));
}

/* Rates that are written are read again, with odd text in them; the title is only a comment. */
static void what_is_written_is_read(void **state)
{
    char text[600], unit[] = "x # ; \"y\" \\x41", counter[] = "a\n[b", odd[] = "\x01\xff+0x1 ;#\\";
    struct ti_rate classes[] = {{.from = 0, .rate = 0.5},
                                {.from = 7, .rate = 999999, .deviation = 1000},
                                {.from = UINT64_MAX, .rate = 1e18, .bursts = 3, .seconds = 1e-9}};
    struct ti_rate sites[] = {{.site = odd, .rate = 1.23456e12, .seconds = 12345.5},
                              {.site = text, .rate = 2, .bursts = 9}};
    struct ti_rates out = {.unit = unit,
                           .counter = counter,
                           .hosts = 3,
                           .ranks = 5,
                           .reference = 2.53e9,
                           .volume_class = classes,
                           .nclasses = 3,
                           .site = sites,
                           .nsites = 2},
                    *in;
    char path[64];
    int fd = memfd_create("rates", 0);

    (void)state;
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(ti_rates_write(path, &out, "\n[class 1]\nrate = \x1b 1\n\n", &err), TI_OK);
    if (ti_rates_read(path, &in, NULL, &err) != TI_OK)
        fail_msg("%s", err.text);
    close(fd);
    assert_string_equal(in->unit, unit);
    assert_string_equal(in->counter, counter);
    assert_null(in->cpu);
    assert_true(in->hosts == 3 && in->ranks == 5 && near(in->reference, 2.53e9));
    assert_true(in->nclasses == 3 && in->nsites == 2);
    for (int i = 0; i < 3; i++)
        expect_same(&in->volume_class[i], &classes[i]);
    for (int i = 0; i < 2; i++)
        expect_same(ti_rates_site(in, sites[i].site), &sites[i]);
    ti_rates_free(in);
    assert_int_equal(ti_rates_write("/nowhere/rates", &out, "", &err), TI_ERR_IO);
    assert_int_equal(ti_rates_write("/dev/full", &out, "", &err), TI_ERR_IO);
}

static void what_is_no_file_is_refused(void **state)
{
    struct ti_rates *r = NULL;

    (void)state;
    assert_int_equal(ti_rates_read("/nowhere/rates", &r, NULL, &err), TI_ERR_IO);
    assert_null(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_keys_are_read),          cmocka_unit_test(a_burst_has_a_rate),
        cmocka_unit_test(many_classes_are_searched),  cmocka_unit_test(errors_are_where_they_are),
        cmocka_unit_test(all_findings_are_told),      cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_no_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
