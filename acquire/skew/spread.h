/*
 * Figures that vary from run to run, or from burst to burst.
 */
#ifndef TI_SPREAD_H
#define TI_SPREAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Of some figures; n 0: there are none, and the rest is 0. */
struct ti_spread {
    int n;
    double min, median, max;
};

/* Of `n` figures, which are put in order. */
struct ti_spread ti_spread_of(double *value, int n);

/* "+1.23 (+1.10 to +1.50)", or without brackets where there is one figure or no
 * spread, "-" where there is none, into buf; returns buf.  Signed: with the sign that
 * a difference has.  Digits are as many as the figure needs. */
char *ti_spread_text(const struct ti_spread *s, bool is_signed, char *buf, size_t bytes);

/* A new object of least, median and most; JSON's null where there is none. */
json_t *ti_spread_json(const struct ti_spread *s);

/*
 * A distribution of relative deviations of any number, in constant memory: least,
 * most and 0 are exact, anything else is off by at most 1.2 % of itself.
 */
#define TI_DEVIATION_DECADES 18  /* from 1e-9 to 1e9; what is smaller or larger counts as these */
#define TI_DEVIATION_STEPS   100 /* in each */
#define TI_DEVIATION_BINS    (TI_DEVIATION_DECADES * TI_DEVIATION_STEPS)

struct ti_deviations {
    uint64_t n, zero;
    double min, max;
    uint64_t bin[2][TI_DEVIATION_BINS]; /* below and above 0, by size */
};

/* All zero is an empty one. */
void ti_deviations_add(struct ti_deviations *d, double relative);

/* What a share `q` of them, from 0 to 1, does not exceed; 0 for an empty one. */
double ti_deviations_quantile(const struct ti_deviations *d, double q);

#endif
