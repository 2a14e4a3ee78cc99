#include "extrapolate/rule.h"

#include <string.h>

#include "extrapolate/equations.h"

#define HUGE_VALUE (INT64_C(1) << 62)
#define TRIPS_MOST 30 /* the largest t of 2^t */
#define PAD_MOST   4  /* cells at each side of a block, and their multiples, that are tried */
#define DIVISORS   (INT64_C(1) << 20) /* cells of more different sizes are not tried */

typedef ti__wide wide;

static int64_t log2_of(int64_t v)
{
    return v > 0 ? 63 - __builtin_clzll((uint64_t)v) : 0;
}

static int64_t stride_of(const struct ti_spot *s, int axis)
{
    int64_t stride = 1;

    for (int i = 0; i < axis; i++)
        stride *= s->p[i];
    return stride;
}

static int64_t log2_up(int64_t v)
{
    return v > 1 ? log2_of(v - 1) + 1 : 0;
}

static int64_t term_value(struct ti_term t, const struct ti_spot *s)
{
    int64_t power = INT64_C(1) << (s->t < TRIPS_MOST ? s->t : TRIPS_MOST);

    switch (t.kind) {
    case TI_TERM_NP:
        return s->np;
    case TI_TERM_LOG_NP:
    case TI_TERM_FLOOR_LOG_NP:
        return log2_of(s->np);
    case TI_TERM_CEIL_LOG_NP:
        return log2_up(s->np);
    case TI_TERM_RANK:
        return s->rank;
    case TI_TERM_TRIP:
        return s->t;
    case TI_TERM_POW_TRIP:
        return power;
    case TI_TERM_P:
        return s->p[t.axis];
    case TI_TERM_LOG_P:
    case TI_TERM_FLOOR_LOG_P:
        return log2_of(s->p[t.axis]);
    case TI_TERM_CEIL_LOG_P:
        return log2_up(s->p[t.axis]);
    case TI_TERM_COORDINATE:
        return s->x[t.axis];
    case TI_TERM_STRIDE:
        return stride_of(s, t.axis);
    case TI_TERM_STRIDE_POW_TRIP:
        return stride_of(s, t.axis) * power;
    case TI_TERM_COUNT:
        break;
    }
    return 0;
}

int64_t ti_block(int64_t n, int64_t p, int64_t x)
{
    int64_t rest = (n % p + p) % p;

    return (n - rest) / p + (x < rest);
}

/* --------------------------------------------------------------------- value -- */

static bool is_power(int64_t v)
{
    return !(v & (v - 1));
}

/* Whether a term has no value at a place: a logarithm that is not rounded; a power too large. */
static bool has_no_value(struct ti_term t, const struct ti_spot *at)
{
    switch (t.kind) {
    case TI_TERM_LOG_NP:
        return !is_power(at->np);
    case TI_TERM_LOG_P:
        return !is_power(at->p[t.axis]);
    case TI_TERM_POW_TRIP:
    case TI_TERM_STRIDE_POW_TRIP:
        return at->t > TRIPS_MOST;
    default:
        return false;
    }
}

static bool sum_value(const struct ti_rule *r, const struct ti_spot *at, int64_t *out)
{
    wide sum = r->c0;

    for (int i = 0; i < r->terms; i++) {
        if (has_no_value(r->term[i], at))
            return false;
        sum += (wide)r->c[i] * term_value(r->term[i], at);
    }
    if (sum % r->d || sum / r->d >= HUGE_VALUE || sum / r->d <= -HUGE_VALUE)
        return false;
    *out = (int64_t)(sum / r->d);
    return true;
}

bool ti_rule_value(const struct ti_rule *r, const struct ti_spot *at, int64_t *out)
{
    wide v;

    switch (r->kind) {
    case TI_RULE_SUM:
        return sum_value(r, at, out);
    case TI_RULE_PARTNER:
        if (!sum_value(r, at, out) || *out < 0)
            return false;
        *out ^= at->x[r->axis];
        return true;
    case TI_RULE_BLOCK:
        v = r->c0 + (wide)r->c[0] * ti_block(r->cells, at->p[r->axis], at->x[r->axis]);
        *out = (int64_t)v;
        return v < HUGE_VALUE && v > -HUGE_VALUE;
    case TI_RULE_PRODUCT:
        v = (wide)r->c[0] * (r->pad[0] + ti_block(r->cells, at->p[r->axis], at->x[r->axis]));
        if (__builtin_mul_overflow(
                v, r->pad[1] + ti_block(r->cells2, at->p[r->axis2], at->x[r->axis2]), &v))
            return false;
        *out = (int64_t)v;
        return v < HUGE_VALUE && v > -HUGE_VALUE;
    }
    return false;
}

int64_t ti_rule_each(const struct ti_rule *r)
{
    int64_t each = r->c0 % r->c[0] ? 0 : r->c0 / r->c[0];

    return each > 0 && r->cells < each ? each : 0;
}

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
            value[t] = term_value(r->term[t], at);
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
                equation[t] = term_value(r.term[t], &k->at);
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
        if (!is_power(axis < 0 ? s->known[i].at.np : s->known[i].at.p[axis]))
            return false;
    for (size_t i = 0; i < s->nasked; i++)
        if (!is_power(axis < 0 ? s->asked[i].np : s->asked[i].p[axis]))
            return false;
    return true;
}

/* Whether a term can be one of a rule: it has several values at the places that are known, since
 * otherwise it is a constant; and logarithms are rounded only if they need to be. */
static bool is_useful(const struct search *s, struct ti_term t)
{
    int64_t first = term_value(t, &s->known[0].at);
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

        varies |= term_value(t, at) != first;
        if (has_no_value(t, at))
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

static void try_sums(struct search *s, enum ti_rule_kind kind, int axis, int terms, bool c0)
{
    struct ti_term term[TI_TERM_COUNT * TI_AXES] = {{TI_TERM_NP, 0}};
    int n = all_terms(s, term);

    for (int a = 0; a < (terms > 0 ? n : 1); a++)
        for (int b = terms > 1 ? a + 1 : 0; b < (terms > 1 ? n : 1); b++)
            try_terms(
                s,
                (struct ti_rule){
                    .kind = kind, .axis = axis, .terms = terms, .term = {term[a], term[b]}, .d = 1},
                c0);
}

/* --------------------------------------------------------------------- blocks -- */

/* Narrow the cells, from *low to *high, to those that give these numbers. */
static bool cells_of(const struct search *s, const struct ti_rule *r, int64_t *low, int64_t *high)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct ti_known *k = &s->known[i];
        int64_t p = k->at.p[r->axis], x = k->at.x[r->axis], least, most;
        wide of = (wide)k->value - r->c0, cells = of / r->c[0];

        if (of % r->c[0] || cells < -1 || cells > HUGE_VALUE / p / 2)
            return false;
        least = (int64_t)(p * (cells - 1)) + x + 1;
        most = (int64_t)(p * cells) + x;
        *low = least > *low ? least : *low;
        *high = most < *high ? most : *high;
    }
    return *low <= *high;
}

/* Whether each part that is asked for has a cell. */
static bool has_cells(const struct search *s, const struct ti_rule *r, int64_t cells)
{
    for (size_t i = 0; i < s->nasked; i++)
        if (ti_block(cells, s->asked[i].p[r->axis], s->asked[i].x[r->axis]) == 0)
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

static void try_cells(struct search *s, struct ti_rule r)
{
    int64_t low = 1, high = HUGE_VALUE;

    if (!cells_of(s, &r, &low, &high))
        return;
    if (has_one_division(s, r.axis)) {
        s->undetermined = s->too_few ? s->undetermined : r;
        s->too_few = true;
        return;
    }
    if (!has_cells(s, &r, high)) {
        r.cells = high;
        s->no_cells = high > s->no_cells.cells ? r : s->no_cells;
        return;
    }
    r.unknowns = r.c0 ? 3 : 2;
    r.cells = low;
    keep(s, &r);
    if (high != low) {
        r.cells = high;
        keep(s, &r);
    }
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
    if (!apart || apart >= HUGE_VALUE) /* a constant is simpler */
        return;
    if (!padded) {
        try_divisors(s, r, (int64_t)each);
        return;
    }
    for (int pad = -PAD_MOST; pad <= PAD_MOST; pad++) {
        wide c0 = s->known[0].value % apart + pad * apart;

        r.c0 = (int64_t)c0;
        if (c0 && c0 < HUGE_VALUE && c0 > -HUGE_VALUE)
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
    if (!apart || apart >= HUGE_VALUE || least >= HUGE_VALUE || fewest == most)
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
            equation[t] = term_value(rule->term[t], at);
        if (rule->c0)
            equation[rule->terms] = 1;
        if (!ti__equations_add(&all, equation))
            return false;
    }
    return all.rank == all.unknowns && is_confirmed(rule, known, n, more, nmore);
}
