/* Fits of messages, what is read of measured times, and calibration files. */
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

#include "config/calibration.h"
#include "replay-bridge/calibrate/network.h"

static struct ti_err err;

#define NSIZES 45

/* Powers of two and what lies between. */
static double size_at(int i)
{
    return i % 2 ? 3 * exp2(i / 2) : 2 * exp2(i / 2);
}

/* A time with noise: up to 1 % more or less, the same each time. */
static double noisy(double seconds, int i)
{
    uint32_t x = (uint32_t)(i + 1) * 2654435761u;

    x = (x ^ x >> 15) * 2246822519u;
    return seconds * (0.99 + 0.02 * (double)(x >> 8) / (1 << 24));
}

/* Three ranges: from 0, from 1000 and from 65536 bytes. */
static double true_time(double size)
{
    if (size < 1000)
        return 1e-6 + size * 1e-10;
    return size < 65536 ? 4e-6 + size * 5e-10 : 30e-6 + size * 2e-10;
}

static void segments_are_found(void **state)
{
    struct ti_fit_point p[NSIZES];
    struct ti_segment s[TI_FIT_SEGMENTS_MAX];
    int n = 0;

    (void)state;
    for (int i = 0; i < NSIZES; i++) {
        double size = size_at(NSIZES - 1 - i), t = noisy(true_time(size), i); /* descending */

        p[i] = (struct ti_fit_point){size, t, t};
    }
    assert_int_equal(ti_fit(p, NSIZES, 0, 8, s, &n, &err), TI_OK);
    assert_int_equal(n, 3);
    assert_true(s[1].from == 1024 && s[2].from == 65536);
    assert_true(fabs(s[1].startup / 4e-6 - 1) < 0.03 && fabs(s[1].per_byte / 5e-10 - 1) < 0.03);
    assert_true(fabs(s[2].startup / 30e-6 - 1) < 0.05 && fabs(s[2].per_byte / 2e-10 - 1) < 0.03);
    for (int i = 0; i < n; i++)
        assert_true(s[i].mean_error < 0.01 && s[i].max_error < 0.03 && s[i].points >= 3);
    for (double size = 2; size < 1 << 22; size *= 2)
        assert_true(fabs(ti_fit_at(s, n, size) / true_time(size) - 1) < 0.03);
}

static void a_segment_begins_at_the_cut(void **state)
{
    struct ti_fit_point p[20];
    struct ti_segment s[TI_FIT_SEGMENTS_MAX];
    int n = 0;

    (void)state;
    for (int i = 0; i < 20; i++)
        p[i] = (struct ti_fit_point){i + 1, 1e-6 * (i + 1), 1e-6 * (i + 1)};
    assert_int_equal(ti_fit(p, 20, 2, 8, s, &n, &err), TI_OK); /* one size is below it */
    assert_int_equal(n, 2);
    assert_true(s[1].from == 2 && s[0].points == 1);
    assert_int_equal(ti_fit(p, 20, 0, 8, s, &n, &err), TI_OK); /* a line is one segment */
    assert_int_equal(n, 1);
    assert_int_equal(ti_fit(p, 20, 7, 1, s, &n, &err), TI_ERR_INPUT);
}

static void odd_points_are_fitted_or_refused(void **state)
{
    struct ti_fit_point one = {100, 3e-6, 3e-6}, many[10];
    struct ti_segment s[TI_FIT_SEGMENTS_MAX];
    int n = 0;

    (void)state;
    assert_int_equal(ti_fit(&one, 1, 0, 4, s, &n, &err), TI_OK);
    assert_int_equal(n, 1);
    assert_true(ti_fit_at(s, n, 5) == 3e-6 && s[0].max_error < 1e-9);
    for (int i = 0; i < 10; i++)
        many[i] = (struct ti_fit_point){1 << i, 2e-6, 2e-6}; /* constant */
    assert_int_equal(ti_fit(many, 10, 0, 4, s, &n, &err), TI_OK);
    assert_int_equal(n, 1);
    assert_true(fabs(s[0].startup - 2e-6) < 1e-12 && s[0].per_byte < 1e-15);
    for (int i = 0; i < 10; i++)
        many[i].seconds = 1e-5 - 1e-8 * many[i].size; /* falls: no cost may */
    assert_int_equal(ti_fit(many, 10, 0, 1, s, &n, &err), TI_OK);
    assert_true(s[0].per_byte == 0 && s[0].startup > 0);
    assert_int_equal(ti_fit(many, 0, 0, 4, s, &n, &err), TI_ERR_INPUT);
    many[3].seconds = NAN;
    assert_int_equal(ti_fit(many, 10, 0, 4, s, &n, &err), TI_ERR_INPUT);
    many[3] = (struct ti_fit_point){1, 1, 0};
    assert_int_equal(ti_fit(many, 10, 0, 4, s, &n, &err), TI_ERR_INPUT);
}

/* --------------------------------------------------------------- samples -- */

static ti_status read_samples(const char *text, struct ti_samples *s)
{
    FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    ti_status st;

    assert_non_null(f);
    err = (struct ti_err){"", ""};
    st = ti_samples_read(f, s, &err);
    fclose(f);
    return st;
}

static void samples_become_medians(void **state)
{
    struct ti_samples s;

    (void)state;
    assert_int_equal(read_samples("some words of MPI's\n"
                                  "eager 64\nhalf 8 3e-6\nsend 8 1e-6\nhalf 8 9e-6\n"
                                  "half 4 1e-6\nhalf 8 4e-6\nrate 1000 1e-6\nend\n",
                                  &s),
                     TI_OK);
    assert_int_equal(s.eager, 64);
    assert_int_equal(s.n[TI_SAMPLE_HALF_TRIP], 2);
    assert_int_equal(s.n[TI_SAMPLE_RECV], 0);
    assert_true(s.timed[TI_SAMPLE_HALF_TRIP][0].size == 4 &&
                s.timed[TI_SAMPLE_HALF_TRIP][1].size == 8);
    assert_true(s.timed[TI_SAMPLE_HALF_TRIP][1].seconds.median == 4e-6 &&
                s.timed[TI_SAMPLE_HALF_TRIP][1].seconds.n == 3);
    assert_false(ti_spread_known(&s.timed[TI_SAMPLE_RATE][0].seconds));
    ti_samples_free(&s);
}

static void malformed_samples_are_refused(void **state)
{
    static const char *const wrong[] = {
        "half 8 nan\nend\n",    "half 8 -1\nend\n",  "half 8\nend\n",   "half x 1\nend\n",
        "half 8 1e-6 3\nend\n", "half 8 inf\nend\n", "eager -1\nend\n", "eager\nend\n",
        "half 8 0\nend\n",      "half 0x8 1\nend\n",
    };
    struct ti_samples s;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_samples(wrong[i], &s), TI_ERR_INPUT);
        assert_non_null(strstr(err.text, "line 1 "));
        ti_samples_free(&s);
    }
    assert_int_equal(read_samples("half 8 1e-6\n", &s), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "cut off"));
    ti_samples_free(&s);
}

/* Times of SMPI's own formula, for sizes around an eager limit of 1024 bytes. */
static char *samples_of_formula(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    assert_non_null(f);
    fprintf(f, "eager 1024\n");
    for (int i = 0; i < 30; i++) {
        double size = size_at(i), wire = size + 16;

        fprintf(f, "isend %.0f 2e-7\n", size);
        if (size <= 1024)
            fprintf(f, "send %.0f %.9g\nrecv %.0f %.9g\nhalf %.0f %.9g\n", size,
                    1e-7 + 1e-10 * size, size, 2e-7 + 2e-10 * size, size,
                    1e-6 + 1e-9 * wire + 3e-7 + 3e-10 * size);
        else
            fprintf(f, "half %.0f %.9g\n", size, 5e-6 + 0.5e-9 * wire);
    }
    fprintf(f, "end\n");
    fclose(f);
    return text;
}

static void the_model_is_found_and_told_as_simgrid_reads_it(void **state)
{
    struct ti_samples s;
    struct ti_calibration c;
    struct ti_network *n = malloc(sizeof *n);
    char *text = samples_of_formula();
    double lat[2], bw[2];
    int at;

    (void)state;
    assert_non_null(n);
    assert_int_equal(read_samples(text, &s), TI_OK);
    assert_int_equal(ti_network_fit(&s, 8, n, &err), TI_OK);
    assert_false(n->cut);
    assert_true(n->max_error < 1e-6);
    ti_calibration_init(&c);
    assert_int_equal(ti_network_calibration(n, s.eager, &c, &err), TI_OK);
    assert_int_equal(c.network.eager, 1024);
    assert_true(ti_factors_check(c.network.os, 2) && ti_factors_check(c.network.or, 2));
    assert_string_equal(c.network.ois, "0:2e-07:0;1024:2e-07:0");
    /* the ranges are of what is sent, with SMPI's 16 bytes; SimGrid's begin above the size */
    assert_int_equal(sscanf(c.network.latency_factor, "0:%lf;1040:%lf%n", &lat[0], &lat[1], &at),
                     2);
    assert_int_equal(c.network.latency_factor[at], '\0');
    assert_int_equal(sscanf(c.network.bandwidth_factor, "0:%lf;1040:%lf", &bw[0], &bw[1]), 2);
    assert_true(fabs(lat[0] * c.network.latency / 1e-6 - 1) < 1e-3);
    assert_true(fabs(lat[1] * c.network.latency / 5e-6 - 1) < 1e-3);
    assert_true(fabs(bw[0] * c.network.bandwidth / 1e9 - 1) < 1e-3);
    assert_true(fabs(bw[1] * c.network.bandwidth / 2e9 - 1) < 1e-3);
    ti_calibration_free(&c);
    ti_samples_free(&s);
    assert_int_equal(read_samples("eager 3\nsend 1 1e-6\nend\n", &s), TI_OK);
    assert_int_equal(ti_network_fit(&s, 8, n, &err), TI_ERR_INPUT);
    ti_samples_free(&s);
    free(text);
    free(n);
}

/* ----------------------------------------------------------------- files -- */

static ti_status read_file(const char *text, struct ti_calibration *c, char **more)
{
    char path[64];
    int fd = memfd_create("calibration", 0);
    ti_status st;

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = (struct ti_err){"", ""};
    st = ti_calibration_read(path, c, more, &err);
    close(fd);
    return st;
}

static void what_is_written_is_read(void **state)
{
    struct ti_calibration c, d;
    char path[] = "/tmp/t-calibration-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    ti_calibration_init(&c);
    c.calibration.cpu = strdup("A # B ;C\nD");
    c.host.speed = 2.5e9;
    c.host.deviation = 0;
    c.network.eager = 0;
    c.network.latency = 1.25e-7;
    c.network.os = strdup("0:1e-06:0;1023:2e-06:1.5e-10");
    c.host.speeds = strdup("1:3e+09;2:2.5e+09");
    assert_int_equal(ti_calibration_write(path, &c, "two\nlines", &err), TI_OK);
    assert_int_equal(ti_calibration_read(path, &d, NULL, &err), TI_OK);
    assert_string_equal(d.calibration.cpu, "A ? B ?C?D");
    assert_string_equal(d.network.os, c.network.os);
    assert_string_equal(d.host.speeds, c.host.speeds);
    assert_true(d.network.copy == -1 && !d.network.shared);
    assert_true(d.host.speed == 2.5e9 && d.host.deviation == 0 && d.network.latency == 1.25e-7);
    assert_true(d.network.eager == 0 && d.host.folding == -1 && d.network.bandwidth == -1);
    assert_null(d.network.or);
    ti_calibration_free(&c);
    ti_calibration_free(&d);
    unlink(path);
    assert_int_equal(ti_calibration_write("/nowhere/x", &d, "", &err), TI_ERR_IO);
}

static void malformed_files_are_refused_by_line(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"[host]\nspeed = fast\n", ":2:9: speed is a number"},
        {"[host]\nspeed = 0\n", "above 0"},
        {"[host]\nspeed = 1G\nspeed = 2G\n", ":3:1: 'speed' was given before, in line 2"},
        {"[host]\nspeed =\n", ":2:1: 'speed' has no value"},
        {"[host]\nos = 0:1:1\n", ":2:1: [host] has no key 'os'"},
        {"[hots]\nspeed = 1\n", ":1:"},
        {"[host a]\nspeed = 1\n", "takes no name"},
        {"[host]\nspeed = 1\n[host]\n", ":3:1: '[host]' was there before, in line 1"},
        {"[network]\nos = 0:1\n", ":2:6: os is SIZE:STARTUP:PERBYTE"},
        {"[network]\nos = 5:1:1;5:1:1\n", ":2:6: os is"},
        {"[network]\nos = 0:1:1;\n", ":2:6: os is"},
        {"[network]\nos = 0:nan:1\n", ":2:6: os is"},
        {"[network]\nos = 0:1:-1\n", ":2:6: os is"},
        {"[network]\nos = 3000000000:1:1\n", ":2:6: os is"},
        {"[network]\nlatency_factor = 0:1:1\n", "SIZE:FACTOR"},
        {"[network]\nbandwidth_factor = 0:1;5:0\n", "bandwidth_factor must be above 0"},
        {"[network]\nshared = 0:1e9\n", ":2:10: shared is RANKS:VALUE"},
        {"[host]\nspeeds = 1:1e9;2:0\n", ":2:10: speeds is RANKS:VALUE"},
        {"[network]\neager = 1.5\n", ":2:9: eager is a whole number"},
        {"", "neither"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ti_calibration c;

        if (read_file(wrong[i].text, &c, NULL) != TI_ERR_INPUT || !strstr(err.text, wrong[i].says))
            fail_msg("%s: '%s', not '%s'", wrong[i].text, err.text, wrong[i].says);
        ti_calibration_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_found),
        cmocka_unit_test(a_segment_begins_at_the_cut),
        cmocka_unit_test(odd_points_are_fitted_or_refused),
        cmocka_unit_test(samples_become_medians),
        cmocka_unit_test(malformed_samples_are_refused),
        cmocka_unit_test(the_model_is_found_and_told_as_simgrid_reads_it),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(malformed_files_are_refused_by_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
