/*
 * Fits: volumes that no rule gives, as sums of terms (struct ti_fit).
 */
#ifndef TI_EXTRAPOLATE_FIT_H
#define TI_EXTRAPOLATE_FIT_H

#include "extrapolate/model.h"

/* Fit `n` values at places that are known.  The simplest sum that all inputs confirm is taken; else
 * the one that gives those of the largest input best if it is fitted to the others.  False: none
 * can be fitted. */
bool ti_fit_find(const struct ti_models *m, const struct ti_known *value, size_t n,
                 struct ti_fit *out);

/* The value of a fit at a place. */
double ti_fit_value(const struct ti_models *m, const struct ti_fit *fit, const struct ti_spot *at);

#endif
