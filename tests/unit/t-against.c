/* Real times that a replay is compared with, and which of SMPI's settings win. */
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

#include "replay-bridge/simulation/against.h"
#include "replay-bridge/simulation/calibrated.h"

static struct ti_err err;
static char path[64];

/* A file of that text, until the next one. */
static const char *file_of(const char *text)
{
    static int fd = -1;

    if (fd >= 0)
        close(fd);
    fd = memfd_create("file", 0);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = (struct ti_err){"", ""};
    return path;
}

static void times_are_compared(void **state)
{
    struct ti_against a;
    const json_t *rank;
    json_t *j;

    (void)state;
    assert_int_equal(ti_against_read(file_of("{\"np\": 2, \"runs\": ["
                                             "{\"time_s\": 4, \"ranks_s\": [4, 1]},"
                                             "{\"time_s\": 2, \"ranks_s\": [2, 2]},"
                                             "{\"time_s\": 3.0, \"ranks_s\": [3, 3]}]}"),
                                     &a, &err),
                     TI_OK);
    assert_true(a.runs == 3 && a.all.median == 3 && a.all.min == 2 && a.np == 2 && a.ranks == 2);
    assert_true(a.real[0] == 4 && a.rank_real[0] == 3 && a.rank_real[1] == 2);
    ti_against_ranks(&a, file_of("[0.000000] [xbt_cfg/INFO] something\n"
                                 "clock=1.5 <2> Process left the game\n"
                                 "clock=9 <7> Process left the game\n"
                                 "clock=2.25 Simulation time 2.25\n"));
    assert_true(a.rank_simulated[0] == -1 && a.rank_simulated[1] == 1.5);
    j = ti_against_json(&a, 2.25);
    assert_true(json_number_value(json_object_get(j, "error_pct")) == -25);
    assert_int_equal(json_array_size(json_object_get(j, "runs")), 3);
    rank = json_array_get(json_object_get(j, "ranks"), 0);
    assert_null(json_object_get(rank, "simulated_s"));
    rank = json_array_get(json_object_get(j, "ranks"), 1);
    assert_true(json_number_value(json_object_get(rank, "error_pct")) == -25);
    json_decref(j);
    ti_against_free(&a);
}

static void ranks_that_not_all_runs_tell_of_are_left_out(void **state)
{
    struct ti_against a;

    (void)state;
    assert_int_equal(
        ti_against_read(file_of("{\"runs\": [{\"time_s\": 1}, {\"time_s\": 2, \"ranks_s\": [2]}]}"),
                        &a, &err),
        TI_OK);
    assert_true(a.all.median == 1.5 && a.ranks == 0 && a.np == 0);
    ti_against_free(&a);
}

/* Two runs have a spread, one has none: in text and in JSON. */
static void runs_tell_their_spread(void **state)
{
    static const struct {
        const char *runs, *text;
        double spread; /* NAN: null */
    } cases[] = {
        {"{\"time_s\": 0.2}", "spread                  ? one run tells none\n", NAN},
        {"{\"time_s\": 0.430825}, {\"time_s\": 0.204224}",
         "spread           0.113301                        +-35.68 %\n", 0.1133005},
        {"{\"time_s\": 2}, {\"time_s\": 2}",
         "spread           0.000000                        +-0.00 %\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[256], *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        const json_t *spread;
        struct ti_against a;
        json_t *j;

        snprintf(file, sizeof file, "{\"runs\": [%s]}", cases[i].runs);
        assert_int_equal(ti_against_read(file_of(file), &a, &err), TI_OK);
        assert_non_null(out);
        ti_against_print(&a, 1, out);
        fclose(out);
        if (!strstr(text, cases[i].text))
            fail_msg("%s: no '%s' in\n%s", cases[i].runs, cases[i].text, text);
        free(text);
        j = ti_against_json(&a, 1);
        spread = json_object_get(j, "spread_s");
        assert_true(isnan(cases[i].spread)
                        ? json_is_null(spread)
                        : fabs(json_number_value(spread) - cases[i].spread) < 1e-12);
        json_decref(j);
        ti_against_free(&a);
    }
}

static void malformed_times_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"{\"runs\": [}", ":1:11: "},
        {"[]", "no list \"runs\""},
        {"{\"runs\": []}", "no list \"runs\""},
        {"{\"runs\": [{}]}", "run 1 has no time_s"},
        {"{\"runs\": [{\"time_s\": 1}, {\"time_s\": 0}]}", "run 2 has no time_s"},
        {"{\"runs\": [{\"time_s\": \"1\"}]}", "run 1 has no time_s"},
        {"{\"runs\": [{\"time_s\": 1, \"ranks_s\": 3}]}", "ranks_s of run 1 is no list"},
        {"{\"runs\": [{\"time_s\": 1, \"ranks_s\": [1, -1]}]}", "rank 1 in run 1"},
        {"{\"np\": 2, \"runs\": [{\"time_s\": 1, \"ranks_s\": [1]}]}", "times of 1 ranks"},
        {"{\"np\": 0, \"runs\": [{\"time_s\": 1}]}", "np is a number"},
    };
    struct ti_against a;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (ti_against_read(file_of(wrong[i].text), &a, &err) != TI_ERR_INPUT ||
            !strstr(err.text, wrong[i].says))
            fail_msg("%s: '%s', not '%s'", wrong[i].text, err.text, wrong[i].says);
        ti_against_free(&a);
    }
    assert_int_equal(ti_against_read("/nowhere/x.json", &a, &err), TI_ERR_IO);
}

static const char calibration[] = "[host]\nspeed = 2G\n"
                                  "[network]\nwithin = node\nbandwidth = 4G\nlatency = 1e-06\n"
                                  "eager = 256\nos = 0:1:0\nlatency_factor = 0:2\n";

static void a_calibration_becomes_settings(void **state)
{
    struct ti_topology cluster = {.kind = TI_TOPO_CLUSTER}, torus = {.kind = TI_TOPO_TORUS};
    char own[] = "network/latency-factor:0:3", eager[] = "smpi/buffering:zero";
    char *user[] = {own, eager}, **all;
    struct ti_calibrated c;
    int n;

    (void)state;
    assert_int_equal(ti_calibrated_read(file_of(calibration), &cluster, &c, &err), TI_OK);
    assert_string_equal(c.speed, "2e+09f");
    assert_string_equal(c.bandwidth, "4e+09Bps");
    assert_string_equal(c.latency, "5e-07s"); /* a path has two links */
    assert_string_equal(c.loopback_latency, "1e-06s");
    all = ti_calibrated_cfg(&c, NULL, 0, &n);
    assert_int_equal(n, 4);
    assert_string_equal(all[0], "smpi/os:0:1:0");
    assert_string_equal(all[1], "smpi/lat-factor:0:2");
    assert_string_equal(all[2], "smpi/send-is-detached-thresh:257");
    assert_string_equal(all[3], "smpi/async-small-thresh:257");
    free(all);
    all = ti_calibrated_cfg(&c, user, 2, &n);
    assert_int_equal(n, 3);
    assert_string_equal(all[0], "smpi/os:0:1:0");
    assert_string_equal(all[1], own);
    assert_string_equal(all[2], eager);
    free(all);
    ti_calibrated_free(&c);
    assert_int_equal(ti_calibrated_read(file_of(calibration), &torus, &c, &err), TI_OK);
    assert_string_equal(c.latency, "1e-06s");
    ti_calibrated_free(&c);
    assert_int_equal(ti_calibrated_read(file_of("[host]\nspeed = x\n"), &torus, &c, &err),
                     TI_ERR_INPUT);
    ti_calibrated_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_compared),
        cmocka_unit_test(ranks_that_not_all_runs_tell_of_are_left_out),
        cmocka_unit_test(runs_tell_their_spread),
        cmocka_unit_test(malformed_times_are_refused),
        cmocka_unit_test(a_calibration_becomes_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
