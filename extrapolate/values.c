#include "extrapolate/values.h"

#include "event/symbol.h"
#include "extrapolate/product.h"

void ti__find_places(struct fitting *f)
{
    struct ti_models *m = f->m;
    size_t cap = 0;

    for (int i = 0; i < m->in->n; i++)
        f->nknown += (size_t)m->in->input[i].np;
    f->known = ti_grow(NULL, &cap, f->nknown, sizeof *f->known);
    f->nknown = 0;
    for (int i = 0; i < m->in->n; i++)
        for (int64_t r = 0; r < m->in->input[i].np; r++) {
            struct place *p = &f->known[f->nknown++];

            *p = (struct place){.at = ti_grid_spot(&m->grid, i, m->in->input[i].np, r),
                                .input = i,
                                .rank = &m->in->input[i].rank[r]};
            p->cell = ti_grid_cell(&m->grid, &p->at);
            p->class = p->rank->class;
        }
    cap = 0;
    f->asked = ti_grow(NULL, &cap, (size_t)m->np, sizeof *f->asked);
    for (int64_t r = 0; r < m->np; r++) {
        struct place *p = &f->asked[f->nasked++];

        p->at = ti_grid_spot(&m->grid, m->in->n, m->np, r);
        p->cell = ti_grid_cell(&m->grid, &p->at);
        p->class = (uint32_t)m->grid.class[p->cell];
    }
}

bool ti__is_partner(const struct ti_number *n)
{
    return n->kind == TI_NUMBER_FIELD && n->token <= 1 &&
           (n->field == TI_F_PEER || n->field == TI_F_PEER2);
}

/* The number that a rule is to give for a value; false if none can. */
static bool wanted(const struct place *p, int64_t v, const struct ti_model *m, int axis,
                   int64_t *out)
{
    int64_t partner;

    switch (m->kind) {
    case TI_MODEL_NUMBER:
        *out = v;
        return true;
    case TI_MODEL_SHIFTED:
        return !__builtin_add_overflow(v, p->at.x[m->axis], out);
    case TI_MODEL_PLACE:
        if (__builtin_add_overflow(p->at.rank, v, &partner) || partner < 0 || partner >= p->at.np)
            return false;
        for (int i = 0; i < axis; i++)
            partner /= p->at.p[i];
        *out = partner % p->at.p[axis];
        return true;
    case TI_MODEL_NONE:
    case TI_MODEL_FIT:
        break;
    }
    return false;
}

bool ti__add_values(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                    const struct ti_model *model, int axis)
{
    const struct ti_slot *s = &f->m->in->class[class].slot[slot];

    for (size_t k = 0; k < f->nknown; k++) {
        const struct place *p = &f->known[k];
        int64_t times;

        if (p->class != class || (cell >= 0 && p->cell != cell) || !(f->inputs >> p->input & 1))
            continue;
        times = ti_slot_times(s, p->rank);
        for (int64_t t = trip == BUT_FIRST ? 1
                         : trip < 0        ? 0
                                           : trip;
             t < (trip < 0 ? times : trip + 1); t++) {
            struct ti_known *to;

            f->value = ti_grow(f->value, &f->values_cap, f->nvalues + 1, sizeof *f->value);
            to = &f->value[f->nvalues++];
            *to = (struct ti_known){.at = p->at, .input = p->input};
            to->at.t = trip < 0 ? t : 0; /* the same as in ti_model_value() */
            if (!wanted(p, ti_slot_value(s, p->rank, slot, t), model, axis, &to->value))
                return false;
        }
    }
    return f->nvalues > 0;
}

bool ti__take_values(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                     const struct ti_model *model, int axis)
{
    f->nvalues = 0;
    return ti__add_values(f, class, slot, cell, trip, model, axis);
}

void ti__take_spots(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip)
{
    const struct ti_slot *s = &f->m->in->class[class].slot[slot];

    f->nspots = 0;
    for (size_t k = 0; k < f->nasked; k++) {
        const struct place *p = &f->asked[k];
        int64_t times = 1;

        if (p->class != class || (cell >= 0 && p->cell != cell))
            continue;
        if (s->times >= 0 && trip < 0 &&
            !ti_model_value(f->m, class, (size_t)s->times, &p->at, &times))
            continue;
        for (int64_t t = trip == BUT_FIRST; t < times; t++) {
            f->spot = ti_grow(f->spot, &f->spots_cap, f->nspots + 1, sizeof *f->spot);
            f->spot[f->nspots] = p->at;
            f->spot[f->nspots++].t = t;
        }
    }
}

/* The bytes of an element, if the slot is the bytes of a message: what those of all ranks are
 * multiples of. */
static int64_t unit_of(const struct fitting *f, uint32_t class, size_t slot)
{
    const struct ti_class *c = &f->m->in->class[class];
    const struct ti_number *n = &c->slot[slot].is;
    uint8_t size = n->field == TI_F_BYTES ? TI_F_ESIZE : TI_F_ESIZE2;
    int64_t unit = 0;

    if (n->kind != TI_NUMBER_FIELD || (n->field != TI_F_BYTES && n->field != TI_F_BYTES2))
        return 1;
    for (size_t s = slot + 1; s < c->n && c->slot[s].is.of == n->of; s++)
        if (c->slot[s].is.kind == TI_NUMBER_FIELD && c->slot[s].is.field == size)
            for (size_t k = 0; k < f->nknown; k++)
                if (f->known[k].class == class)
                    unit =
                        (int64_t)ti_gcd(unit, ti_slot_value(&c->slot[s], f->known[k].rank, s, 0));
    return unit ? unit : 1;
}

int ti__steady_axis(const struct fitting *f, size_t *where)
{
    for (int axis = 0; axis < f->m->grid.axes; axis++) {
        int64_t p = f->value[0].at.p[axis];
        size_t k = 0, i = 0;

        while (k < f->nvalues && f->value[k].at.p[axis] == p)
            k++;
        while (i < f->nspots && f->spot[i].p[axis] == p)
            i++;
        if (k == f->nvalues && i < f->nspots) {
            *where = i;
            return axis;
        }
    }
    return -1;
}

enum ti_rule_found ti__find_product(const struct fitting *f, uint32_t class, size_t slot,
                                    struct ti_rule out[2], size_t *where)
{
    const struct ti_number *n = &f->m->in->class[class].slot[slot].is;

    if (n->kind != TI_NUMBER_FIELD || n->token > 1 ||
        (n->field != TI_F_BYTES && n->field != TI_F_BYTES2))
        return TI_FOUND_NONE;
    return ti_product_find(f->value, f->nvalues, f->spot, f->nspots, unit_of(f, class, slot), out,
                           where);
}

enum ti_rule_found ti__find_rule(const struct fitting *f, uint32_t class, size_t slot,
                                 bool products, struct ti_rule out[2], size_t *where)
{
    enum ti_rule_found found =
        ti_rule_find(f->value, f->nvalues, f->spot, f->nspots, unit_of(f, class, slot), out, where);
    int axis;

    if (products && found == TI_FOUND_NONE)
        found = ti__find_product(f, class, slot, out, where);
    axis = found == TI_FOUND_RULE ? ti__steady_axis(f, where) : -1;
    if (axis < 0)
        return found;
    out[0].axis = axis;
    return TI_FOUND_ONE_SHAPE;
}
