#include "extrapolate/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "extrapolate/wording.h"

#define AS_GOOD 2    /* a sum whose error is so many times another's does as well */
#define ROUNDED 0.5  /* what rounding of a volume hides */
#define NOTHING 1e-3 /* a negative part that is none: a share of the value */

/* Kinds of terms, with an axis or without: X(name). */
#define KINDS(X)                                                                                   \
    X(ONE)                                                                                         \
    X(CELLS) X(SIDE) X(FACE) X(FACES) X(SIDES) X(CELLS_LOG) X(SIDE_LOG) X(SHARE) X(LOG) X(RANKS)
enum kind {
#define KIND_ENUM(name) name,
    KINDS(KIND_ENUM)
};

struct term {
    enum kind kind;
    int axis;
};

/* The sums, by decreasing simplicity: for grids of so many axes. */
#define ANY 1, TI_AXES
static const struct basis {
    int least, most, n;
    struct term term[TI_FIT_TERMS];
} bases[] = {
    {ANY, 1, {{ONE, 0}}},
    {ANY, 1, {{CELLS, 0}}},
    {2, TI_AXES, 1, {{SIDE, 0}}},
    {2, TI_AXES, 1, {{SIDE, 1}}},
    {3, TI_AXES, 1, {{SIDE, 2}}},
    {4, TI_AXES, 1, {{SIDE, 3}}},
    {ANY, 1, {{CELLS_LOG, 0}}},
    {2, TI_AXES, 1, {{SIDE_LOG, 0}}},
    {2, TI_AXES, 1, {{SIDE_LOG, 1}}},
    {ANY, 1, {{LOG, 0}}},
    {ANY, 1, {{RANKS, 0}}},
    {ANY, 2, {{ONE, 0}, {CELLS, 0}}},
    {ANY, 2, {{ONE, 0}, {SHARE, 0}}},
    {ANY, 2, {{ONE, 0}, {LOG, 0}}},
    {ANY, 2, {{ONE, 0}, {RANKS, 0}}},
    {2, TI_AXES, 2, {{ONE, 0}, {SIDE, 0}}},
    {2, TI_AXES, 2, {{ONE, 0}, {SIDE, 1}}},
    {3, TI_AXES, 2, {{ONE, 0}, {SIDE, 2}}},
    {4, TI_AXES, 2, {{ONE, 0}, {SIDE, 3}}},
    {ANY, 2, {{ONE, 0}, {CELLS_LOG, 0}}},
    {2, TI_AXES, 2, {{ONE, 0}, {SIDE_LOG, 0}}},
    {2, TI_AXES, 2, {{ONE, 0}, {SIDE_LOG, 1}}},
    {3, TI_AXES, 2, {{ONE, 0}, {FACE, 0}}},
    {3, TI_AXES, 2, {{ONE, 0}, {FACE, 1}}},
    {3, TI_AXES, 2, {{ONE, 0}, {FACE, 2}}},
    {2, TI_AXES, 3, {{ONE, 0}, {SIDE, 0}, {CELLS, 0}}},
    {2, TI_AXES, 3, {{ONE, 0}, {SIDE, 1}, {CELLS, 0}}},
    {2, TI_AXES, 3, {{ONE, 0}, {FACES, 0}, {CELLS, 0}}},
    {3, TI_AXES, 3, {{ONE, 0}, {FACE, 0}, {CELLS, 0}}},
    {3, TI_AXES, 3, {{ONE, 0}, {FACE, 1}, {CELLS, 0}}},
    {3, TI_AXES, 3, {{ONE, 0}, {FACE, 2}, {CELLS, 0}}},
    {2, 2, 4, {{ONE, 0}, {SIDE, 0}, {SIDE, 1}, {CELLS, 0}}},
    {3, TI_AXES, 4, {{ONE, 0}, {SIDES, 0}, {FACES, 0}, {CELLS, 0}}},
};
#define BASES ((int)(sizeof bases / sizeof *bases))

/* ---------------------------------------------------------------------- terms -- */

/* The cells along an axis, if numbers of the trace tell them; else NULL. */
static const struct ti_block_axis *cells_along(const struct ti_models *m, int axis)
{
    for (int b = 0; b < m->nblocks; b++)
        if (m->block[b].axis == axis)
            return &m->block[b];
    return NULL;
}

/* The length of a rank's part along an axis: in cells, or as a share. */
static double side_of(const struct ti_models *m, const struct ti_spot *at, int axis)
{
    const struct ti_block_axis *b = cells_along(m, axis);

    return b ? (double)(b->each + ti_block_dealt(b->deal, b->cells, at->p[axis], at->x[axis]))
             : 1 / (double)at->p[axis];
}

/* The product of all sides but that of an axis; of all if that is -1. */
static double face_of(const struct ti_models *m, const struct ti_spot *at, int but)
{
    double face = 1;

    for (int axis = 0; axis < at->axes; axis++)
        face *= axis == but ? 1 : side_of(m, at, axis);
    return face;
}

/* A part of n cells by its logarithm; 0 if cells are not known, so that no fit has it. */
static double log_part(double cells)
{
    return cells > 1 ? cells * log2(cells) : 0;
}

static double term_value(const struct ti_models *m, struct term t, const struct ti_spot *at)
{
    double sum = 0;

    switch (t.kind) {
    case ONE:
        return 1;
    case CELLS:
        return face_of(m, at, -1);
    case SIDE:
        return side_of(m, at, t.axis);
    case FACE:
        return face_of(m, at, t.axis);
    case FACES:
    case SIDES:
        for (int axis = 0; axis < at->axes; axis++)
            sum += t.kind == FACES ? face_of(m, at, axis) : side_of(m, at, axis);
        return sum;
    case CELLS_LOG:
        return log_part(face_of(m, at, -1));
    case SIDE_LOG:
        return log_part(side_of(m, at, t.axis));
    case SHARE:
        return 1 / (double)at->np;
    case LOG:
        return log2((double)at->np);
    case RANKS:
        return (double)at->np;
    }
    return 0;
}

double ti_fit_value(const struct ti_models *m, const struct ti_fit *fit, const struct ti_spot *at)
{
    double sum = 0;

    for (int i = 0; i < bases[fit->basis].n; i++)
        sum += fit->c[i] * term_value(m, bases[fit->basis].term[i], at);
    return sum;
}

/* -------------------------------------------------------------------- fitting -- */

/* Solve the normal equations of `n` terms; false if they are singular. */
static bool solve(long double a[TI_FIT_TERMS][TI_FIT_TERMS + 1], int n, double *c)
{
    long double norm[TI_FIT_TERMS];

    for (int i = 0; i < n; i++) {
        norm[i] = sqrtl(a[i][i]);
        if (!(norm[i] > 0))
            return false;
    }
    for (int i = 0; i < n; i++) {
        a[i][n] /= norm[i];
        for (int k = 0; k < n; k++)
            a[i][k] /= norm[i] * norm[k];
    }
    for (int i = 0; i < n; i++) {
        int best = i;

        for (int r = i + 1; r < n; r++)
            if (fabsl(a[r][i]) > fabsl(a[best][i]))
                best = r;
        if (fabsl(a[best][i]) < 1e-11L)
            return false;
        for (int k = 0; k <= n; k++) {
            long double v = a[i][k];

            a[i][k] = a[best][k];
            a[best][k] = v;
        }
        for (int r = 0; r < n; r++) {
            long double factor = a[r][i] / a[i][i];

            for (int k = i; k <= n && r != i; k++)
                a[r][k] -= factor * a[i][k];
        }
    }
    for (int i = 0; i < n; i++)
        c[i] = (double)(a[i][n] / a[i][i] / norm[i]);
    return true;
}

/* Fit all values but those of input `but`; each input counts as much as the others. */
static bool fit_values(const struct ti_fit_samples *s, int basis, int but, struct ti_fit *out)
{
    const struct basis *b = &bases[basis];
    long double a[TI_FIT_TERMS][TI_FIT_TERMS + 1] = {{0}};
    double t[TI_FIT_TERMS];
    bool any = false;

    for (size_t i = 0; i < s->nvalues; i++) {
        const struct ti_known *k = &s->value[i];

        if (k->input == but)
            continue;
        any = true;
        for (int r = 0; r < b->n; r++)
            t[r] = term_value(s->m, b->term[r], &k->at);
        for (int r = 0; r < b->n; r++) {
            for (int c = 0; c < b->n; c++)
                a[r][c] += t[r] * t[c] / (double)k->at.np;
            a[r][b->n] += t[r] * (double)k->value / (double)k->at.np;
        }
    }
    *out = (struct ti_fit){.basis = basis};
    return any && solve(a, b->n, out->c);
}

/* The error of a fit, as a share of the sum; of all inputs (-1), or of one. */
static double error_of(const struct ti_fit_samples *s, const struct ti_fit *fit, int input)
{
    double off = 0, sum = 0;

    for (size_t i = 0; i < s->nvalues; i++)
        if (input < 0 || s->value[i].input == input) {
            off += fabs(ti_fit_value(s->m, fit, &s->value[i].at) - (double)s->value[i].value);
            sum += (double)s->value[i].value;
        }
    return sum > 0 ? off / sum : off;
}

/* The largest input that has values, and the one before it (-1: none). */
static int largest(const struct ti_fit_samples *s, int *before)
{
    int last = -1;

    *before = -1;
    for (size_t i = 0; i < s->nvalues; i++)
        last = s->value[i].input > last ? s->value[i].input : last;
    for (size_t i = 0; i < s->nvalues; i++)
        if (s->value[i].input < last && s->value[i].input > *before)
            *before = s->value[i].input;
    return last;
}

/* Whether there are more places with different terms than terms, or a constant has two inputs. */
static bool is_confirmed(const struct ti_fit_samples *s, int basis)
{
    const struct basis *b = &bases[basis];
    double seen[TI_FIT_TERMS + 1][TI_FIT_TERMS] = {{0}}, t[TI_FIT_TERMS] = {0};
    int nseen = 0, before;

    if (b->n == 1 && b->term[0].kind == ONE)
        return largest(s, &before) > before && before >= 0;
    for (size_t i = 0; i < s->nvalues && nseen <= b->n; i++) {
        bool is_new = true;

        for (int k = 0; k < b->n; k++)
            t[k] = term_value(s->m, b->term[k], &s->value[i].at);
        for (int k = 0; k < nseen && is_new; k++)
            is_new = memcmp(seen[k], t, sizeof t) != 0;
        if (is_new && nseen <= b->n)
            memcpy(seen[nseen++], t, sizeof t);
    }
    return nseen > b->n;
}

/* Whether no term of a fit takes something away from a value. */
static bool is_plain(const struct ti_fit_samples *s, const struct ti_fit *fit)
{
    const struct basis *b = &bases[fit->basis];

    for (size_t i = 0; i < s->nvalues; i++)
        for (int k = 0; k < b->n; k++)
            if (fit->c[k] * term_value(s->m, b->term[k], &s->value[i].at) <
                -NOTHING * (double)s->value[i].value)
                return false;
    return true;
}

/* ------------------------------------------------------------------- choosing -- */

/* A sum that can be fitted. */
struct candidate {
    struct ti_fit fit;
    double residual; /* of all inputs */
    double missed;   /* of the largest input, if it is fitted to the others; INFINITY: it cannot */
};

/* Whether a basis is another one and a constant. */
static bool adds_constant(const struct basis *b, const struct basis *to)
{
    return b->n == 2 && to->n == 1 && b->term[0].kind == ONE && to->term[0].kind != ONE &&
           b->term[1].kind == to->term[0].kind && b->term[1].axis == to->term[0].axis;
}

/* The simplest one that all inputs confirm to TI_FIT_EXACT; else the one that misses the largest
 * input least.  If that is one term, and inputs are too few to confirm a constant beside it, it
 * gets one that is no less than 0; what it misses is known without the constant only. */
static struct candidate *choose(const struct ti_fit_samples *s, struct candidate *c, int n)
{
    struct candidate *best = NULL;

    for (int i = 0; i < n; i++) {
        if (c[i].residual <= TI_FIT_EXACT && is_confirmed(s, c[i].fit.basis))
            return &c[i];
        if (c[i].missed < INFINITY && (!best || c[i].missed < best->missed))
            best = &c[i];
    }
    for (int i = 0; best && i < n; i++)
        if (!(c[i].missed < INFINITY) && is_plain(s, &c[i].fit) &&
            adds_constant(&bases[c[i].fit.basis], &bases[best->fit.basis])) {
            c[i].missed = best->missed;
            return &c[i];
        }
    return best;
}

/* The sum of a fit over the target. */
static double sum_asked(const struct ti_fit_samples *s, const struct ti_fit *fit)
{
    double sum = 0;

    for (size_t i = 0; i < s->nasked; i++)
        sum += fmax(0, ti_fit_value(s->m, fit, &s->asked[i]));
    return sum;
}

/* Steps, each as large as that to the largest input from the one before, to the target. */
static double steps_of(const struct ti_fit_samples *s)
{
    const struct ti_input *in = s->m->in->input;
    int before, last = largest(s, &before);
    double step = before >= 0 ? log((double)in[last].np / (double)in[before].np) : 1;

    return fmax(1, log((double)s->m->np / (double)in[last].np) / step);
}

/* Find the interval of a fit: what those that do as well give, AS_GOOD times as far as it missed
 * the largest input, for each step to the target, and what rounding hides. */
static void find_interval(const struct ti_fit_samples *s, const struct candidate *c, int n,
                          const struct candidate *is, struct ti_fit *out, struct ti_fit *rival)
{
    double missed = AS_GOOD * fmax(out->error, TI_FIT_EXACT);
    double residual = AS_GOOD * fmax(is->residual, TI_FIT_EXACT), sum = sum_asked(s, &is->fit);
    double off = missed * steps_of(s) + (sum > 0 ? ROUNDED * (double)s->nasked / sum : 0);

    *rival = *out;
    out->low = out->high = 1;
    for (int i = 0; i < n && sum > 0; i++) {
        double share;

        if (c[i].residual > residual || (c[i].missed < INFINITY && c[i].missed > missed) ||
            (!(c[i].missed < INFINITY) && !is_plain(s, &c[i].fit)))
            continue;
        share = sum_asked(s, &c[i].fit) / sum;
        if (fmax(1 - share, share - 1) > fmax(1 - out->low, out->high - 1))
            *rival = c[i].fit;
        out->low = fmin(out->low, share);
        out->high = fmax(out->high, share);
    }
    out->low = fmax(0, out->low - off);
    out->high += off;
}

bool ti_fit_find(const struct ti_fit_samples *s, struct ti_fit *out, struct ti_fit *rival)
{
    struct candidate c[BASES];
    struct candidate *is;
    int n = 0, before, last = largest(s, &before), axes = s->m->grid.axes;

    for (int basis = 0; basis < BASES; basis++) {
        struct ti_fit fit;

        if (axes < bases[basis].least || axes > bases[basis].most ||
            !fit_values(s, basis, -1, &c[n].fit))
            continue;
        c[n].residual = error_of(s, &c[n].fit, -1);
        c[n].missed = fit_values(s, basis, last, &fit) ? error_of(s, &fit, last) : INFINITY;
        n++;
    }
    is = choose(s, c, n);
    if (!is)
        return false;
    *out = is->fit;
    out->error = is->missed < INFINITY ? is->missed : is->residual;
    find_interval(s, c, n, is, out, rival);
    return true;
}

/* ----------------------------------------------------------------------- text -- */

/* Add a side: as a factor of what is there, or as the first of several. */
static void add_side(struct ti_wording *t, const struct ti_models *m, int axis, bool first)
{
    const struct ti_block_axis *b = cells_along(m, axis);

    if (!b) {
        ti_wording_add(t, "%s / p%c", first ? "1" : "", "xyzw"[axis]);
        return;
    }
    ti_wording_add(t, first ? "" : " * ");
    ti_wording_block(t, b->deal, b->cells, b->each, axis);
}

static void add_face(struct ti_wording *t, const struct ti_models *m, int but, bool first)
{
    for (int axis = 0; axis < m->grid.axes; axis++)
        if (axis != but) {
            add_side(t, m, axis, first);
            first = false;
        }
}

/* Add a sum of all sides, or faces. */
static void add_all(struct ti_wording *t, const struct ti_models *m, bool faces)
{
    for (int axis = 0; axis < m->grid.axes; axis++) {
        ti_wording_add(t, axis ? " + " : " * (");
        if (faces)
            add_face(t, m, axis, true);
        else
            add_side(t, m, axis, true);
    }
    ti_wording_add(t, ")");
}

/* Add a term as a factor of what is there. */
static void add_term(struct ti_wording *t, const struct ti_models *m, struct term is)
{
    switch (is.kind) {
    case ONE:
        break;
    case CELLS:
        add_face(t, m, -1, false);
        break;
    case FACE:
        add_face(t, m, is.axis, false);
        break;
    case SIDE:
        add_side(t, m, is.axis, false);
        break;
    case FACES:
    case SIDES:
        add_all(t, m, is.kind == FACES);
        break;
    case CELLS_LOG:
        add_face(t, m, -1, false);
        ti_wording_add(t, " * log2(");
        add_face(t, m, -1, true);
        ti_wording_add(t, ")");
        break;
    case SIDE_LOG:
        add_side(t, m, is.axis, false);
        ti_wording_add(t, " * log2(");
        add_side(t, m, is.axis, true);
        ti_wording_add(t, ")");
        break;
    case SHARE:
        ti_wording_add(t, " / np");
        break;
    case LOG:
        ti_wording_add(t, " * log2(np)");
        break;
    case RANKS:
        ti_wording_add(t, " * np");
        break;
    }
}

const char *ti_fit_text(const struct ti_models *m, const struct ti_fit *fit, char *buf, size_t room)
{
    const struct basis *b = &bases[fit->basis];
    struct ti_wording t = {buf, room};

    if (room)
        *buf = '\0';
    for (int i = 0; i < b->n; i++) {
        const char *sign = fit->c[i] < 0 ? "-" : "", *with = fit->c[i] < 0 ? " - " : " + ";

        ti_wording_add(&t, "%s%.6g", i ? with : sign, fabs(fit->c[i]));
        add_term(&t, m, b->term[i]);
    }
    return buf;
}
