#include "extrapolate/fit.h"

#include <math.h>
#include <string.h>

#define EXACT 1e-6 /* error of a fit that is as good as a rule: a share */

/* Values at places that are known. */
struct samples {
    const struct ti_models *m;
    const struct ti_known *value;
    size_t nvalues;
};

/* Terms that a fit may add up, by decreasing simplicity; x and y are blocks that numbers have,
 * where there are any, else shares of a whole. */
#define BASES(X)                                                                                   \
    X(ONE, "1")                                                                                    \
    X(SHARE, "1, 1 / np")                                                                          \
    X(LOG, "1, log2(np)")                                                                          \
    X(RANKS, "1, np")                                                                              \
    X(AREA, "1, x y")                                                                              \
    X(SIDE_X, "1, x")                                                                              \
    X(SIDE_Y, "1, y")                                                                              \
    X(RIM_X, "1, x, x y")                                                                          \
    X(RIM_Y, "1, y, x y")                                                                          \
    X(RIM, "1, x + y, x y")                                                                        \
    X(ALL, "1, x, y, x y")
enum basis {
#define BASIS_ENUM(name, text) BASIS_##name,
    BASES(BASIS_ENUM) BASIS_COUNT
};

/* The length of a rank's part along an axis: in cells, or as a share. */
static double side_of(const struct ti_models *m, const struct ti_spot *at, int axis)
{
    if (axis >= at->axes)
        return 1;
    for (int b = 0; b < m->nblocks; b++)
        if (m->block[b].axis == axis)
            return (double)ti_block(m->block[b].cells, at->p[axis], at->x[axis]);
    return 1 / (double)at->p[axis];
}

/* Terms of a fit: a place gives each a value. */
static int basis_terms(const struct ti_models *m, int basis, const struct ti_spot *at, double *t)
{
    double x = side_of(m, at, 0), y = side_of(m, at, 1), np = (double)at->np;
    int n = 1;

    t[0] = 1;
    switch ((enum basis)basis) {
    case BASIS_ONE:
    case BASIS_COUNT:
        break;
    case BASIS_SHARE:
        t[n++] = 1 / np;
        break;
    case BASIS_LOG:
        t[n++] = log2(np);
        break;
    case BASIS_RANKS:
        t[n++] = np;
        break;
    case BASIS_AREA:
        t[n++] = x * y;
        break;
    case BASIS_SIDE_X:
        t[n++] = x;
        break;
    case BASIS_SIDE_Y:
        t[n++] = y;
        break;
    case BASIS_RIM_X:
        t[n++] = x;
        t[n++] = x * y;
        break;
    case BASIS_RIM_Y:
        t[n++] = y;
        t[n++] = x * y;
        break;
    case BASIS_RIM:
        t[n++] = x + y;
        t[n++] = x * y;
        break;
    case BASIS_ALL:
        t[n++] = x;
        t[n++] = y;
        t[n++] = x * y;
        break;
    }
    return n;
}

/* Solve the normal equations of `n` terms; false if they are singular. */
static bool solve(double a[TI_FIT_TERMS][TI_FIT_TERMS + 1], int n, double *c)
{
    for (int i = 0; i < n; i++) {
        int best = i;

        for (int r = i + 1; r < n; r++)
            if (fabs(a[r][i]) > fabs(a[best][i]))
                best = r;
        if (fabs(a[best][i]) < 1e-9 * (1 + fabs(a[0][0])))
            return false;
        for (int k = 0; k <= n; k++) {
            double v = a[i][k];

            a[i][k] = a[best][k];
            a[best][k] = v;
        }
        for (int r = 0; r < n; r++) {
            double factor = a[r][i] / a[i][i];

            for (int k = i; k <= n && r != i; k++)
                a[r][k] -= factor * a[i][k];
        }
    }
    for (int i = 0; i < n; i++)
        c[i] = a[i][n] / a[i][i];
    return true;
}

/* Fit all values but those of input `but`; each input counts as much as the others. */
static bool fit_values(const struct samples *f, int basis, int but, struct ti_fit *out)
{
    double a[TI_FIT_TERMS][TI_FIT_TERMS + 1] = {{0}}, t[TI_FIT_TERMS];
    int n = 0;

    for (size_t i = 0; i < f->nvalues; i++) {
        const struct ti_known *k = &f->value[i];

        n = basis_terms(f->m, basis, &k->at, t);
        for (int r = 0; r < n && k->input != but; r++) {
            for (int c = 0; c < n; c++)
                a[r][c] += t[r] * t[c] / (double)k->at.np;
            a[r][n] += t[r] * (double)k->value / (double)k->at.np;
        }
    }
    out->basis = basis;
    return n && solve(a, n, out->c);
}

double ti_fit_value(const struct ti_models *m, const struct ti_fit *fit, const struct ti_spot *at)
{
    double t[TI_FIT_TERMS], sum = 0;
    int n = basis_terms(m, fit->basis, at, t);

    for (int i = 0; i < n; i++)
        sum += fit->c[i] * t[i];
    return sum;
}

/* The error of a fit, as a share of the sum; of all inputs (-1), or of one. */
static double error_of(const struct samples *f, const struct ti_fit *fit, int input)
{
    double off = 0, sum = 0;

    for (size_t i = 0; i < f->nvalues; i++)
        if (input < 0 || f->value[i].input == input) {
            off += fabs(ti_fit_value(f->m, fit, &f->value[i].at) - (double)f->value[i].value);
            sum += (double)f->value[i].value;
        }
    return sum > 0 ? off / sum : off;
}

/* Whether there are more places with different terms than terms. */
static bool is_confirmed(const struct samples *f, int basis)
{
    double seen[TI_FIT_TERMS + 1][TI_FIT_TERMS], t[TI_FIT_TERMS];
    int nseen = 0, n = 0;

    for (size_t i = 0; i < f->nvalues && nseen <= n; i++) {
        bool is_new = true;

        n = basis_terms(f->m, basis, &f->value[i].at, t);
        for (int k = 0; k < nseen && is_new; k++)
            is_new = memcmp(seen[k], t, sizeof(double) * (size_t)n) != 0;
        if (is_new && nseen <= n)
            memcpy(seen[nseen++], t, sizeof(double) * (size_t)n);
    }
    return nseen > n;
}

/* The simplest fit that all inputs confirm to EXACT; else the one that gives the largest input best
 * from the others. */
bool ti_fit_find(const struct ti_models *m, const struct ti_known *value, size_t n,
                 struct ti_fit *out)
{
    const struct samples f = {m, value, n};
    struct ti_fit best = {.error = INFINITY}, fit;
    int last = m->in->n - 1;

    for (int basis = 0; basis < BASIS_COUNT; basis++) {
        if (is_confirmed(&f, basis) && fit_values(&f, basis, -1, &fit) &&
            error_of(&f, &fit, -1) <= EXACT) {
            fit.error = error_of(&f, &fit, -1);
            *out = fit;
            return true;
        }
        if (fit_values(&f, basis, last, &fit)) {
            fit.error = error_of(&f, &fit, last);
            if (fit.error < best.error)
                best = fit;
        }
    }
    if (!(best.error < INFINITY) || !fit_values(&f, best.basis, -1, out))
        return false;
    out->error = best.error;
    return true;
}
