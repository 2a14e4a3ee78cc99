#include "extrapolate/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/sums.h"
#include "event/symbol.h"
#include "extrapolate/fit.h"
#include "extrapolate/values.h"

/* ----------------------------------------------------------------------- rules -- */

/* The least number of ranks, other than those of the inputs, at which two rules differ; 0: none. */
static int64_t decides(const struct fitting *f, const struct ti_rule rule[2])
{
    const struct ti_inputs *in = f->m->in;
    struct ti_grid g = f->m->grid;

    for (int64_t np = 2; np < f->m->np; np++) {
        if (!ti_grid_of(in, &f->m->grid, np, g.p[in->n]))
            continue;
        for (int64_t r = 0; r < np; r++) {
            struct ti_spot at = ti_grid_spot(&g, in->n, np, r);
            int64_t a = 0, b = 0;

            if (ti_rule_value(&rule[0], &at, &a) && ti_rule_value(&rule[1], &at, &b) && a != b)
                return np;
        }
    }
    return 0;
}

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

/* Note why a number has no rule, unless a grid before went further. */
static void note(struct fitting *f, uint32_t class, size_t slot, enum ti_rule_found found,
                 const struct ti_rule *rule, size_t where)
{
    struct ti_models_told *told = f->told;
    char a[200], b[200];
    size_t at;
    int64_t np;

    if (f->inputs != UINT32_MAX || f->found < told->found ||
        (f->found == told->found && told->rivals && found < TI_FOUND_NO_CELLS))
        return;
    told->found = f->found;
    told->rivals = found == TI_FOUND_RIVALS || found >= TI_FOUND_NO_CELLS;
    told->hint[0] = '\0';
    at = put_where(f, class, slot, told->why, sizeof told->why);
    if (found == TI_FOUND_NO_CELLS) {
        snprintf(told->why + at, sizeof told->why - at,
                 ": '%s' fits, and leaves parts of the new run without cells",
                 ti_rule_text(&rule[0], a, sizeof a));
        return;
    }
    if (found == TI_FOUND_ONE_SHAPE) {
        snprintf(told->why + at, sizeof told->why - at,
                 ": p%c is %" PRId64 " in all inputs that have such ranks, and %" PRId64
                 " in the new run",
                 "xyzw"[rule[0].axis], f -> value[0].at.p[rule[0].axis],
                 f->spot[where].p[rule[0].axis]);
        return;
    }
    if (found != TI_FOUND_RIVALS) {
        snprintf(told->why + at, sizeof told->why - at, ": %s",
                 found == TI_FOUND_TOO_FEW ? "what fits is not determined without the largest input"
                                           : "nothing known fits all inputs");
        return;
    }
    snprintf(told->why + at, sizeof told->why - at,
             ": both '%s' and '%s' fit, and differ at rank %" PRId64 " of %" PRId64,
             ti_rule_text(&rule[0], a, sizeof a), ti_rule_text(&rule[1], b, sizeof b),
             f->spot[where].rank, f->m->np);
    np = decides(f, rule);
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

static bool find_fit(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                     struct ti_model *out)
{
    struct ti_fit fit;

    *out = (struct ti_model){.kind = TI_MODEL_NUMBER};
    if (!ti__take_values(f, class, slot, cell, trip, out, 0) ||
        !ti_fit_find(f->m, f->value, f->nvalues, &fit))
        return false;
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

/* Models for each cell. */
static int64_t models_of(int64_t trips)
{
    return trips == TI_FIRST_TRIP ? 2 : trips ? trips : 1;
}

static bool by_parts(struct fitting *f, uint32_t class, size_t slot, bool by_cell, int64_t trips,
                     find_fn *find)
{
    struct ti_slot_models *m = &f->m->slot[class][slot];
    int64_t cells = by_cell ? ti_grid_cells(&f->m->grid) : 1, each = models_of(trips);

    free(m->model);
    *m = (struct ti_slot_models){by_cell, trips, calloc((size_t)(cells * each), sizeof *m->model)};
    if (!m->model)
        return false;
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

    f->no_cells = false;
    if (find_rules_of(f, class, slot, trips))
        return true;
    if (f->m->in->class[class].slot[slot].is.kind == TI_NUMBER_VOLUME)
        return by_parts(f, class, slot, true, trips, find_fit);
    if (by_parts(f, class, slot, false, 0, ti__find_joint) ||
        (trips && by_parts(f, class, slot, false, trips, ti__find_joint)))
        return true;
    f->inputs = f->no_cells ? 0 : similar_inputs(f->m);
    found = f->inputs && find_rules_of(f, class, slot, trips);
    f->inputs = UINT32_MAX;
    return found;
}

bool ti_model_value(const struct ti_models *m, uint32_t class, size_t slot,
                    const struct ti_spot *at, int64_t *out)
{
    const struct ti_slot_models *s = &m->slot[class][slot];
    int64_t each = models_of(s->trips), cell = s->by_cell ? ti_grid_cell(&m->grid, at) : 0;
    int64_t t = !s->trips ? 0 : s->trips == TI_FIRST_TRIP ? at->t > 0 : at->t;
    const struct ti_model *model = &s->model[cell * each + t];
    struct ti_spot here = *at;
    int64_t stride = 1, sum = 0;

    here.t = s->trips > 0 ? 0 : at->t;
    switch (model->kind) {
    case TI_MODEL_NONE:
        return false;
    case TI_MODEL_NUMBER:
        return ti_rule_value(&model->rule[0], &here, out);
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
        *out = llround(fmax(0, ti_fit_value(m, &model->fit, &here)));
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------------- all -- */

/* Blocks that rules of numbers have, for volumes. */
static void note_blocks(struct ti_models *m)
{
    for (size_t c = 0; c < m->in->nclasses; c++)
        for (size_t s = 0; s < m->in->class[c].n; s++) {
            const struct ti_model *model = m->slot[c][s].model;
            bool known = !model || model->kind != TI_MODEL_NUMBER ||
                         model->rule[0].kind != TI_RULE_BLOCK || m->nblocks == TI_AXES;

            for (int b = 0; b < m->nblocks && !known; b++)
                known = m->block[b].axis == model->rule[0].axis;
            if (!known)
                m->block[m->nblocks++] =
                    (struct ti_block_axis){model->rule[0].axis, model->rule[0].cells};
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

bool ti_models_find(const struct ti_inputs *in, const struct ti_grid *g, int64_t np,
                    struct ti_models *out, struct ti_models_told *told)
{
    struct fitting f = {.m = out, .told = told, .inputs = UINT32_MAX};
    bool fine = true;
    size_t cap = 0;

    *out = (struct ti_models){.in = in, .grid = *g, .np = np};
    out->slot = ti_grow(NULL, &cap, in->nclasses, sizeof *out->slot);
    for (size_t c = 0; c < in->nclasses; c++) {
        cap = 0;
        out->slot[c] = ti_grow(NULL, &cap, in->class[c].n, sizeof *out->slot[c]);
    }
    ti__find_places(&f);
    for (size_t k = 0; k < f.nasked && fine; k++)
        if (g->class[f.asked[k].cell] < 0) {
            if (!told->why[0]) /* else another grid went further */
                snprintf(told->why, sizeof told->why,
                         "no input has a rank at a place like rank %zu's", k);
            fine = false;
        }
    fine = fine && find_all(&f, false);
    if (fine)
        note_blocks(out);
    fine = fine && find_all(&f, true);
    free(f.known);
    free(f.asked);
    free(f.value);
    free(f.spot);
    return fine;
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
