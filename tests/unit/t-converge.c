/* When the times of trips have converged, on series of which the limit is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay-bridge/replayer/converge.h"

#define TRIPS 4000

/* Series of two ranks: the time of each trip is given by a function. */
static double at[2][TRIPS + 1];

typedef double trip_fn(int rank, int trip);

static void make(trip_fn *trip)
{
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < TRIPS; i++)
            at[r][i + 1] = at[r][i] + trip(r, i);
}

/* The number of trips after which the times have converged; TRIPS + 1: never. */
static int converged(double error, double rounding_s, struct ti_trip_time *out)
{
    for (int n = 1; n <= TRIPS + 1; n++) {
        struct ti_trip_times rank[2] = {{at[0], (size_t)n}, {at[1], (size_t)n}};

        if (ti_trips_converged(rank, 2, error, rounding_s, out))
            return n - 1;
    }
    return TRIPS + 1;
}

static double equal(int rank, int trip)
{
    (void)rank;
    (void)trip;
    return 0.125;
}

static double two_in_turns(int rank, int trip)
{
    (void)rank;
    return trip % 2 ? 1 : 3;
}

static double four_in_turns(int rank, int trip)
{
    (void)rank;
    return trip % 4 ? 2 + trip % 4 : 7; /* no two pairs are equal */
}

static double fading(int rank, int trip)
{
    return 1 + (rank ? 0.5 : -0.25) * pow(0.8, trip);
}

static double slowly_fading(int rank, int trip)
{
    (void)rank;
    return 1 + 0.5 * pow(0.95, trip);
}

static double one_is_faster(int rank, int trip)
{
    (void)trip;
    return rank ? 1 : 1.002;
}

static double rounded(int rank, int trip)
{
    (void)rank;
    return 1 + (trip / 2 % 3) * 1e-6; /* plateaus of two trips */
}

static double growing(int rank, int trip)
{
    (void)rank;
    return 1 + 0.01 * trip;
}

static double random_burst(int rank, int trip)
{
    static double shared;

    if (!rank || !trip)
        shared = (double)(random() % 1000) / 1000 - 0.5;
    return 1 + 0.1 * shared;
}

static void test_exact(void **state)
{
    struct ti_trip_time time;

    (void)state;
    make(equal);
    assert_int_equal(converged(1e-3, 0, &time), 2);
    assert_int_equal(time.window, 1);
    assert_float_equal(time.seconds, 0.125, 0);
    assert_float_equal(time.error_s, 0.125 * 5e-5, 1e-12);

    make(two_in_turns);
    assert_int_equal(converged(1e-3, 0, &time), 4);
    assert_int_equal(time.window, 2);
    assert_float_equal(time.seconds, 4, 0);

    make(four_in_turns);
    assert_int_equal(converged(1e-3, 0, &time), 8);
    assert_int_equal(time.window, 4);
    assert_float_equal(time.seconds, 19, 0);
}

/* The bound holds for all that follows, however much is left out. */
static void test_transients(void **state)
{
    trip_fn *const list[] = {fading, slowly_fading};
    struct ti_trip_time time;

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int n;

        make(list[i]);
        n = converged(1e-3, 0, &time);
        assert_true(n > 5 && n < TRIPS);
        assert_true(time.error_s <= 1e-3 * time.seconds);
        for (int r = 0; r < 2; r++) {
            double mean = (at[r][TRIPS] - at[r][n]) / (TRIPS - n);

            assert_true(fabs(mean - time.seconds / (double)time.window) <=
                        time.error_s / (double)time.window);
        }
    }
}

static void test_rounding(void **state)
{
    struct ti_trip_time time;

    (void)state;
    make(rounded);
    assert_int_equal(converged(1e-3, 2e-6, &time), 2);
    assert_true(fabs(time.seconds - 1.000001) <= time.error_s);
    assert_true(converged(5.1e-5, 2e-6, &time) > 2); /* it takes more windows then */
    assert_int_equal(converged(4.9e-5, 0, &time), TRIPS + 1);
}

static void test_never(void **state)
{
    struct ti_trip_time time;

    (void)state;
    make(one_is_faster);
    assert_int_equal(converged(1e-3, 0, &time), TRIPS + 1);
    assert_true(time.error_s > 1e-3 * time.seconds);
    assert_int_equal(converged(1e-2, 0, &time), 2);
    make(growing);
    assert_int_equal(converged(1e-4, 0, &time), TRIPS + 1);
}

/* A confidence interval of 95 % may miss the mean, but only now and then. */
static void test_mean(void **state)
{
    int found = 0, missed = 0;

    (void)state;
    srandom(7);
    for (int run = 0; run < 200; run++) {
        struct ti_trip_times rank[2] = {{at[0], 1001}, {at[1], 1001}};
        struct ti_trip_time time;

        make(random_burst);
        for (int i = 0; i <= TRIPS; i++)
            at[1][i] = at[0][i]; /* the ranks wait for each other */
        found += ti_trips_have_mean(rank, 2, 0.01, &time);
        missed += fabs(time.seconds / (double)time.window - 1) > time.error_s / (double)time.window;
        assert_int_equal(time.window, 744);
        rank[0].n = rank[1].n = 16;
        assert_false(ti_trips_have_mean(rank, 2, 0.5, &time));
    }
    assert_int_equal(found, 200);
    assert_true(missed < 20);
    make(growing);
    assert_false(
        ti_trips_have_mean((struct ti_trip_times[]){{at[0], TRIPS + 1}, {at[1], TRIPS + 1}}, 2,
                           0.01, &(struct ti_trip_time){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),    cmocka_unit_test(test_transients),
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_never),
        cmocka_unit_test(test_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
