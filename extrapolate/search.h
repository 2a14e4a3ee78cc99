/*
 * Extrapolation, with its error for people.
 */
#ifndef TI_EXTRAPOLATE_SEARCH_H
#define TI_EXTRAPOLATE_SEARCH_H

#include "extrapolate/model.h"

/* The same as ti_extrapolate(), for tools.  TI_ERR_INPUT: there are no models, and why.  Release by
 * _free() in any case; zeroed is fine. */
struct ti_extrapolation {
    struct ti_inputs used;
    struct ti_models models;
    bool found;
};
ti_status ti_extrapolation_find(const struct ti_inputs *in, int64_t np, const int64_t *dims,
                                struct ti_extrapolation *out, struct ti_err *err);
void ti_extrapolation_free(struct ti_extrapolation *s);

/* "16 x 8" into buf, which is returned: the parts of a grid of an input, or of the target. */
const char *ti_grid_text(const struct ti_grid *g, int input, char *buf, size_t room);

#endif
