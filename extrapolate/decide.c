#include "extrapolate/decide.h"

#include <math.h>
#include <stdlib.h>

#include "common/map.h"
#include "extrapolate/fit.h"

#define ANY_CLASS  UINT32_MAX
#define TIMES_MOST 4 /* a trace of more ranks than so many times the largest input is not named */

/* Places of a run with some number of ranks: those that have the class. */
struct places {
    const struct ti_models *m;
    uint32_t class; /* ANY_CLASS: all */
    int64_t cell;   /* -1: all */
    bool *has;      /* the classes of the target */
    struct ti_spot *at;
    size_t n, cap;
};

typedef bool decides_fn(const struct places *p, const void *arg);

/* Whether a trace of `np` ranks can be one more input.  If all of them have powers of two, the
 * program may need these. */
static bool is_possible(const struct ti_inputs *in, int64_t np)
{
    int64_t odd = 0;

    for (int i = 0; i < in->n; i++)
        odd |= in->input[i].np & (in->input[i].np - 1);
    if (!odd && np & (np - 1))
        return false;
    for (int i = 0; i < in->n; i++)
        if (in->input[i].np == np)
            return false;
    return true;
}

/* Whether an axis has as many parts in an input. */
static bool is_known(const struct ti_models *m, int axis, int64_t parts)
{
    for (int i = 0; i < m->in->n; i++)
        if (m->grid.p[i][axis] == parts)
            return true;
    return false;
}

/* The classes that a grid has ranks of. */
static void take_classes(const struct ti_grid *g, const struct ti_inputs *in, int64_t np, bool *has)
{
    for (int64_t r = 0; r < np; r++) {
        struct ti_spot at = ti_grid_spot(g, in->n, np, r);
        int32_t class = g->class[ti_grid_cell(g, &at)];

        if (class >= 0)
            has[class] = true;
    }
}

/* How much a trace would tell: 2 if it has all kinds of ranks that the target has, and new parts
 * along each axis; 1 if it has all kinds of ranks. */
static int telling(const struct places *p, const struct ti_grid *g, int64_t np)
{
    const struct ti_models *m = p->m;
    size_t cap = 0;
    bool *has = ti_grow(NULL, &cap, m->in->nclasses, sizeof *has), all = true, new = true;

    take_classes(g, m->in, np, has);
    for (size_t c = 0; c < m->in->nclasses; c++)
        all = all && (!p->has[c] || has[c]);
    for (int axis = 0; axis < g->axes; axis++)
        new = new && !is_known(m, axis, g->p[m->in->n][axis]);
    free(has);
    return all ? 1 + new : 0;
}

/* Take the places of `np` ranks; false if their grid does not follow from the inputs, or they tell
 * less than that. */
static bool take_places(struct places *p, int64_t np, int least)
{
    const struct ti_inputs *in = p->m->in;
    struct ti_grid g = p->m->grid;

    if (!is_possible(in, np) || !ti_grid_of(in, &p->m->grid, np, g.p[in->n]) ||
        telling(p, &g, np) < least)
        return false;
    p->n = 0;
    for (int64_t r = 0; r < np; r++) {
        struct ti_spot at = ti_grid_spot(&g, in->n, np, r);
        uint32_t cell = ti_grid_cell(&g, &at);

        if ((p->class != ANY_CLASS && g.class[cell] != (int32_t)p->class) ||
            (p->cell >= 0 && cell != p->cell))
            continue;
        p->at = ti_grow(p->at, &p->cap, p->n + 1, sizeof *p->at);
        p->at[p->n++] = at;
    }
    return true;
}

/* `smaller`: a trace of fewer ranks than all inputs have may do. */
static int64_t find(const struct ti_models *m, uint32_t class, int64_t cell, bool smaller,
                    decides_fn *fn, const void *arg)
{
    struct places p = {.m = m, .class = class, .cell = cell};
    int64_t least = m->in->input[0].np, most = m->in->input[m->in->n - 1].np;
    int64_t far = m->np - 1 < TIMES_MOST * most ? m->np - 1 : TIMES_MOST * most;
    const int64_t from[] = {least + 1, most + 1, 2}, to[] = {most - 1, far, least - 1};
    int64_t found = 0;
    size_t cap = 0;

    p.has = ti_grow(NULL, &cap, m->in->nclasses, sizeof *p.has);
    take_classes(&m->grid, m->in, m->np, p.has);
    for (int tells = 2; tells >= 0 && !found; tells--)
        for (int k = 0; k < 2 + smaller && !found; k++)
            for (int64_t np = from[k]; np <= to[k] && !found; np++)
                if (take_places(&p, np, tells) && fn(&p, arg))
                    found = np;
    free(p.has);
    free(p.at);
    return found;
}

/* ------------------------------------------------------------------ questions -- */

static bool rules_differ(const struct places *p, const void *arg)
{
    const struct ti_rule *rule = arg;

    for (size_t i = 0; i < p->n; i++) {
        int64_t a = 0, b = 0;

        if (ti_rule_value(&rule[0], &p->at[i], &a) && ti_rule_value(&rule[1], &p->at[i], &b) &&
            a != b)
            return true;
    }
    return false;
}

int64_t ti_decides_rules(const struct ti_models *m, uint32_t class, const struct ti_rule rule[2])
{
    return find(m, class, -1, true, rules_differ, rule);
}

struct terms {
    const struct ti_rule *rule;
    const struct ti_known *known;
    size_t n;
};

static bool terms_follow(const struct places *p, const void *arg)
{
    const struct terms *t = arg;

    if (t->rule->kind == TI_RULE_BLOCK) /* the inputs divide the axis alike, or in few ways */
        return p->n && !is_known(p->m, t->rule->axis, p->at[0].p[t->rule->axis]);
    return ti_rule_is_determined(t->rule, t->known, t->n, p->at, p->n);
}

int64_t ti_decides_terms(const struct ti_models *m, uint32_t class, const struct ti_rule *rule,
                         const struct ti_known *known, size_t n)
{
    const struct terms t = {rule, known, n};

    return find(m, class, -1, true, terms_follow, &t);
}

struct fits {
    const struct ti_fit *a, *b;
    double apart;
};

static bool fits_differ(const struct places *p, const void *arg)
{
    const struct fits *f = arg;
    double a = 0, b = 0;

    for (size_t i = 0; i < p->n; i++) {
        a += ti_fit_value(p->m, f->a, &p->at[i]);
        b += ti_fit_value(p->m, f->b, &p->at[i]);
    }
    return fabs(a - b) > f->apart * fabs(a);
}

int64_t ti_decides_fits(const struct ti_models *m, uint32_t class, int64_t cell,
                        const struct ti_fit *a, const struct ti_fit *b, double apart)
{
    const struct fits f = {a, b, apart};

    return find(m, class, cell, false, fits_differ, &f);
}

static bool has_any(const struct places *p, const void *arg)
{
    (void)arg;
    return p->n > 0;
}

int64_t ti_decides_any(const struct ti_models *m, bool smaller)
{
    return find(m, ANY_CLASS, -1, smaller, has_any, NULL);
}

struct parts {
    int axis;
    int64_t n;
};

static bool has_other_parts(const struct places *p, const void *arg)
{
    const struct parts *parts = arg;

    return p->n && p->at[0].p[parts->axis] != parts->n;
}

int64_t ti_decides_parts(const struct ti_models *m, uint32_t class, int axis, int64_t n)
{
    const struct parts parts = {axis, n};

    return find(m, class, -1, true, has_other_parts, &parts);
}
