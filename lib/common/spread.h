/*
 * The spread of repeated figures of one quantity: middle, extremes, and how far the figures differ.
 * All tools that print a spread of runs use these functions.
 */
#ifndef TI_COMMON_SPREAD_H
#define TI_COMMON_SPREAD_H

#include <stdbool.h>

/*
 * Minimum, median and maximum of n figures; n 0: there are none, and all is 0.
 *
 * `half` is half the distance of the quartiles, NAN for fewer than two figures.  Quartiles are
 * interpolated at the positions (n + 1/3) q + 1/3 of the sorted figures, 8 of R. J. Hyndman and
 * Y. Fan, "Sample Quantiles in Statistical Packages", 1996, and are never beyond the extremes.  So
 * `half` hardly depends on n: of normal figures it is 0.56 standard deviations for two, where it is
 * half of their distance, and 0.67 to 0.72 for more.  From seven figures on, a single one that is far
 * off does not change it.
 */
struct ti_spread {
    int n;
    double min, median, max, half;
};

/* The spread of `n` figures; sorts them. */
struct ti_spread ti_spread_of(double *value, int n);

/* Whether two figures or more are there, so that a spread can be told. */
bool ti_spread_known(const struct ti_spread *s);

#endif
