#include "extrapolate/search.h"

#include <inttypes.h>
#include <stdio.h>

const char *ti_grid_text(const struct ti_grid *g, int input, char *buf, size_t room)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < g->axes && at < room; i++)
        at += (size_t)snprintf(buf + at, room - at, "%s%" PRId64, i ? " x " : "", g->p[input][i]);
    return buf;
}

ti_status ti_extrapolation_find(const struct ti_inputs *in, int64_t np, const int64_t *dims,
                                struct ti_extrapolation *out, struct ti_err *err)
{
    struct ti_models_told told;

    *out = (struct ti_extrapolation){.found = false};
    out->found = ti_extrapolate(in, np, dims, &out->used, &out->models, &told);
    if (out->found)
        return TI_OK;
    if (told.why[0])
        ti_err_set(err, TI_ERR_INPUT, "%" PRId64 " ranks cannot be extrapolated: %.900s", np,
                   told.why);
    else
        ti_err_set(err, TI_ERR_INPUT,
                   "%" PRId64 " ranks cannot be extrapolated: no grid of 1 to %d axes tells which "
                   "ranks of the inputs do what, and has so many ranks",
                   np, TI_AXES);
    if (told.hint[0])
        ti_err_hint(err, "%s", told.hint);
    else if (!told.why[0])
        ti_err_hint(err, "numbers of ranks that divide into grids alike, such as squares, fit "
                         "best; --dims says what the grid of the new run is");
    return TI_ERR_INPUT;
}

void ti_extrapolation_free(struct ti_extrapolation *s)
{
    if (!s->found)
        return;
    ti_models_free(&s->models);
    ti_inputs_unselect(&s->used);
    s->found = false;
}
