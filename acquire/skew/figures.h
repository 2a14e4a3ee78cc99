/*
 * How figures of runs are printed, and distributions of the figures of very many bursts.
 */
#ifndef TI_ACQUIRE_SKEW_FIGURES_H
#define TI_ACQUIRE_SKEW_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/spread.h"

/* "+1.23 (+1.10 to +1.50)" into buf, with as many digits as the figures need; returns buf.
 * Without parentheses if all figures are equal, "-" if there are none.  is_signed: print the
 * sign, for differences. */
char *ti_spread_text(const struct ti_spread *s, bool is_signed, char *buf, size_t bytes);

/* A new object with least, median and most; least and most are null if there is one figure only.
 * JSON null if there are no figures. */
json_t *ti_spread_json(const struct ti_spread *s);

/*
 * A distribution of any number of relative deviations, in constant memory: minimum, maximum and 0
 * are exact, other values are within 1.2 % of themselves.
 */
#define TI_DEVIATION_DECADES 18  /* from 1e-9 to 1e9; values beyond count as these */
#define TI_DEVIATION_STEPS   100 /* per decade */
#define TI_DEVIATION_BINS    (TI_DEVIATION_DECADES * TI_DEVIATION_STEPS)

struct ti_deviations {
    uint64_t n, zero;
    double min, max;
    uint64_t bin[2][TI_DEVIATION_BINS]; /* [0]: below 0, [1]: above, by magnitude */
};

/* Add a deviation.  A structure of zeros is an empty distribution. */
void ti_deviations_add(struct ti_deviations *d, double relative);

/* The quantile q, 0 to 1; 0 for an empty distribution. */
double ti_deviations_quantile(const struct ti_deviations *d, double q);

#endif
