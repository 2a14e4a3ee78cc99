#include "extrapolate/rule.h"

#include <string.h>

#include "extrapolate/rule_internal.h"

#define PAD_MOST   4     /* cells at each side of a block, and their multiples, that are tried */
#define DEALS_MOST 65536 /* numbers of cells that are tried of one size */
#define DIVISORS   (INT64_C(1) << 20) /* cells of more different sizes are not tried */

typedef ti__wide wide;

/* ------------------------------------------------------------------ searching -- */

struct search {
    const struct ti_known *known;
    size_t n;
    int largest; /* input */
    const struct ti_spot *asked;
    size_t nasked;
    int64_t unit;             /* of a cell */
    bool powers[TI_AXES + 1]; /* numbers of parts of each axis, and of ranks, are powers of two */
    struct ti_rule rule[2];   /* the first one that holds, and one that differs from it ... */
    int nrules;
    size_t where;                /* ... at this place that is asked for */
    int different;               /* numbers that are known, TI_UNKNOWNS + 1 at most */
    bool too_few;                /* a rule was not determined and confirmed ... */
    struct ti_rule undetermined; /* ... the first one of them */
    struct ti_rule no_cells; /* a block of which parts would have no cells; its cells are 0: none */
};

/* The number that a sum must give at a place: that of the trace, or the mask of a partner. */
static int64_t wanted(const struct ti_rule *r, const struct ti_known *k)
{
    return r->kind == TI_RULE_PARTNER ? k->value ^ k->at.x[r->axis] : k->value;
}

static bool is_right(const struct search *s, const struct ti_rule *r)
{
    int64_t value;

    for (size_t i = 0; i < s->n; i++)
        if (!ti_rule_value(r, &s->known[i].at, &value) || value != s->known[i].value)
            return false;
    return true;
}

/* Whether a sum has more places with different terms than constants: else it fits any numbers. */
static bool is_confirmed(const struct ti_rule *r, const struct ti_known *known, size_t n,
                         const struct ti_spot *more, size_t nmore)
{
    int64_t seen[TI_UNKNOWNS][TI_RULE_TERMS];
    int constants = r->terms + (r->c0 != 0), nseen = 0;

    for (size_t i = 0; i < n + nmore && r->terms; i++) {
        const struct ti_spot *at = i < n ? &known[i].at : &more[i - n];
        int64_t value[TI_RULE_TERMS] = {0};
        int k = 0;

        for (int t = 0; t < r->terms; t++)
            value[t] = ti__term_value(r->term[t], at);
        while (k < nseen && memcmp(seen[k], value, sizeof value) != 0)
            k++;
        if (k == constants)
            return true;
        if (k == nseen)
            memcpy(seen[nseen++], value, sizeof value);
    }
    return !r->terms;
}

/* Keep the first rule, and the first one that differs from it where numbers are asked for. */
static void keep(struct search *s, const struct ti_rule *r)
{
    if (!s->nrules) {
        s->rule[s->nrules++] = *r;
        return;
    }
    for (size_t i = 0; i < s->nasked && s->nrules < 2; i++) {
        int64_t a = 0, b = 0;

        if (ti_rule_value(&s->rule[0], &s->asked[i], &a) != ti_rule_value(r, &s->asked[i], &b) ||
            a != b) {
            s->rule[s->nrules++] = *r;
            s->where = i;
        }
    }
}

/* A rule whose constants do not follow from the inputs, or that none confirms. */
static void keep_undetermined(struct search *s, const struct ti_rule *r, bool c0)
{
    if (s->too_few)
        return;
    s->too_few = true;
    s->undetermined = *r;
    s->undetermined.c0 = c0;
}

/* Find the constants of a sum of given terms, of all places but those of the largest input; a
 * constant is one of them if `c0`. */
static void try_terms(struct search *s, struct ti_rule r, bool c0)
{
    struct ti__equations all = {.unknowns = r.terms + c0}, smaller;
    int64_t out[TI_UNKNOWNS];

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->n; i++) {
            const struct ti_known *k = &s->known[i];
            wide equation[TI_UNKNOWNS + 1];

            if ((k->input == s->largest) != pass)
                continue;
            for (int t = 0; t < r.terms; t++)
                equation[t] = ti__term_value(r.term[t], &k->at);
            if (c0)
                equation[r.terms] = 1;
            equation[all.unknowns] = wanted(&r, k);
            if (!ti__equations_add(&all, equation))
                return;
        }
        if (!pass)
            smaller = all;
    }
    if (smaller.rank < smaller.unknowns) {
        if (all.rank == all.unknowns)
            keep_undetermined(s, &r, c0);
        return;
    }
    if (!ti__equations_solve(&all, out, &r.d))
        return;
    for (int t = 0; t < r.terms; t++) {
        if (out[t] == 0)
            return; /* found with fewer terms */
        r.c[t] = out[t];
    }
    r.c0 = c0 ? out[r.terms] : 0;
    r.unknowns = all.unknowns + (r.kind == TI_RULE_PARTNER);
    if ((r.terms > 0 && c0 && r.c0 == 0) || !is_right(s, &r))
        return;
    if (is_confirmed(&r, s->known, s->n, NULL, 0))
        keep(s, &r);
    else
        keep_undetermined(s, &r, c0);
}

/* Whether all numbers are powers of two: those of ranks (axis -1), or of parts of an axis. */
static bool are_powers(const struct search *s, int axis)
{
    for (size_t i = 0; i < s->n; i++)
        if (!ti__is_power(axis < 0 ? s->known[i].at.np : s->known[i].at.p[axis]))
            return false;
    for (size_t i = 0; i < s->nasked; i++)
        if (!ti__is_power(axis < 0 ? s->asked[i].np : s->asked[i].p[axis]))
            return false;
    return true;
}

/* Whether a term can be one of a rule: it has several values at the places that are known, since
 * otherwise it is a constant; and logarithms are rounded only if they need to be. */
static bool is_useful(const struct search *s, struct ti_term t)
{
    int64_t first = ti__term_value(t, &s->known[0].at);
    bool varies = false;

    if ((t.kind == TI_TERM_FLOOR_LOG_NP || t.kind == TI_TERM_CEIL_LOG_NP) && s->powers[TI_AXES])
        return false;
    if ((t.kind == TI_TERM_FLOOR_LOG_P || t.kind == TI_TERM_CEIL_LOG_P) && s->powers[t.axis])
        return false;
    if (t.kind == TI_TERM_LOG_NP ? !s->powers[TI_AXES]
                                 : t.kind == TI_TERM_LOG_P && !s->powers[t.axis])
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const struct ti_spot *at = &s->known[i].at;

        varies |= ti__term_value(t, at) != first;
        if (ti__term_has_no_value(t, at))
            return false;
    }
    return varies;
}

/* The useful terms, with each axis of the grid. */
static int all_terms(const struct search *s, struct ti_term *out)
{
    int axes = s->known[0].at.axes;
#define HAS_AXIS(name, axis, text) axis,
    static const bool has_axis[] = {TI_TERMS(HAS_AXIS)};
    int n = 0;

    for (int kind = 0; kind < TI_TERM_COUNT; kind++)
        for (int axis = 0; axis < (has_axis[kind] ? axes : 1); axis++) {
            struct ti_term t = {(enum ti_term_kind)kind, axis};

            if (is_useful(s, t))
                out[n++] = t;
        }
    return n;
}

/* Rounded logarithms are steps, which fit few inputs by chance: they stand alone. */
static bool is_rounded(struct ti_term t)
{
    return t.kind == TI_TERM_FLOOR_LOG_NP || t.kind == TI_TERM_CEIL_LOG_NP ||
           t.kind == TI_TERM_FLOOR_LOG_P || t.kind == TI_TERM_CEIL_LOG_P;
}

static void try_sums(struct search *s, enum ti_rule_kind kind, int axis, int terms, bool c0)
{
    struct ti_term term[TI_TERM_COUNT * TI_AXES] = {{TI_TERM_NP, 0}};
    int n = all_terms(s, term);

    for (int a = 0; a < (terms > 0 ? n : 1); a++)
        for (int b = terms > 1 ? a + 1 : 0; b < (terms > 1 ? n : 1); b++) {
            if (terms > 1 && (is_rounded(term[a]) || is_rounded(term[b])))
                continue;
            try_terms(
                s,
                (struct ti_rule){
                    .kind = kind, .axis = axis, .terms = terms, .term = {term[a], term[b]}, .d = 1},
                c0);
        }
}

/* --------------------------------------------------------------------- blocks -- */

/* Narrow the cells, from *low to *high, to those that give these numbers, if they are dealt FIRST;
 * otherwise to those that may.  Of CEIL, the last part is anything. */
static bool cells_of(const struct search *s, const struct ti_rule *r, int64_t *low, int64_t *high)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct ti_known *k = &s->known[i];
        int64_t p = k->at.p[r->axis], x = k->at.x[r->axis], least, most;
        wide of = (wide)k->value - r->c0, cells = of / r->c[0];

        if (of % r->c[0] || cells < -1 || cells > TI_RULE_HUGE / p / 2)
            return false;
        if (r->deal == TI_DEAL_CEIL && x + 1 == p)
            continue;
        least = (int64_t)(p * (cells - 1)) + (r->deal == TI_DEAL_FIRST ? x + 1 : 0);
        most = (int64_t)(p * cells) + (r->deal == TI_DEAL_FIRST ? x : p);
        *low = least > *low ? least : *low;
        *high = most < *high ? most : *high;
    }
    return *low <= *high;
}

/* Whether each part that is asked for has a cell. */
static bool has_cells(const struct search *s, const struct ti_rule *r, int64_t cells)
{
    for (size_t i = 0; i < s->nasked; i++)
        if (ti_block_dealt(r->deal, cells, s->asked[i].p[r->axis], s->asked[i].x[r->axis]) == 0)
            return false;
    return true;
}

/* Whether the inputs divide an axis into one number of parts, and the target into another: a number
 * of cells that remains cannot be told from one that grows with the parts. */
static bool has_one_division(const struct search *s, int axis)
{
    int64_t p = s->known[0].at.p[axis];
    bool same = true;

    for (size_t i = 0; i < s->n; i++)
        if (s->known[i].at.p[axis] != p)
            return false;
    for (size_t i = 0; i < s->nasked; i++)
        same &= s->asked[i].p[axis] == p;
    return !same;
}

/* Cells that are dealt otherwise: rivals of a block where no rest tells.  The interval is small,
 * since so many cells more would be one more for each part. */
static void try_deals(struct search *s, struct ti_rule r)
{
    for (r.deal = TI_DEAL_LAST; r.deal < TI_DEAL_COUNT; r.deal++) {
        int64_t low = 1, high = TI_RULE_HUGE;

        if (!cells_of(s, &r, &low, &high) || high - low > DEALS_MOST)
            continue;
        for (r.cells = low; r.cells <= high; r.cells++)
            if (is_right(s, &r) && has_cells(s, &r, r.cells))
                keep(s, &r);
    }
}

static void try_cells(struct search *s, struct ti_rule r)
{
    int64_t low = 1, high = TI_RULE_HUGE;
    bool first = cells_of(s, &r, &low, &high);

    r.unknowns = r.c0 ? 3 : 2;
    if (first && (has_one_division(s, r.axis) || (r.c0 && s->different < r.unknowns))) {
        s->undetermined = s->too_few ? s->undetermined : r;
        s->too_few = true;
        return;
    }
    if (first && !has_cells(s, &r, high)) {
        r.cells = high;
        s->no_cells = high > s->no_cells.cells ? r : s->no_cells;
        return;
    }
    if (first) {
        r.cells = low;
        keep(s, &r);
        r.cells = high;
        keep(s, &r);
    }
    if (!has_one_division(s, r.axis) && (s->nrules || s->different > r.unknowns))
        try_deals(s, r);
}

/* Cells of all sizes that divide all numbers. */
static void try_divisors(struct search *s, struct ti_rule r, int64_t each)
{
    for (int64_t d = 1; each % s->unit == 0 && d <= each / s->unit / d && d < DIVISORS; d++) {
        int64_t other = each / s->unit / d;

        if (each / s->unit % d)
            continue;
        r.c[0] = other * s->unit;
        try_cells(s, r);
        r.c[0] = d * s->unit;
        if (other != d)
            try_cells(s, r);
    }
}

/* Blocks with and without cells at their sides.  Without, a cell is a part of each number; with, of
 * their differences. */
static void try_blocks(struct search *s, int axis, bool padded)
{
    wide each = 0, apart = 0;
    struct ti_rule r = {.kind = TI_RULE_BLOCK, .axis = axis, .d = 1};

    for (size_t i = 0; i < s->n; i++) {
        each = ti_gcd(each, s->known[i].value);
        apart = ti_gcd(apart, (wide)s->known[i].value - s->known[0].value);
    }
    if (!apart || apart >= TI_RULE_HUGE) /* a constant is simpler */
        return;
    if (!padded) {
        try_divisors(s, r, (int64_t)each);
        return;
    }
    for (int pad = -PAD_MOST; pad <= PAD_MOST; pad++) {
        wide c0 = s->known[0].value % apart + pad * apart;

        r.c0 = (int64_t)c0;
        if (c0 && c0 < TI_RULE_HUGE && c0 > -TI_RULE_HUGE)
            try_divisors(s, r, (int64_t)apart);
    }
}

/*
 * Parts that remain as large when there are more of them (weak scaling): each has so many cells,
 * and the first ones have one more, or the last ones one less: 8 p - 4 cells are 8 for each part
 * but the last four.  Where all inputs have as many parts, this cannot be told from a fixed number
 * of cells.  So many parts or fewer have no rule: the constants of 8 p - 4 cells do not tell
 * whether three parts, of which four would have one less, have 20 cells or 21.
 */
static void try_weak(struct search *s, int axis)
{
    struct ti_rule r = {.kind = TI_RULE_BLOCK, .axis = axis, .d = 1, .unknowns = 3};
    int64_t least = s->known[0].value, fewest = s->known[0].at.p[axis], most = fewest;
    wide apart = 0;

    for (size_t i = 0; i < s->n; i++) {
        int64_t p = s->known[i].at.p[axis];

        apart = ti_gcd(apart, (wide)s->known[i].value - s->known[0].value);
        least = s->known[i].value < least ? s->known[i].value : least;
        fewest = p < fewest ? p : fewest;
        most = p > most ? p : most;
    }
    if (!apart || apart >= TI_RULE_HUGE || least >= TI_RULE_HUGE || fewest == most)
        return;
    for (size_t i = 0; i < s->nasked; i++)
        fewest = s->asked[i].p[axis] < fewest ? s->asked[i].p[axis] : fewest;
    r.c[0] = (int64_t)apart;
    for (int less = 0; less < 2; less++) {
        int64_t low = less ? 1 - fewest : 1, high = less ? -1 : fewest - 1;

        r.c0 = least + less * r.c[0];
        if (r.c0 <= 0 || !cells_of(s, &r, &low, &high))
            continue;
        for (r.cells = low; r.cells <= high; r.cells += high > low ? high - low : 1)
            keep(s, &r);
    }
}

/* ----------------------------------------------------------------------- find -- */

/* How many different numbers are known.  Blocks with cells at their sides need as many as they have
 * constants, and those that are dealt otherwise one more, unless they are rivals only. */
static int count_different(const struct search *s)
{
    int64_t seen[TI_UNKNOWNS + 1];
    int n = 0;

    for (size_t i = 0; i < s->n && n <= TI_UNKNOWNS; i++) {
        int k = 0;

        while (k < n && seen[k] != s->known[i].value)
            k++;
        if (k == n)
            seen[n++] = s->known[i].value;
    }
    return n;
}

/* Rules with `unknowns` constants. */
static void try_all(struct search *s, int unknowns)
{
    int axes = s->known[0].at.axes;

    if (unknowns <= TI_RULE_TERMS)
        try_sums(s, TI_RULE_SUM, 0, unknowns, false);
    if (unknowns >= 1 && unknowns - 1 <= TI_RULE_TERMS)
        try_sums(s, TI_RULE_SUM, 0, unknowns - 1, true);
    for (int axis = 0; axis < axes && unknowns == 2; axis++) {
        try_sums(s, TI_RULE_PARTNER, axis, 1, false);
        try_sums(s, TI_RULE_PARTNER, axis, 0, true);
    }
    for (int axis = 0; axis < axes && unknowns >= 2; axis++)
        try_blocks(s, axis, unknowns == 3);
    for (int axis = 0; axis < axes && unknowns == 3; axis++)
        try_weak(s, axis);
}

enum ti_rule_found ti_rule_find(const struct ti_known *known, size_t n, const struct ti_spot *asked,
                                size_t nasked, int64_t unit, struct ti_rule out[2], size_t *where)
{
    struct search s = {
        .known = known, .n = n, .asked = asked, .nasked = nasked, .unit = unit > 0 ? unit : 1};

    for (size_t i = 0; i < n; i++)
        s.largest = known[i].input > s.largest ? known[i].input : s.largest;
    for (int axis = 0; n && axis < known[0].at.axes; axis++)
        s.powers[axis] = are_powers(&s, axis);
    s.different = count_different(&s);
    s.powers[TI_AXES] = are_powers(&s, -1);
    for (int unknowns = 0; unknowns <= TI_UNKNOWNS && !s.nrules && n; unknowns++)
        try_all(&s, unknowns);
    if (!s.nrules && s.no_cells.cells) {
        out[0] = s.no_cells;
        return TI_FOUND_NO_CELLS;
    }
    out[0] = s.nrules ? s.rule[0] : s.undetermined;
    if (!s.nrules)
        return s.too_few ? TI_FOUND_TOO_FEW : TI_FOUND_NONE;
    if (s.nrules == 1)
        return TI_FOUND_RULE;
    out[1] = s.rule[1];
    *where = s.where;
    return TI_FOUND_RIVALS;
}

/* Constants follow from places alone, whatever the numbers there are: all are taken as 0. */
bool ti_rule_is_determined(const struct ti_rule *rule, const struct ti_known *known, size_t n,
                           const struct ti_spot *more, size_t nmore)
{
    struct ti__equations all = {.unknowns = rule->terms + (rule->c0 != 0)};
    int largest = 0;
    bool is_larger = false; /* the present largest input would be one of the others */

    for (size_t i = 0; i < n; i++)
        largest = known[i].input > largest ? known[i].input : largest;
    for (size_t i = 0; i < n; i++)
        is_larger |= known[i].input == largest && nmore && more[0].np > known[i].at.np;
    for (size_t i = 0; i < n + (is_larger ? 0 : nmore); i++) {
        const struct ti_spot *at = i < n ? &known[i].at : &more[i - n];
        wide equation[TI_UNKNOWNS + 1] = {0};

        if (i < n && known[i].input == largest && !is_larger)
            continue;
        for (int t = 0; t < rule->terms; t++)
            equation[t] = ti__term_value(rule->term[t], at);
        if (rule->c0)
            equation[rule->terms] = 1;
        if (!ti__equations_add(&all, equation))
            return false;
    }
    return all.rank == all.unknowns && is_confirmed(rule, known, n, more, nmore);
}
