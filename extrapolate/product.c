#include "extrapolate/product.h"

#define CELLS_MOST 4096               /* along the first axis */
#define EACH_MOST  (INT64_C(1) << 40) /* bytes of so many cells along the second one */
#define PAD_MOST   2                  /* cells at the sides of a block, together */

struct search {
    const struct ti_known *known;
    size_t n;
    const struct ti_spot *asked;
    size_t nasked;
    int64_t unit;
    struct ti_rule *out;
    int found; /* 2: they differ */
    size_t *where;
    bool new_rest; /* a rule has a rest of cells at the target only */
};

/* A factor of a product at a place; 0: the part has no cell. */
static int64_t factor(const struct ti_rule *r, int which, const struct ti_spot *at)
{
    int axis = which ? r->axis2 : r->axis;
    int64_t cells = ti_block(which ? r->cells2 : r->cells, at->p[axis], at->x[axis]);

    return cells ? cells + r->pad[which] : 0;
}

/* The largest number of parts of an axis that is asked for: as many cells are there at least. */
static int64_t parts(const struct search *s, int axis)
{
    int64_t most = 1;

    for (size_t i = 0; i < s->nasked; i++)
        most = s->asked[i].p[axis] > most ? s->asked[i].p[axis] : most;
    return most;
}

/* Whether no place that is known has a rest of cells along an axis, and one that is asked for has:
 * programs deal it in several ways. */
static bool has_new_rest(const struct search *s, int axis, int64_t cells)
{
    for (size_t i = 0; i < s->n; i++)
        if (cells % s->known[i].at.p[axis])
            return false;
    for (size_t i = 0; i < s->nasked; i++)
        if (cells % s->asked[i].p[axis])
            return true;
    return false;
}

/* Keep a rule, or see whether it disagrees with the one that was found first. */
static void keep(struct search *s, const struct ti_rule *r)
{
    if (has_new_rest(s, r->axis, r->cells) || has_new_rest(s, r->axis2, r->cells2))
        s->new_rest = true;
    if (!s->found) {
        s->out[s->found++] = *r;
        return;
    }
    for (size_t i = 0; i < s->nasked && s->found < 2; i++) {
        int64_t a = 0, b = 0;

        if (ti_rule_value(&s->out[0], &s->asked[i], &a) != ti_rule_value(r, &s->asked[i], &b) ||
            a != b) {
            s->out[s->found++] = *r;
            *s->where = i;
        }
    }
}

/* The cells of the second axis, from *low to *high; false: there are none. */
static bool second_cells(const struct search *s, const struct ti_rule *r, int64_t *low,
                         int64_t *high)
{
    *low = parts(s, r->axis2);
    *high = INT64_MAX;
    for (size_t i = 0; i < s->n && *low <= *high; i++) {
        const struct ti_known *k = &s->known[i];
        int64_t p = k->at.p[r->axis2], x = k->at.x[r->axis2];
        int64_t cells = k->value / factor(r, 0, &k->at) / r->c[0] - r->pad[1];

        if (cells < 1 || cells > INT64_MAX / 4 / p)
            return false;
        *low = p * (cells - 1) + x + 1 > *low ? p * (cells - 1) + x + 1 : *low;
        *high = p * cells + x < *high ? p * cells + x : *high;
    }
    return *low <= *high;
}

/* A product with a first factor that is known, and the constant `c`. */
static void try_constant(struct search *s, struct ti_rule r, int64_t c)
{
    int64_t low, high;

    r.c[0] = c;
    if (c % s->unit || !second_cells(s, &r, &low, &high))
        return;
    r.cells2 = low;
    keep(s, &r);
    r.cells2 = high;
    if (high != low)
        keep(s, &r);
}

/* A product with so many cells along the first axis. */
static void try_cells(struct search *s, const struct ti_rule *r)
{
    int64_t each = 0;

    for (size_t i = 0; i < s->n; i++) {
        int64_t first = factor(r, 0, &s->known[i].at);

        if (!first || s->known[i].value % first)
            return;
        each = (int64_t)ti_gcd(each, s->known[i].value / first);
    }
    for (int64_t d = 1; each <= EACH_MOST && d <= each / d && s->found < 2; d++)
        if (each % d == 0) {
            try_constant(s, *r, d);
            if (each / d != d)
                try_constant(s, *r, each / d);
        }
}

/* Whether there are as many different numbers as a product has constants; none is below 1. */
static bool is_rich(const struct ti_known *known, size_t n)
{
    int64_t seen[3];
    int different = 0;

    for (size_t i = 0; i < n; i++) {
        int k = 0;

        if (known[i].value < 1)
            return false;
        while (k < different && seen[k] != known[i].value)
            k++;
        if (k == different && different < 3)
            seen[different++] = known[i].value;
    }
    return different == 3;
}

/* Products with these pads. */
static void try_pads(struct search *s, int64_t first, int64_t second)
{
    struct ti_rule r = {.kind = TI_RULE_PRODUCT, .d = 1, .pad = {first, second}};
    int axes = s->known[0].at.axes;

    r.unknowns = 3 + (first != 0) + (second != 0);
    for (r.axis = 0; r.axis < axes; r.axis++)
        for (r.axis2 = r.axis; r.axis2 < axes; r.axis2++)
            for (r.cells = parts(s, r.axis); r.cells <= CELLS_MOST && s->found < 2; r.cells++)
                try_cells(s, &r);
}

enum ti_rule_found ti_product_find(const struct ti_known *known, size_t n,
                                   const struct ti_spot *asked, size_t nasked, int64_t unit,
                                   struct ti_rule out[2], size_t *where)
{
    struct search s = {known, n, asked, nasked, unit, out, 0, where, false};

    if (!is_rich(known, n))
        return TI_FOUND_NONE;
    for (int pads = 0; pads <= 2 && !s.found; pads++)
        for (int64_t a = 0; a <= PAD_MOST; a++)
            for (int64_t b = 0; b <= PAD_MOST; b++)
                if ((a != 0) + (b != 0) == pads)
                    try_pads(&s, a, b);
    return s.found == 0   ? TI_FOUND_NONE
           : s.found == 2 ? TI_FOUND_RIVALS
           : s.new_rest   ? TI_FOUND_TOO_FEW
                          : TI_FOUND_RULE;
}
