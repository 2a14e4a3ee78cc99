#include "extrapolate/rule.h"

#include <stdlib.h>
#include <string.h>

#define HUGE_VALUE (INT64_C(1) << 62)
#define UNKNOWNS   (TI_RULE_TERMS + 1)
#define PAD_MOST   4 /* cells at each side of a block, and their multiples, that are tried */
#define RULES_MOST 64

typedef __int128 wide;

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

static int64_t term_value(struct ti_term t, const struct ti_spot *s)
{
    int64_t power = INT64_C(1) << (s->t < 40 ? s->t : 40);

    switch (t.kind) {
    case TI_TERM_NP:
        return s->np;
    case TI_TERM_LOG_NP:
        return log2_of(s->np);
    case TI_TERM_RANK:
        return s->rank;
    case TI_TERM_TRIP:
        return s->t;
    case TI_TERM_POW_TRIP:
        return power;
    case TI_TERM_P:
        return s->p[t.axis];
    case TI_TERM_LOG_P:
        return log2_of(s->p[t.axis]);
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

wide ti_gcd(wide a, wide b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        wide r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* --------------------------------------------------------------------- value -- */

/* Whether a term is a logarithm of a number that is no power of two. */
static bool is_no_power(struct ti_term t, const struct ti_spot *at)
{
    int64_t of = t.kind == TI_TERM_LOG_NP ? at->np : t.kind == TI_TERM_LOG_P ? at->p[t.axis] : 1;

    return of & (of - 1);
}

static bool sum_value(const struct ti_rule *r, const struct ti_spot *at, int64_t *out)
{
    wide sum = r->c0;

    for (int i = 0; i < r->terms; i++) {
        if (is_no_power(r->term[i], at)) /* programs round it up, or down */
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
        v = (wide)r->c[0] * (r->pad[0] + ti_block(r->cells, at->p[r->axis], at->x[r->axis])) *
            (r->pad[1] + ti_block(r->cells2, at->p[r->axis2], at->x[r->axis2]));
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

/* ---------------------------------------------------------------------- sums -- */

/* A linear system in the making: rows of the reduced form, each with a pivot. */
struct system {
    int unknowns, rank;
    wide row[UNKNOWNS][UNKNOWNS + 1];
    int pivot[UNKNOWNS];
};

static bool is_large(const wide *row, int n)
{
    const wide limit = (wide)1 << 60;

    for (int i = 0; i < n; i++)
        if (row[i] > limit || row[i] < -limit)
            return true;
    return false;
}

/* Divide a row by the greatest common divisor of its members. */
static void shorten(wide *row, int n)
{
    wide divisor = 0;

    for (int i = 0; i < n; i++)
        divisor = ti_gcd(divisor, row[i]);
    for (int i = 0; i < n && divisor > 1; i++)
        row[i] /= divisor;
}

/* Add an equation; false if it contradicts the others, or numbers become too large. */
static bool add_equation(struct system *s, const wide *equation)
{
    int n = s->unknowns + 1, pivot = 0;
    wide row[UNKNOWNS + 1];

    memcpy(row, equation, sizeof(wide) * (size_t)n);
    for (int r = 0; r < s->rank; r++) {
        wide a = s->row[r][s->pivot[r]], b = row[s->pivot[r]];

        for (int i = 0; i < n; i++)
            row[i] = row[i] * a - s->row[r][i] * b;
        shorten(row, n);
        if (is_large(row, n))
            return false;
    }
    while (pivot < s->unknowns && row[pivot] == 0)
        pivot++;
    if (pivot == s->unknowns)
        return row[pivot] == 0;
    memcpy(s->row[s->rank], row, sizeof row);
    s->pivot[s->rank++] = pivot;
    return true;
}

/* Solve it: the unknowns are out[i] / *d.  All must have a pivot. */
static bool solve(const struct system *s, int64_t *out, int64_t *d)
{
    wide numerator[UNKNOWNS] = {0}, divisor = 1;

    for (int r = s->rank - 1; r >= 0; r--) {
        const wide *row = s->row[r];
        int pivot = s->pivot[r];
        wide sum = row[s->unknowns] * divisor;

        for (int i = 0; i < s->unknowns; i++)
            if (i != pivot)
                sum -= row[i] * numerator[i];
        for (int i = 0; i < s->unknowns; i++)
            numerator[i] *= row[pivot];
        numerator[pivot] = sum;
        divisor *= row[pivot];
        if (is_large(&divisor, 1) || is_large(numerator, s->unknowns))
            return false;
    }
    if (divisor < 0) {
        divisor = -divisor;
        for (int i = 0; i < s->unknowns; i++)
            numerator[i] = -numerator[i];
    }
    {
        wide common = divisor;

        for (int i = 0; i < s->unknowns; i++)
            common = ti_gcd(common, numerator[i]);
        for (int i = 0; i < s->unknowns; i++)
            out[i] = (int64_t)(numerator[i] / common);
        *d = (int64_t)(divisor / common);
    }
    return true;
}

/* ------------------------------------------------------------------ searching -- */

struct search {
    const struct ti_known *known;
    size_t n;
    int largest; /* input */
    const struct ti_spot *asked;
    size_t nasked;
    int64_t unit; /* of a cell */
    struct ti_rule rule[RULES_MOST];
    int nrules;
    bool too_few;                /* a rule was not determined without the largest input ... */
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

static void keep(struct search *s, const struct ti_rule *r)
{
    if (s->nrules < RULES_MOST)
        s->rule[s->nrules++] = *r;
}

/* Find the constants of a sum of given terms, of all places but those of the largest input; a
 * constant is one of them if `c0`. */
static void try_terms(struct search *s, struct ti_rule r, bool c0)
{
    struct system all = {.unknowns = r.terms + c0}, smaller;
    int64_t out[UNKNOWNS];

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->n; i++) {
            const struct ti_known *k = &s->known[i];
            wide equation[UNKNOWNS + 1];

            if ((k->input == s->largest) != pass)
                continue;
            for (int t = 0; t < r.terms; t++)
                equation[t] = term_value(r.term[t], &k->at);
            if (c0)
                equation[r.terms] = 1;
            equation[all.unknowns] = wanted(&r, k);
            if (!add_equation(&all, equation))
                return;
        }
        if (!pass)
            smaller = all;
    }
    if (smaller.rank < smaller.unknowns) {
        if (all.rank == all.unknowns && !s->too_few) {
            s->too_few = true;
            s->undetermined = r;
            s->undetermined.c0 = c0;
        }
        return;
    }
    if (!solve(&all, out, &r.d))
        return;
    for (int t = 0; t < r.terms; t++) {
        if (out[t] == 0)
            return; /* found with fewer terms */
        r.c[t] = out[t];
    }
    r.c0 = c0 ? out[r.terms] : 0;
    r.unknowns = all.unknowns + (r.kind == TI_RULE_PARTNER);
    if ((r.terms == 0 || !c0 || r.c0 != 0) && is_right(s, &r))
        keep(s, &r);
}

/* Whether a term can be one of a rule: it has several values at the places that are known, since
 * otherwise it is a constant; and logarithms are those of powers of two. */
static bool is_useful(const struct search *s, struct ti_term t)
{
    int64_t first = term_value(t, &s->known[0].at);
    bool varies = false;

    for (size_t i = 0; i < s->n; i++) {
        const struct ti_spot *at = &s->known[i].at;

        varies |= term_value(t, at) != first;
        if (is_no_power(t, at))
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
        int64_t p = k->at.p[r->axis], x = k->at.x[r->axis], cells, least, most;

        if ((k->value - r->c0) % r->c[0] || (cells = (k->value - r->c0) / r->c[0]) < -1 ||
            cells > HUGE_VALUE / p / 2)
            return false;
        least = p * (cells - 1) + x + 1;
        most = p * cells + x;
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
    for (int64_t d = 1; each % s->unit == 0 && d <= each / s->unit / d; d++) {
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

/* Blocks with and without cells at their sides.  Without, a cell is a part of each number; with,
 * their differences tell its size. */
static void try_blocks(struct search *s, int axis, bool padded)
{
    wide each = 0, apart = 0;
    struct ti_rule r = {.kind = TI_RULE_BLOCK, .axis = axis, .d = 1};

    for (size_t i = 0; i < s->n; i++) {
        each = ti_gcd(each, s->known[i].value);
        apart = ti_gcd(apart, (wide)s->known[i].value - s->known[0].value);
    }
    if (!apart) /* a constant is simpler */
        return;
    if (!padded) {
        try_divisors(s, r, (int64_t)each);
        return;
    }
    r.c[0] = (int64_t)apart;
    for (int pad = -PAD_MOST; pad <= PAD_MOST; pad++) {
        r.c0 = (int64_t)(s->known[0].value % apart + pad * apart);
        if (r.c0)
            try_cells(s, r);
    }
}

/*
 * Parts that remain as large when there are more of them (weak scaling): each has so many cells,
 * and the first ones have one more, or the last ones one less: 8 p - 4 cells are 8 for each part
 * but the last four.  Where all inputs have as many parts, this cannot be told from a fixed number
 * of cells.
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
    if (!apart || fewest == most)
        return;
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
    for (int unknowns = 0; unknowns <= UNKNOWNS && !s.nrules && n; unknowns++)
        try_all(&s, unknowns);
    if (!s.nrules && s.no_cells.cells) {
        out[0] = s.no_cells;
        return TI_FOUND_NO_CELLS;
    }
    out[0] = s.nrules ? s.rule[0] : s.undetermined;
    if (!s.nrules)
        return s.too_few ? TI_FOUND_TOO_FEW : TI_FOUND_NONE;
    for (int k = 1; k < s.nrules; k++)
        for (size_t i = 0; i < nasked; i++) {
            int64_t a = 0, b = 0;
            bool first = ti_rule_value(&s.rule[0], &asked[i], &a);

            if (first != ti_rule_value(&s.rule[k], &asked[i], &b) || a != b) {
                out[1] = s.rule[k];
                *where = i;
                return TI_FOUND_RIVALS;
            }
        }
    return TI_FOUND_RULE;
}

/* Constants follow from places alone, whatever the numbers there are: all are taken as 0. */
bool ti_rule_is_determined(const struct ti_rule *rule, const struct ti_known *known, size_t n,
                           const struct ti_spot *more, size_t nmore)
{
    struct system all = {.unknowns = rule->terms + (rule->c0 != 0)};
    int largest = 0;

    for (size_t i = 0; i < n; i++)
        largest = known[i].input > largest ? known[i].input : largest;
    for (size_t i = 0; i < n + nmore; i++) {
        const struct ti_spot *at = i < n ? &known[i].at : &more[i - n];
        wide equation[UNKNOWNS + 1] = {0};

        if (i < n && known[i].input == largest)
            continue;
        for (int t = 0; t < rule->terms; t++)
            equation[t] = term_value(rule->term[t], at);
        if (rule->c0)
            equation[rule->terms] = 1;
        if (!add_equation(&all, equation))
            return false;
    }
    return all.rank == all.unknowns;
}
