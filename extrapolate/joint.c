#include "extrapolate/values.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES_MOST  32 /* that are asked */
#define UNKNOWNS_MOST 3  /* of a rule that is no product */
#define TRIPS_MOST    4  /* of an unrolled loop that are asked one by one */

/* Whether slots of two classes may have one rule. */
static bool is_alike(const struct ti_class *a, size_t s, const struct ti_class *b, size_t t)
{
    const struct ti_number *m = &a->slot[s].is, *n = &b->slot[t].is;

    if (m->kind != n->kind || m->field != n->field || m->token != n->token)
        return false;
    if (m->kind >= TI_NUMBER_COMM_RANK || !*ti_slot_site(a, s))
        return m->of == n->of;
    return strcmp(ti_slot_site(a, s), ti_slot_site(b, t)) == 0;
}

/* The class with the most ranks that was not asked before. */
static uint32_t next_class(const size_t *ranks, const bool *asked, size_t n)
{
    uint32_t best = 0;

    for (uint32_t c = 1; c < n; c++)
        if (asked[best] || (!asked[c] && ranks[c] > ranks[best]))
            best = c;
    return best;
}

static bool agree(const struct fitting *f, const struct ti_rule *a, const struct ti_rule *b)
{
    for (size_t i = 0; i < f->nspots; i++) {
        int64_t x = 0, y = 0;

        if (ti_rule_value(a, &f->spot[i], &x) != ti_rule_value(b, &f->spot[i], &y) || x != y)
            return false;
    }
    return true;
}

/* The slots of a class whose values have a rule together with those that are there: those whose
 * rules have the fewest unknowns. */
struct matches {
    bool may;        /* a slot may have a rule with those that are there */
    bool never;      /* ... and another one cannot */
    size_t n, rules; /* rules: those that have only one rule */
    size_t slot;     /* the last one, and its trip */
    int64_t trip;
    struct ti_rule rule; /* of the last one that has only one */
    int unknowns;
    bool differ; /* these rules differ at the target */
};

/* The slot that asks, for rules with so many unknowns at most. */
struct asking {
    uint32_t class;
    size_t slot;
    int unknowns;
    const struct ti_model *out;
};

/* Trips that all ranks of a class make in the unrolled loop of a slot; 0 outside of one. */
static int64_t trips_of(const struct fitting *f, uint32_t class, size_t slot)
{
    const struct ti_slot *s = &f->m->in->class[class].slot[slot];
    int64_t least = TRIPS_MOST, times;

    for (size_t k = 0; k < f->nknown && s->times >= 0; k++)
        if (f->known[k].class == class) {
            times = ti_slot_times(s, f->known[k].rank);
            least = times < least ? times : least;
        }
    return s->times < 0 ? 0 : least;
}

/* See whether the values of a slot match, of all trips or of one; false: they do not. */
static bool match_slot(struct fitting *f, const struct asking *of, uint32_t other, size_t slot,
                       int64_t trip, struct matches *m)
{
    size_t values = f->nvalues, where;
    enum ti_rule_found found = TI_FOUND_NONE;
    struct ti_rule rule[2];

    if (ti__add_values(f, other, slot, -1, trip, of->out, 0))
        found = ti__find_rule(f, of->class, of->slot, false, rule, &where);
    f->nvalues = values;
    m->never |= found == TI_FOUND_NONE;
    m->may |= found != TI_FOUND_NONE;
    if (found != TI_FOUND_RULE && found != TI_FOUND_RIVALS)
        return false;
    if (rule[0].unknowns > of->unknowns || (m->n && rule[0].unknowns > m->unknowns))
        return true;
    if (rule[0].unknowns < m->unknowns)
        *m = (struct matches){.may = m->may, .never = m->never};
    m->unknowns = rule[0].unknowns;
    m->slot = slot;
    m->trip = trip;
    m->n++;
    if (found == TI_FOUND_RIVALS)
        return true;
    m->differ |= m->rules > 0 && !agree(f, &rule[0], &m->rule);
    m->rule = rule[0];
    m->rules++;
    return true;
}

static struct matches match(struct fitting *f, const struct asking *of, uint32_t other)
{
    const struct ti_class *c = &f->m->in->class[of->class], *o = &f->m->in->class[other];
    struct matches m = {.n = 0};

    for (size_t s = 0; s < o->n; s++) {
        int64_t trips;

        if (!is_alike(c, of->slot, o, s) || match_slot(f, of, other, s, ALL_TRIPS, &m))
            continue;
        trips = trips_of(f, other, s);
        for (int64_t t = 0; t < trips; t++)
            match_slot(f, of, other, s, t, &m);
    }
    return m;
}

/* Ask the other classes, the one with the most ranks first.  A class has a rule if all slots of it
 * that match agree on it, and all classes with rules must agree; where only one slot matches, its
 * values tell more to the classes behind it.  There is no rule if no slot of a class may have it.
 */
static enum ti_rule_found ask_classes(struct fitting *f, const struct asking *of,
                                      const size_t *ranks, bool *asked, struct ti_rule *out)
{
    size_t n = f->m->in->nclasses;
    bool found = false, differ = false;
    bool partner = ti__is_partner(&f->m->in->class[of->class].slot[of->slot].is);

    memset(asked, 0, n * sizeof *asked);
    asked[of->class] = true;
    for (size_t k = 1; k < n && k <= CLASSES_MOST && !differ; k++) {
        uint32_t other = next_class(ranks, asked, n);
        struct matches m = match(f, of, other);

        asked[other] = true;
        if (m.never && !m.may && !partner) /* no rule holds for both classes */
            return TI_FOUND_NONE;
        if (m.n && m.rules == m.n && !m.differ) {
            differ = found && !agree(f, out, &m.rule);
            found = true;
            *out = m.rule;
        }
        if (m.n == 1 && !ti__add_values(f, other, m.slot, -1, m.trip, of->out, 0))
            return TI_FOUND_NONE;
    }
    return differ ? TI_FOUND_RIVALS : found ? TI_FOUND_RULE : TI_FOUND_NONE;
}

/* ------------------------------------------------------------------- products -- */

/* The slot of a class that is alike, counted from 0 as `nth`; its slots if there is none. */
static size_t alike_slot(const struct ti_class *c, size_t slot, const struct ti_class *o,
                         size_t nth)
{
    for (size_t s = 0; s < o->n; s++)
        if (is_alike(c, slot, o, s) && nth-- == 0)
            return s;
    return o->n;
}

static size_t count_alike(const struct ti_class *c, size_t slot, const struct ti_class *o,
                          size_t end)
{
    size_t n = 0;

    for (size_t s = 0; s < end; s++)
        n += is_alike(c, slot, o, s);
    return n;
}

bool ti__take_alike(struct fitting *f, uint32_t class, size_t slot, bool same_place,
                    const struct ti_model *model)
{
    const struct ti_inputs *in = f->m->in;
    const struct ti_class *c = &in->class[class];
    size_t nth = count_alike(c, slot, c, slot), all = count_alike(c, slot, c, c->n);

    f->nvalues = 0;
    for (uint32_t k = 0; k < in->nclasses; k++) {
        const struct ti_class *o = &in->class[k];
        size_t n = count_alike(c, slot, o, o->n);

        if (same_place && n && n != all)
            return false;
        for (size_t i = same_place ? nth : 0; i < (same_place && n ? nth + 1 : n); i++)
            if (!ti__add_values(f, k, alike_slot(c, slot, o, i), -1, ALL_TRIPS, model, 0))
                return false;
    }
    return f->nvalues > 0;
}

/* Faces of a part in a grid of three axes: products, of which the ranks of one class are too few to
 * tell them.  All classes together have one, or the slots of each class at the same place. */
static bool find_product(struct fitting *f, uint32_t class, size_t slot, struct ti_model *out)
{
    struct ti_rule rule[2];
    size_t where;

    for (int same_place = 0; same_place < 2; same_place++)
        if (ti__take_alike(f, class, slot, same_place, out) &&
            ti__find_product(f, class, slot, rule, &where) == TI_FOUND_RULE) {
            out->rule[0] = rule[0];
            return true;
        }
    return false;
}

bool ti__find_joint(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                    struct ti_model *out)
{
    size_t n = f->m->in->nclasses, ranks_cap = 0, asked_cap = 0;
    size_t *ranks = ti_grow(NULL, &ranks_cap, n, sizeof *ranks);
    bool *asked = ti_grow(NULL, &asked_cap, n, sizeof *asked);
    enum ti_rule_found found = TI_FOUND_NONE;

    for (size_t k = 0; k < f->nknown; k++)
        ranks[f->known[k].class]++;
    *out = (struct ti_model){.kind = TI_MODEL_NUMBER};
    ti__take_spots(f, class, slot, cell, trip);
    for (int unknowns = 0; unknowns <= UNKNOWNS_MOST && found == TI_FOUND_NONE; unknowns++)
        if (ti__take_values(f, class, slot, cell, trip, out, 0))
            found = ask_classes(f, &(struct asking){class, slot, unknowns, out}, ranks, asked,
                                &out->rule[0]);
    free(ranks);
    free(asked);
    return found == TI_FOUND_RULE ||
           (found == TI_FOUND_NONE && trip == ALL_TRIPS && find_product(f, class, slot, out));
}
