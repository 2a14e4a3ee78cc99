#include "extrapolate/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "event/symbol.h"
#include "extrapolate/decide.h"
#include "extrapolate/fit.h"
#include "extrapolate/values.h"

#define VOLUME_MOST 0x1p62  /* volumes are below that */
#define TRIPS_MOST  1048576 /* of an unrolled loop, whose calls are written one by one */

/* ----------------------------------------------------------------------- rules -- */

/* Where a number is: "rank 3 of 16 ranks, lu+0x3516, field bytes". */
static size_t put_where(const struct fitting *f, uint32_t class, size_t slot, char *buf,
                        size_t room)
{
    static const char *const kinds[] = {
#define KIND_TEXT(name, text) text,
        TI_NUMBERS(KIND_TEXT)};
    const struct ti_class *c = &f->m->in->class[class];
    const struct ti_number *n = &c->slot[slot].is;
    const char *site = ti_slot_site(c, slot);
    int bytes = snprintf(buf, room, "rank %" PRId64 " of %" PRId64 " ranks, %s%s%s%s%s", c->rank,
                         f->m->in->input[c->input].np, site, *site ? ", " : "", kinds[n->kind],
                         n->kind == TI_NUMBER_FIELD ? " " : "",
                         n->kind == TI_NUMBER_FIELD ? ti_field_text(n->field) : "");

    return bytes < 0 ? 0 : (size_t)bytes < room ? (size_t)bytes : room - 1;
}

/* Whether a reason is worth more than the one before. */
static bool tells_more(const struct fitting *f, enum ti_says how)
{
    const struct ti_models_told *told = f->told;
    int axes = 0;

    while (axes < TI_AXES && told->p[axes])
        axes++;
    if (!told->why[0])
        return true;
    if (told->how > TI_SAYS_NOTHING_FITS && f->m->grid.axes > axes)
        return false;
    return f->found > told->found || (f->found == told->found && how > told->how);
}

static void set_reason(struct fitting *f, enum ti_says how)
{
    struct ti_models_told *told = f->told;

    told->found = f->found;
    told->how = how;
    told->hint[0] = '\0';
    memset(told->p, 0, sizeof told->p);
    for (int axis = 0; axis < f->m->grid.axes; axis++)
        told->p[axis] = f->m->grid.p[f->m->in->n][axis];
}

/* Note why a number has no rule. */
static void note(struct fitting *f, uint32_t class, size_t slot, enum ti_rule_found found,
                 const struct ti_rule *rule, size_t where)
{
    struct ti_models_told *told = f->told;
    char a[200], b[200];
    static const enum ti_says says[] = {[TI_FOUND_NONE] = TI_SAYS_NOTHING_FITS,
                                        [TI_FOUND_TOO_FEW] = TI_SAYS_TOO_FEW,
                                        [TI_FOUND_RIVALS] = TI_SAYS_RIVALS,
                                        [TI_FOUND_NO_CELLS] = TI_SAYS_WHY,
                                        [TI_FOUND_ONE_SHAPE] = TI_SAYS_WHY};
    int64_t np = 0;
    size_t at;

    if (!told || f->inputs != UINT32_MAX || !tells_more(f, says[found]))
        return;
    set_reason(f, says[found]);
    at = put_where(f, class, slot, told->why, sizeof told->why);
    if (found == TI_FOUND_NO_CELLS) {
        snprintf(told->why + at, sizeof told->why - at,
                 ": '%s' fits, and leaves parts of the new run without cells",
                 ti_rule_text(&rule[0], a, sizeof a));
    } else if (found == TI_FOUND_ONE_SHAPE) {
        const int axis = rule[0].axis;
        const int64_t was = f->value[0].at.p[axis], is = f->spot[where].p[axis];

        snprintf(told->why + at, sizeof told->why - at,
                 ": p%c is %" PRId64 " in all inputs that have such ranks, and %" PRId64
                 " in the new run",
                 "xyzw"[axis], was, is);
        np = ti_decides_parts(f->m, class, axis, was);
    } else if (found == TI_FOUND_RIVALS) {
        snprintf(told->why + at, sizeof told->why - at,
                 ": both '%s' and '%s' fit, and differ at rank %" PRId64 " of %" PRId64,
                 ti_rule_text(&rule[0], a, sizeof a), ti_rule_text(&rule[1], b, sizeof b),
                 f->spot[where].rank, f->m->np);
        np = ti_decides_rules(f->m, class, rule);
    } else if (found == TI_FOUND_TOO_FEW) {
        snprintf(told->why + at, sizeof told->why - at,
                 ": the inputs are too few to find and confirm what fits");
        np = ti_decides_terms(f->m, class, &rule[0], f->value, f->nvalues);
    } else {
        snprintf(told->why + at, sizeof told->why - at, ": nothing known fits all inputs");
    }
    if (np)
        snprintf(told->hint, sizeof told->hint, "a trace of %" PRId64 " ranks would decide", np);
}

static bool find_rules(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                       struct ti_model *model)
{
    int rules = model->kind == TI_MODEL_PLACE ? f->m->grid.axes : 1;

    for (int axis = 0; axis < rules; axis++) {
        struct ti_rule rule[2];
        enum ti_rule_found found;
        size_t where = 0;

        if (!ti__take_values(f, class, slot, cell, trip, model, axis))
            return false;
        found = ti__find_rule(f, class, slot, true, rule, &where);
        f->no_cells |= found == TI_FOUND_NO_CELLS;
        f->rivals |= found == TI_FOUND_RIVALS && cell < 0 && trip == ALL_TRIPS;
        if (found != TI_FOUND_RULE) {
            note(f, class, slot, found, rule, where);
            return false;
        }
        model->rule[axis] = rule[0];
    }
    return true;
}

/* Find a model of the values of a cell and trip, or of all. */
static bool find_model(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                       struct ti_model *out)
{
    const struct ti_number *n = &f->m->in->class[class].slot[slot].is;

    ti__take_spots(f, class, slot, cell, trip);
    *out = (struct ti_model){.kind = TI_MODEL_NONE};
    if (!f->nspots)
        return true;
    out->kind = TI_MODEL_NUMBER;
    if (find_rules(f, class, slot, cell, trip, out))
        return true;
    if (!ti__is_partner(n))
        return false;
    out->kind = TI_MODEL_PLACE;
    if (find_rules(f, class, slot, cell, trip, out))
        return true;
    out->kind = TI_MODEL_SHIFTED;
    for (out->axis = 0; out->axis < f->m->grid.axes; out->axis++)
        if (find_rules(f, class, slot, cell, trip, out))
            return true;
    return false;
}

/* Inputs whose number of ranks is the target's divided by a power of 4. */
static uint32_t similar_inputs(const struct ti_models *m)
{
    uint32_t similar = 0;

    for (int i = 0; i < m->in->n; i++) {
        int64_t np = m->in->input[i].np;

        while (np < m->np)
            np *= 4;
        similar |= (uint32_t)(np == m->np) << i;
    }
    return similar;
}

static const struct ti_model plain = {.kind = TI_MODEL_NUMBER};

static bool fit_values(const struct fitting *f, struct ti_fit *fit, struct ti_fit *rival)
{
    const struct ti_fit_samples s = {f->m, f->value, f->nvalues, f->spot, f->nspots};

    return ti_fit_find(&s, fit, rival);
}

/* Fit the values of the inputs that are looked at. */
static bool fit_inputs(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                       struct ti_fit *fit, struct ti_fit *rival)
{
    return ti__take_values(f, class, slot, cell, trip, &plain, 0) && fit_values(f, fit, rival);
}

/* Fit the values of all classes at a call site: of a kind of ranks that one input has, or that has
 * one number of parts of an axis, these tell more.  `error` is the most that is taken. */
static bool fit_classes(struct fitting *f, uint32_t class, size_t slot, double error,
                        struct ti_fit *fit, struct ti_fit *rival)
{
    size_t where;

    return ti__take_alike(f, class, slot, false, &plain) && fit_values(f, fit, rival) &&
           fit->error <= error && ti__steady_axis(f, &where) < 0;
}

/* Whether grids have two shapes in turn, as where all numbers of ranks are powers of two. */
static bool has_two_shapes(const struct ti_models *m)
{
    int64_t odd = m->np & (m->np - 1);

    for (int i = 0; i < m->in->n; i++)
        odd |= m->in->input[i].np & (m->in->input[i].np - 1);
    return !odd && m->grid.axes > 1;
}

/* Fit all inputs; or, unless these confirm it, those with a grid of the target's shape. */
static bool find_fit(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                     struct ti_model *out)
{
    struct ti_fit fit, rival, all, of_all;
    bool found, steady;
    size_t where;

    ti__take_spots(f, class, slot, cell, trip);
    *out = (struct ti_model){.kind = TI_MODEL_NONE};
    if (!f->nspots)
        return true;
    found = fit_inputs(f, class, slot, cell, trip, &fit, &rival);
    if (found &&
        ti__steady_axis(f, &where) >= 0) /* the cell does not tell what follows that axis */
        found = fit_inputs(f, class, slot, -1, trip, &fit, &rival);
    steady = found && ti__steady_axis(f, &where) >= 0;
    if (has_two_shapes(f->m) && !(found && fit.error <= TI_FIT_EXACT)) {
        struct ti_fit some, other;

        f->inputs = similar_inputs(f->m);
        if (fit_inputs(f, class, slot, cell, trip, &some, &other)) {
            fit = some;
            rival = other;
            found = true;
            steady = ti__steady_axis(f, &where) >= 0;
        }
        f->inputs = UINT32_MAX;
    }
    if ((!found || steady) &&
        fit_classes(f, class, slot, found ? TI_FIT_WIDE : INFINITY, &all, &of_all)) {
        fit = all;
        rival = of_all;
        found = true;
        steady = false;
    }
    if (found && steady) { /* nothing is known of other parts of it */
        fit.low = 0;
        fit.high = 2;
    }
    if (!found) {
        note(f, class, slot, TI_FOUND_NONE, NULL, 0);
        return false;
    }
    if (fit.low < 1 - TI_FIT_WIDE || fit.high > 1 + TI_FIT_WIDE) {
        fit.decides = ti_decides_fits(f->m, class, cell, &fit, &rival, TI_FIT_WIDE);
        fit.decides = fit.decides ? fit.decides : ti_decides_any(f->m, false);
    }
    *out = (struct ti_model){.kind = TI_MODEL_FIT, .fit = fit};
    return true;
}

/* ----------------------------------------------------------------------- slots -- */

typedef bool find_fn(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                     struct ti_model *out);

/* How to tell trips of a slot's unrolled loop apart: their number, if all inputs and the target
 * have as many, else TI_FIRST_TRIP; 0 outside of one. */
static int64_t trips_of(struct fitting *f, uint32_t class, size_t slot)
{
    const struct ti_slot *s = &f->m->in->class[class].slot[slot];
    int64_t trips = 0, times;

    if (s->times < 0)
        return 0;
    for (size_t k = 0; k < f->nknown; k++)
        if (f->known[k].class == class) {
            times = ti_slot_times(s, f->known[k].rank);
            if (trips && times != trips)
                return TI_FIRST_TRIP;
            trips = times;
        }
    for (size_t k = 0; k < f->nasked; k++)
        if (f->asked[k].class == class &&
            (!ti_model_value(f->m, class, (size_t)s->times, &f->asked[k].at, &times) ||
             times != trips))
            return TI_FIRST_TRIP;
    return trips;
}

int64_t ti_models_each(const struct ti_slot_models *m)
{
    return m->trips == TI_FIRST_TRIP ? 2 : m->trips ? m->trips : 1;
}

static bool by_parts(struct fitting *f, uint32_t class, size_t slot, bool by_cell, int64_t trips,
                     find_fn *find)
{
    struct ti_slot_models *m = &f->m->slot[class][slot];
    int64_t cells = by_cell ? ti_grid_cells(&f->m->grid) : 1, each;
    size_t cap = 0;

    free(m->model);
    *m = (struct ti_slot_models){by_cell, trips, NULL};
    each = ti_models_each(m);
    m->model = ti_grow(NULL, &cap, (size_t)(cells * each), sizeof *m->model);
    for (int64_t cell = 0; cell < cells; cell++)
        for (int64_t t = 0; t < each && (!by_cell || f->m->grid.class[cell] == (int32_t) class);
             t++)
            if (!find(f, class, slot, by_cell ? cell : -1,
                      !trips                        ? ALL_TRIPS
                      : trips == TI_FIRST_TRIP && t ? BUT_FIRST
                                                    : t,
                      &m->model[cell * each + t]))
                return false;
    return true;
}

/* Find models of a slot: for all places together; else in parts. */
static bool find_rules_of(struct fitting *f, uint32_t class, size_t slot, int64_t trips)
{
    return by_parts(f, class, slot, false, 0, find_model) ||
           (trips && by_parts(f, class, slot, false, trips, find_model)) ||
           by_parts(f, class, slot, true, 0, find_model) ||
           (trips && by_parts(f, class, slot, true, trips, find_model));
}

static bool find_slot(struct fitting *f, uint32_t class, size_t slot)
{
    int64_t trips = trips_of(f, class, slot);
    bool found;

    f->no_cells = f->rivals = false;
    if (find_rules_of(f, class, slot, trips))
        return true;
    if (f->m->in->class[class].slot[slot].is.kind == TI_NUMBER_VOLUME)
        return by_parts(f, class, slot, true, trips, find_fit) ||
               by_parts(f, class, slot, false, 0, ti__find_joint);
    if (by_parts(f, class, slot, false, 0, ti__find_joint) ||
        (trips && by_parts(f, class, slot, false, trips, ti__find_joint)))
        return true;
    f->inputs = f->no_cells || f->m->grid.axes < 2 ? 0 : similar_inputs(f->m);
    found = f->inputs && find_rules_of(f, class, slot, trips);
    f->inputs = UINT32_MAX;
    return found;
}

const struct ti_model *ti_model_at(const struct ti_models *m, uint32_t class, size_t slot,
                                   const struct ti_spot *at)
{
    const struct ti_slot_models *s = &m->slot[class][slot];
    int64_t each = ti_models_each(s), cell = s->by_cell ? ti_grid_cell(&m->grid, at) : 0;
    int64_t t = !s->trips ? 0 : s->trips == TI_FIRST_TRIP ? at->t > 0 : at->t;

    return &s->model[cell * each + t];
}

bool ti_model_value(const struct ti_models *m, uint32_t class, size_t slot,
                    const struct ti_spot *at, int64_t *out)
{
    const struct ti_model *model = ti_model_at(m, class, slot, at);
    struct ti_spot here = *at;
    int64_t stride = 1, sum = 0;
    double fitted;

    here.t = m->slot[class][slot].trips > 0 ? 0 : at->t;
    switch (model->kind) {
    case TI_MODEL_NONE:
        return false;
    case TI_MODEL_NUMBER:
        return ti_rule_value(&model->rule[0], &here, out) &&
               (m->in->class[class].slot[slot].is.kind != TI_NUMBER_TIMES || *out <= TRIPS_MOST);
    case TI_MODEL_SHIFTED:
        if (!ti_rule_value(&model->rule[0], &here, out))
            return false;
        *out -= at->x[model->axis];
        return true;
    case TI_MODEL_PLACE:
        for (int i = 0; i < at->axes; stride *= at->p[i++]) {
            int64_t x;

            if (!ti_rule_value(&model->rule[i], &here, &x) || x < 0 || x >= at->p[i])
                return false;
            sum += x * stride;
        }
        *out = sum - at->rank;
        return true;
    case TI_MODEL_FIT:
        fitted = fmax(0, ti_fit_value(m, &model->fit, &here));
        if (!(fitted < VOLUME_MOST))
            return false;
        *out = llround(fitted);
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------------- all -- */

static void note_block(struct ti_models *m, int axis, enum ti_deal deal, int64_t cells,
                       int64_t each)
{
    for (int i = 0; i < m->in->n; i++)
        if (cells < m->grid.p[i][axis] && !each) /* a side would have no length */
            return;
    for (int b = 0; b < m->nblocks; b++)
        if (m->block[b].axis == axis)
            return;
    if (m->nblocks < TI_AXES)
        m->block[m->nblocks++] = (struct ti_block_axis){axis, cells, each, deal};
}

/* Blocks that rules of numbers have, for volumes. */
static void note_blocks(struct ti_models *m)
{
    for (size_t c = 0; c < m->in->nclasses; c++)
        for (size_t s = 0; s < m->in->class[c].n; s++) {
            const struct ti_model *model = m->slot[c][s].model;
            const struct ti_rule *rule = model ? &model->rule[0] : NULL;

            if (!model || model->kind != TI_MODEL_NUMBER)
                continue;
            if (rule->kind == TI_RULE_BLOCK)
                note_block(m, rule->axis, rule->deal, rule->cells, ti_rule_each(rule));
            if (rule->kind == TI_RULE_PRODUCT) {
                note_block(m, rule->axis, TI_DEAL_FIRST, rule->cells, 0);
                note_block(m, rule->axis2, TI_DEAL_FIRST, rule->cells2, 0);
            }
        }
}

static bool find_all(struct fitting *f, bool volumes)
{
    for (uint32_t c = 0; c < f->m->in->nclasses; c++)
        for (size_t s = 0; s < f->m->in->class[c].n; s++)
            if ((f->m->in->class[c].slot[s].is.kind == TI_NUMBER_VOLUME) == volumes &&
                !find_slot(f, c, s))
                return false;
            else
                f->found++;
    return true;
}

/* Begin to find models in a grid.  False: the target has a kind of place that no input has. */
static bool begin(struct fitting *f, const struct ti_inputs *in, const struct ti_grid *g,
                  int64_t np)
{
    size_t cap = 0;

    *f->m = (struct ti_models){.in = in, .grid = *g, .np = np};
    f->inputs = UINT32_MAX;
    f->m->slot = ti_grow(NULL, &cap, in->nclasses, sizeof *f->m->slot);
    for (size_t c = 0; c < in->nclasses; c++) {
        cap = 0;
        f->m->slot[c] = ti_grow(NULL, &cap, in->class[c].n, sizeof *f->m->slot[c]);
    }
    ti__find_places(f);
    for (size_t k = 0; k < f->nasked; k++)
        if (g->class[f->asked[k].cell] < 0) {
            if (f->told && tells_more(f, TI_SAYS_NO_PLACE)) {
                set_reason(f, TI_SAYS_NO_PLACE);
                snprintf(f->told->why, sizeof f->told->why,
                         "no input has a rank at a place like rank %zu's", k);
            }
            return false;
        }
    return true;
}

static void end(struct fitting *f)
{
    free(f->known);
    free(f->asked);
    free(f->value);
    free(f->spot);
}

bool ti_models_find(const struct ti_inputs *in, const struct ti_grid *g, int64_t np,
                    struct ti_models *out, struct ti_models_told *told)
{
    struct fitting f = {.m = out, .told = told};
    bool fine = begin(&f, in, g, np) && find_all(&f, false);

    if (fine)
        note_blocks(out);
    fine = fine && find_all(&f, true);
    end(&f);
    return fine;
}

/* ---------------------------------------------------------------------- rivals -- */

/* Whether any rank of the target needs a fit. */
static bool is_fitted(const struct ti_models *m, size_t class, size_t slot)
{
    const struct ti_slot_models *s = &m->slot[class][slot];
    int64_t n = (s->by_cell ? ti_grid_cells(&m->grid) : 1) * ti_models_each(s);

    for (int64_t k = 0; k < n; k++)
        if (s->model[k].kind == TI_MODEL_FIT)
            return true;
    return false;
}

/* Find rules of all that has rules in `like`, but for the communicators that all programs have.
 * *rivals: a number has several, so one of them gives another number than `like` does. */
static bool find_rules_like(struct fitting *f, const struct ti_models *like, bool *rivals)
{
    for (uint32_t c = 0; c < like->in->nclasses; c++)
        for (size_t s = 0; s < like->in->class[c].n; s++) {
            const struct ti_number *n = &like->in->class[c].slot[s].is;
            bool is_volume = n->kind == TI_NUMBER_VOLUME, found;

            if ((is_volume && is_fitted(like, c, s)) ||
                (n->kind >= TI_NUMBER_COMM_RANK && n->of <= 1))
                continue;
            f->rivals = false;
            found = is_volume ? find_rules_of(f, c, s, trips_of(f, c, s)) : find_slot(f, c, s);
            if (!found && !f->rivals)
                return false;
            *rivals |= !found;
        }
    return true;
}

/* Whether models give one rank of the target the same numbers.  *gives becomes false if `b` lacks
 * one. */
static bool agree_at(const struct ti_models *a, const struct ti_spot *x, const struct ti_models *b,
                     const struct ti_spot *y, bool *gives)
{
    uint32_t class = (uint32_t)a->grid.class[ti_grid_cell(&a->grid, x)];
    const struct ti_class *c = &a->in->class[class];

    if (class != (uint32_t)b->grid.class[ti_grid_cell(&b->grid, y)])
        return false;
    for (size_t s = 0; s < c->n; s++) {
        struct ti_spot at = *x, there = *y;
        int64_t times = 1;

        if (!b->slot[class][s].model ||
            (c->slot[s].times >= 0 &&
             !ti_model_value(a, class, (size_t)c->slot[s].times, x, &times)))
            continue;
        for (int64_t t = 0; t < times; t++) {
            int64_t is, other;

            at.t = there.t = t;
            *gives = *gives && ti_model_value(b, class, s, &there, &other);
            if (!*gives || (ti_model_value(a, class, s, &at, &is) && is != other))
                return false;
        }
    }
    return true;
}

bool ti_models_has_rival(const struct ti_models *m, const struct ti_grid *g)
{
    struct ti_models other;
    struct fitting f = {.m = &other};
    bool rivals = false, agree = true;
    bool fine = begin(&f, m->in, g, m->np) && find_rules_like(&f, m, &rivals);

    for (int64_t r = 0; r < m->np && fine && !rivals; r++) {
        struct ti_spot x = ti_grid_spot(&m->grid, m->in->n, m->np, r);
        struct ti_spot y = ti_grid_spot(g, m->in->n, m->np, r);

        agree = agree_at(m, &x, &other, &y, &fine) && agree;
    }
    end(&f);
    ti_models_free(&other);
    return fine && (rivals || !agree);
}

void ti_models_free(struct ti_models *m)
{
    for (size_t c = 0; m->slot && c < m->in->nclasses; c++) {
        for (size_t s = 0; s < m->in->class[c].n; s++)
            free(m->slot[c][s].model);
        free(m->slot[c]);
    }
    free(m->slot);
    *m = (struct ti_models){.np = 0};
}
