/* Power and disks of hosts: what the parsers take and refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/host_values.h"

/* The watts in words, or the error. */
static const char *watts(const char *text)
{
    static char words[TI_VALUES_TEXT_BYTES];
    static struct ti_err err;
    struct ti_watts w = {0};

    if (ti_watts_parse(text, "--watts", &w, &err) != TI_OK) {
        assert_false(w.given);
        return err.text;
    }
    assert_true(w.given);
    return ti_watts_text(&w, words);
}

static void test_watts(void **state)
{
    static const char *const malformed[] = {"",        "100",     "100,",      ",200",
                                            "-1,200",  "1,-2",    "100,200,",  "100 200",
                                            "1e999,2", "inf,inf", "0x10,0x20", "100kW,200kW",
                                            "nan,nan", "1,2,3",   "100, 200",  "100WW,200"};
    char expected[128];

    (void)state;
    assert_string_equal(watts("100,200"), "100 to 200 W");
    assert_string_equal(watts("95.5W,210W"), "95.5 to 210 W");
    assert_string_equal(watts("0,0"), "0 to 0 W");
    assert_string_equal(watts("1e2,1e2"), "100 to 100 W");
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        snprintf(expected, sizeof expected, "--watts: '%s' is not IDLE,FULL in watts",
                 malformed[i]);
        assert_string_equal(watts(malformed[i]), expected);
    }
    assert_string_equal(watts("200,100"), "--watts: a host takes less power with all cores busy "
                                          "(100 W) than idle (200 W)");
}

/* The disk in words, or the error. */
static const char *disk(const char *text)
{
    static char words[TI_VALUES_TEXT_BYTES];
    static struct ti_err err;
    struct ti_disk d = {0};

    if (ti_disk_parse(text, "disk", &d, &err) != TI_OK) {
        assert_true(d.bandwidth == 0);
        return err.text;
    }
    return ti_disk_text(&d, words);
}

static void test_disks(void **state)
{
    static const char *const malformed[] = {
        "", "500MBps", "500MBps,1ms,", "500MBps,1ms,own", "500MBps,1ms,shared,", "shared"};
    struct ti_disk d;
    char expected[160], many[300];
    struct ti_err err;

    (void)state;
    assert_string_equal(disk("500MBps,1ms"), "500 MB/s, 1 ms");
    assert_string_equal(disk("8Gbps,0s,shared"), "1 GB/s, 0 us, shared");
    assert_int_equal(ti_disk_parse("8Gbps,250us", "disk", &d, &err), TI_OK);
    assert_true(d.bandwidth == 1e9 && d.latency_s > 2.49e-4 && d.latency_s < 2.51e-4 && !d.shared);
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        snprintf(expected, sizeof expected,
                 "disk: '%s' is not BANDWIDTH,LATENCY or BANDWIDTH,LATENCY,shared", malformed[i]);
        assert_string_equal(disk(malformed[i]), expected);
    }
    assert_string_equal(disk("500,1ms"), "disk: '500' is not a bandwidth such as 125MBps or "
                                         "10Gbps");
    assert_string_equal(disk("-5MBps,1ms"), "disk: '-5MBps' is not a bandwidth such as 125MBps or "
                                            "10Gbps");
    assert_string_equal(disk("0MBps,1ms"), "disk: '0MBps' is not a bandwidth such as 125MBps or "
                                           "10Gbps");
    assert_string_equal(disk("5MBps,1"), "disk: '1' is not a time such as 50us");
    memset(many, '5', sizeof many - 1);
    memcpy(many + 100, "MBps,1ms", 8);
    many[sizeof many - 1] = '\0';
    assert_memory_equal(disk(many), "disk: '555", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_watts), cmocka_unit_test(test_disks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
