#include "extrapolate/values.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES_MOST 32 /* that are asked */

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

/* The slots of a class whose values have a rule together with those that are there. */
struct matches {
    size_t n, rules, slot; /* rules: those that have only one rule; the last slot */
    bool differ;           /* these rules differ at the target */
};

static struct matches match(struct fitting *f, uint32_t class, size_t slot, uint32_t other,
                            struct ti_model *out)
{
    const struct ti_class *c = &f->m->in->class[class], *o = &f->m->in->class[other];
    size_t values = f->nvalues, where;
    struct matches m = {.n = 0};

    for (size_t s = 0; s < o->n; s++) {
        enum ti_rule_found found;
        struct ti_rule rule[2];

        f->nvalues = values;
        if (!is_alike(c, slot, o, s) || !ti__add_values(f, other, s, -1, ALL_TRIPS, out, 0))
            continue;
        found = ti__find_rule(f, class, slot, rule, &where);
        if (found != TI_FOUND_RULE && found != TI_FOUND_RIVALS)
            continue;
        m.slot = s;
        m.n++;
        if (found == TI_FOUND_RIVALS)
            continue;
        m.differ |= m.rules > 0 && !agree(f, &rule[0], &out->rule[0]);
        out->rule[0] = rule[0];
        m.rules++;
    }
    f->nvalues = values;
    return m;
}

/* Ask the other classes, the one with the most ranks first.  A rule is found if all slots of a
 * class that match give it.  Where only one matches, its values tell more to the classes behind it.
 */
static bool ask_classes(struct fitting *f, uint32_t class, size_t slot, size_t *ranks, bool *asked,
                        struct ti_model *out)
{
    size_t n = f->m->in->nclasses;

    for (size_t k = 0; k < f->nknown; k++)
        ranks[f->known[k].class]++;
    asked[class] = true;
    for (size_t k = 1; k < n && k <= CLASSES_MOST; k++) {
        uint32_t other = next_class(ranks, asked, n);
        struct matches m = match(f, class, slot, other, out);

        asked[other] = true;
        if (m.n && m.rules == m.n)
            return !m.differ;
        if (m.n == 1 && !ti__add_values(f, other, m.slot, -1, ALL_TRIPS, out, 0))
            return false;
    }
    return false;
}

bool ti__find_joint(struct fitting *f, uint32_t class, size_t slot, int64_t cell, int64_t trip,
                    struct ti_model *out)
{
    size_t n = f->m->in->nclasses, ranks_cap = 0, asked_cap = 0;
    size_t *ranks = ti_grow(NULL, &ranks_cap, n, sizeof *ranks);
    bool *asked = ti_grow(NULL, &asked_cap, n, sizeof *asked), found;

    (void)cell;
    (void)trip;
    *out = (struct ti_model){.kind = TI_MODEL_NUMBER};
    ti__take_spots(f, class, slot, -1, ALL_TRIPS);
    found = ti__take_values(f, class, slot, -1, ALL_TRIPS, out, 0) &&
            ask_classes(f, class, slot, ranks, asked, out);
    free(ranks);
    free(asked);
    return found;
}
