/*
 * Fits: volumes that no rule gives, as sums of terms (struct ti_fit).
 *
 * A term is 1, the cells of a rank, the length of its part along an axis, the faces of its part,
 * log2(np) or np; where no number of the trace tells how many cells there are, parts are shares of
 * a whole.  Terms and constants are found from all inputs.  How well they do is told by the largest
 * input: the same terms are fitted to the others, and compared with it.
 *
 * Sums that do as well are rivals.  What they give for the target, and by how much the largest
 * input was missed, is the interval of a fit.
 */
#ifndef TI_EXTRAPOLATE_FIT_H
#define TI_EXTRAPOLATE_FIT_H

#include "extrapolate/model.h"

/* Values at places that are known, which are fitted, and the places of the target. */
struct ti_fit_samples {
    const struct ti_models *m;
    const struct ti_known *value;
    size_t nvalues;
    const struct ti_spot *asked;
    size_t nasked;
};

/* Fit them.  The simplest sum that all inputs confirm is taken; else the one that gives those of
 * the largest input best if it is fitted to the others.  *rival is the one that is furthest from it
 * at the target; its basis is that of *out if there is none.  False: none can be fitted. */
bool ti_fit_find(const struct ti_fit_samples *s, struct ti_fit *out, struct ti_fit *rival);

/* The value of a fit at a place. */
double ti_fit_value(const struct ti_models *m, const struct ti_fit *fit, const struct ti_spot *at);

/* The fit in words, such as "471.3 + 2574 * block(33, py, y)", into buf; cut if it does not fit.
 * Returns buf. */
const char *ti_fit_text(const struct ti_models *m, const struct ti_fit *fit, char *buf,
                        size_t room);

#endif
