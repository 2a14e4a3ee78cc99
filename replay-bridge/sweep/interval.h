/*
 * The times of several runs of one replay (--runs): their median, and how well it is known.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_INTERVAL_H
#define TI_REPLAY_BRIDGE_SWEEP_INTERVAL_H

#include <jansson.h>

/*
 * Median and extremes of `n` times in seconds; n 0: there are none, and all is 0.
 *
 * The median of all runs that there could be lies from `low` to `high` with a probability of
 * `confidence`, whatever their distribution is, if runs are independent.  These are the r-th
 * smallest and the r-th largest time, for the largest r whose probability is 0.95 or more: it is
 * 1 - 2 P(X < r), with X of the binomial distribution of n and 1/2.  Fewer than six runs have no
 * such r; `low` and `high` are then the extremes, and `confidence` is less: 0 for one run.
 */
struct ti_interval {
    int n;
    double median, low, high, confidence, min, max;
};

/* Sorts `value`. */
struct ti_interval ti_interval_of(double *value, int n);

/* The same as JSON, a new reference: runs, median_s, interval_s, confidence, min_s, max_s. */
json_t *ti_interval_json(const struct ti_interval *i);

#endif
