#include "extrapolate/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRIED_MOST 4 /* grids of the target that are named */

struct search {
    const struct ti_inputs *in;
    int64_t np;
    struct ti_models *models;
    bool found, has_dims;
    struct ti_models_told told;
    int64_t tried[TRIED_MOST][TI_AXES]; /* grids of the target without models */
    int ntried;
};

/* Whether two grids divide all runs alike: they only tell other cells. */
static bool divide_alike(const struct ti_grid *a, const struct ti_grid *b, int inputs)
{
    return a->axes == b->axes && memcmp(a->p, b->p, sizeof a->p[0] * (size_t)(inputs + 1)) == 0;
}

/* Note a grid of the target, unless it is there. */
static void note_tried(struct search *s, const struct ti_grid *g)
{
    int64_t p[TI_AXES] = {0};

    memcpy(p, g->p[s->in->n], sizeof p[0] * (size_t)g->axes);
    for (int i = 0; i < s->ntried; i++)
        if (memcmp(s->tried[i], p, sizeof p) == 0)
            return;
    if (s->ntried < TRIED_MOST)
        memcpy(s->tried[s->ntried++], p, sizeof p);
}

/* Whether a grid of three axes or more has one that all runs divide alike: so it has fewer axes, of
 * which one is split. */
static bool is_split(const struct ti_grid *g, int inputs)
{
    for (int axis = 0; axis < g->axes && g->axes > 2; axis++) {
        int i = 0;

        while (i < inputs && g->p[i][axis] == g->p[inputs][axis])
            i++;
        if (i == inputs)
            return true;
    }
    return false;
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
    if (s->told.how >= TI_SAYS_TOO_FEW && !s->has_dims && is_split(g, s->in->n))
        return false; /* a grid with fewer axes may be right */
    s->found = ti_models_find(s->in, g, s->np, s->models, &s->told);
    if (!s->found) {
        ti_models_free(s->models);
        note_tried(s, g);
    }
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

/* No grid has models: the reason of one of them, and what would help. */
static ti_status refuse_told(const struct search *s, struct ti_err *err)
{
    char is[80], others[TRIED_MOST * 80] = "";
    size_t at = 0;

    for (int i = 0; i < s->ntried && at < sizeof others; i++)
        if (memcmp(s->tried[i], s->told.p, sizeof s->told.p) != 0)
            at += (size_t)snprintf(others + at, sizeof others - at, "%s%s", at ? ", " : "",
                                   parts_text(s->tried[i], is, sizeof is));
    ti_err_set(err, TI_ERR_INPUT,
               "%" PRId64 " ranks cannot be extrapolated: in a grid of %s, %.900s", s->np,
               parts_text(s->told.p, is, sizeof is), s->told.why);
    if (at)
        ti_err_hint(err, "%s%s--dims says what the grid is; no rules were found for %s either",
                    s->told.hint, s->told.hint[0] ? "; " : "", others);
    else if (s->told.hint[0])
        ti_err_hint(err, "%s", s->told.hint);
    return TI_ERR_INPUT;
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
    if (s.told.why[0])
        return refuse_told(&s, err);
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
