#include "extrapolate/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct search {
    const struct ti_inputs *in;
    int64_t np;
    struct ti_models *models;
    bool found, has_dims;
    struct ti_models_told told;
};

/* Whether two grids divide all runs alike: they only tell other cells. */
static bool divide_alike(const struct ti_grid *a, const struct ti_grid *b, int inputs)
{
    return a->axes == b->axes && memcmp(a->p, b->p, sizeof a->p[0] * (size_t)(inputs + 1)) == 0;
}

/* Take the first grid that has models, and see whether others do that give other numbers.  Where
 * dimensions are given, the grids of the inputs follow no law, so that there are too many. */
static bool try_grid(void *arg, const struct ti_grid *g)
{
    struct search *s = arg;

    if (s->found) {
        if (divide_alike(&s->models->grid, g, s->in->n) || !ti_models_has_rival(s->models, g))
            return false;
        memcpy(s->models->grid.rival, g->p[s->in->n], sizeof g->p[0]);
        return true;
    }
    s->found = ti_models_find(s->in, g, s->np, s->models, &s->told);
    if (!s->found)
        ti_models_free(s->models);
    return s->found && (s->has_dims || g->rival[0]);
}

/* Write parts as "8 x 16"; those behind the last axis are 0. */
static const char *parts_text(const int64_t *p, char *buf, size_t room)
{
    size_t at = 0;

    buf[0] = '\0';
    for (int i = 0; i < TI_AXES && p[i] && at < room; i++)
        at += (size_t)snprintf(buf + at, room - at, "%s%" PRId64, i ? " x " : "", p[i]);
    return buf;
}

const char *ti_grid_text(const struct ti_grid *g, int input, char *buf, size_t room)
{
    return parts_text(g->p[input], buf, room);
}

/* The inputs do not tell which grid the target has. */
static ti_status refuse_rival(struct ti_models *m, struct ti_err *err)
{
    char is[80], other[80];

    ti_err_set(err, TI_ERR_INPUT,
               "%" PRId64
               " ranks cannot be extrapolated: grids of %s and of %s both continue those "
               "of the inputs",
               m->np, parts_text(m->grid.p[m->in->n], is, sizeof is),
               parts_text(m->grid.rival, other, sizeof other));
    ti_err_hint(err, "--dims says which one the program has, such as --dims 8x16");
    ti_models_free(m);
    return TI_ERR_INPUT;
}

ti_status ti_models_search(const struct ti_inputs *in, int64_t np, const int64_t *dims,
                           struct ti_models *out, struct ti_err *err)
{
    struct search s = {.in = in, .np = np, .models = out, .has_dims = dims != NULL};
    struct ti_differing differing;
    char text[700];

    *out = (struct ti_models){.np = 0};
    ti_grids_try(in, np, dims, try_grid, &s, &differing);
    if (s.found)
        return out->grid.rival[0] ? refuse_rival(out, err) : TI_OK;
    if (s.told.why[0]) {
        ti_err_set(err, TI_ERR_INPUT, "%" PRId64 " ranks cannot be extrapolated: %.900s", np,
                   s.told.why);
        if (s.told.hint[0])
            ti_err_hint(err, "%s", s.told.hint);
        return TI_ERR_INPUT;
    }
    if (differing.rank[0] != differing.rank[1] || differing.input[0] != differing.input[1])
        ti_err_set(err, TI_ERR_INPUT,
                   "%" PRId64 " ranks cannot be extrapolated: no grid of 1 to %d axes tells which "
                   "ranks do what: %s",
                   np, TI_AXES, ti_differing_text(in, &differing, text, sizeof text));
    else
        ti_err_set(err, TI_ERR_INPUT,
                   "%" PRId64 " ranks cannot be extrapolated: no grid of 1 to %d axes that the "
                   "inputs fit has so many ranks",
                   np, TI_AXES);
    ti_err_hint(err, "numbers of ranks that divide into grids alike, such as squares, fit best; "
                     "--dims says what the grid of the new run is");
    return TI_ERR_INPUT;
}
