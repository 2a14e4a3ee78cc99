/*
 * Convergence: whether the trips of a loop take the same time on all ranks, and how long they take.
 *
 * Each rank notes the simulated time at which each trip begins.  Windows of one or several trips
 * are compared, so a pattern that repeats after several trips is found, too.
 *
 * Trips with equal work differ only by a transient.  Where times only add up and ranks only wait
 * for each other, it ends after finitely many trips, and ranks that are not held up by the slowest
 * ones yet show it by other times.  Where ranks also share bandwidth, it fades.  Its rest is
 * bounded under the assumption that it shrinks by 5 % or more from window to window.  Then `k`
 * windows that differ by at most `d` are followed by a drift of at most d / (1 - 0.95^(k - 1)). Two
 * windows bound it to 20 d, 15 windows to 2 d: exact trips are recognized after two windows, others
 * take longer.
 *
 * A simulation adds two errors of its own.  Its clock is rounded, which may last for some trips: a
 * random walk.  And events that are simultaneous but for rounding may change their order after any
 * number of equal trips, and with it who gets a link first.  The time of a trip was seen to change
 * by 0.002 % then; 0.005 % are added to each bound.
 *
 * Trips with different work have a mean, with a confidence interval from the means of batches.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_CONVERGE_H
#define TI_REPLAY_BRIDGE_REPLAYER_CONVERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times at which trips of a rank began, in seconds; the last one is the latest. */
struct ti_trip_times {
    const double *at;
    size_t n;
};

struct ti_trip_time {
    size_t window;  /* trips after which the times repeat; of a mean: trips that it is of */
    double seconds; /* of `window` trips */
    double error_s; /* bound of its error; of a mean: half of a confidence interval of 95 % */
};

/* Whether the times of trips with equal work have converged, so that `error_s` is at most `error`
 * (a share) of `seconds`.  Rounding changes the time of a trip by `rounding_s` seconds.  *out is
 * set in any case if there are three times of each rank. */
bool ti_trips_converged(const struct ti_trip_times *rank, size_t nranks, double error,
                        double rounding_s, struct ti_trip_time *out);

/* The same for trips with different work.  It takes at least 17 times of each rank. */
bool ti_trips_have_mean(const struct ti_trip_times *rank, size_t nranks, double error,
                        struct ti_trip_time *out);

#endif
