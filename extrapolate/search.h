/*
 * The search for a grid whose models give all numbers.
 */
#ifndef TI_EXTRAPOLATE_SEARCH_H
#define TI_EXTRAPOLATE_SEARCH_H

#include "extrapolate/model.h"

/* Find the models of `np` ranks in any grid, or in one of `dims` (ti_grids_try()).  TI_ERR_INPUT:
 * there are none, and why; then *out holds nothing, else release it with ti_models_free(). */
ti_status ti_models_search(const struct ti_inputs *in, int64_t np, const int64_t *dims,
                           struct ti_models *out, struct ti_err *err);

/* "16 x 8" into buf, which is returned: the parts of a grid of an input, or of the target. */
const char *ti_grid_text(const struct ti_grid *g, int input, char *buf, size_t room);

#endif
