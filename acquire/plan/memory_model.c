#include "acquire/plan/memory_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/order.h"

#define TERMS 3

/* Growth below this is noise: the memory of a program varies so much from run to run. */
#define NOISE_PCT   1.0
#define NOISE_BYTES 65536.0

#define FEW_POINTS_PCT   5.0
#define PER_DOUBLING_PCT 2.0
#define FAR_TIMES        16

/* A third term is used only if it reduces the sum of squared residuals to this part. */
#define BELIEVED 0.25

static double term(int k, int64_t np)
{
    return k == 0 ? 1.0 : k == 1 ? 1.0 / (double)np : (double)np;
}

/* Compute the coefficients of the terms in the bit mask `which` (bit k: term k); the others are
 * given in x.  Least squares of relative residuals: normal equations, solved by elimination.
 * False if they are singular. */
static bool solve(const struct ti_memory_model *m, unsigned which, double x[TERMS])
{
    double eq[TERMS][TERMS + 1] = {{0}};
    int at[TERMS], n = 0;

    for (int k = 0; k < TERMS; k++)
        if (which & 1u << k)
            at[n++] = k;
    for (int i = 0; i < m->n; i++) {
        int64_t np = m->point[i].np;
        double y = (double)m->point[i].bytes, weight = 1 / (y * y);

        for (int k = 0; k < TERMS; k++)
            if (!(which & 1u << k))
                y -= x[k] * term(k, np);
        for (int r = 0; r < n; r++) {
            for (int c = 0; c < n; c++)
                eq[r][c] += weight * term(at[r], np) * term(at[c], np);
            eq[r][n] += weight * term(at[r], np) * y;
        }
    }
    for (int p = 0; p < n; p++) {
        double before = eq[p][p];

        for (int q = 0; q < p; q++) {
            double f = eq[p][q] / eq[q][q];

            for (int c = q; c <= n; c++)
                eq[p][c] -= f * eq[q][c];
        }
        if (fabs(eq[p][p]) <= before * 1e-12)
            return false;
    }
    for (int p = n - 1; p >= 0; p--) {
        double sum = eq[p][n];

        for (int q = p + 1; q < n; q++)
            sum -= eq[p][q] * x[at[q]];
        x[at[p]] = sum / eq[p][p];
    }
    return true;
}

static double at_np(const double x[TERMS], int64_t np)
{
    return x[0] * term(0, np) + x[1] * term(1, np) + x[2] * term(2, np);
}

static double relative(const struct ti_memory_model *m, const double x[TERMS], int i)
{
    double bytes = (double)m->point[i].bytes;

    return (at_np(x, m->point[i].np) - bytes) / bytes;
}

static double sum_of_squares(const struct ti_memory_model *m, const double x[TERMS])
{
    double sum = 0;

    for (int i = 0; i < m->n; i++)
        sum += relative(m, x, i) * relative(m, x, i);
    return sum;
}

/* Whether memory grows with np by more than noise and Open MPI's share. */
static bool grows(const struct ti_memory_model *m)
{
    const struct ti_memory_point *first = &m->point[0], *last = &m->point[m->n - 1];
    double more = (double)(last->bytes - first->bytes);

    more -= TI_PEER_BYTES * (double)(last->np - first->np);
    return more > NOISE_BYTES && more > (double)first->bytes * NOISE_PCT / 100;
}

enum { CONSTANT = 1, DIVIDED = 2, PEERS = 4 };

static void fit_without_growth(struct ti_memory_model *m, double x[TERMS])
{
    double both[TERMS] = {0, 0, TI_PEER_BYTES};

    x[0] = x[1] = 0;
    x[2] = TI_PEER_BYTES;
    if (m->n > 1 && solve(m, CONSTANT | DIVIDED, both) && both[0] >= 0 && both[1] >= 0)
        memcpy(x, both, sizeof both);
    else if (m->n > 1 && both[0] < 0)
        solve(m, DIVIDED, x);
    else
        solve(m, CONSTANT, x);
}

/* Fit c, if the points support it. */
static void fit_growth(struct ti_memory_model *m, double x[TERMS])
{
    double all[TERMS] = {0, 0, 0}, flat[TERMS] = {0, 0, 0};

    if (m->n >= TERMS + 1 && m->residual_pct > NOISE_PCT &&
        solve(m, CONSTANT | DIVIDED | PEERS, all) && all[0] >= 0 && all[1] >= 0 &&
        all[2] > TI_PEER_BYTES && sum_of_squares(m, all) < BELIEVED * sum_of_squares(m, x)) {
        memcpy(x, all, sizeof all);
        m->grows = true;
    } else if (m->n > 1 && grows(m) && solve(m, CONSTANT | PEERS, flat) &&
               flat[2] > TI_PEER_BYTES) {
        if (flat[0] < 0) {
            flat[0] = 0;
            solve(m, PEERS, flat);
        }
        memcpy(x, flat, sizeof flat);
        m->grows = true;
    }
}

static void find_residual(struct ti_memory_model *m, const double x[TERMS])
{
    m->residual_pct = 0;
    for (int i = 0; i < m->n; i++) {
        double says = at_np(x, m->point[i].np);

        m->residual_pct = fmax(m->residual_pct, 100 * fabs((double)m->point[i].bytes / says - 1));
    }
}

TI_ORDER_BY(by_np, struct ti_memory_point, np)

ti_status ti_memory_model_fit(const struct ti_memory_point *point, int n,
                              struct ti_memory_model *out, struct ti_err *err)
{
    struct ti_memory_model m = {.n = n};
    double x[TERMS];

    if (n < 1 || n > TI_MEMORY_POINTS_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "a model of memory needs 1 to %d points, not %d",
                          TI_MEMORY_POINTS_MAX, n);
    memcpy(m.point, point, (size_t)n * sizeof *point);
    qsort(m.point, (size_t)n, sizeof *m.point, by_np);
    for (int i = 0; i < n; i++) {
        if (m.point[i].np < 1 || m.point[i].bytes < 1)
            return ti_err_set(err, TI_ERR_INPUT, "no memory was measured at %" PRId64 " ranks",
                              m.point[i].np);
        if (i && m.point[i].np == m.point[i - 1].np)
            return ti_err_set(err, TI_ERR_INPUT, "memory at %" PRId64 " ranks is given twice",
                              m.point[i].np);
    }
    fit_without_growth(&m, x);
    find_residual(&m, x);
    fit_growth(&m, x);
    find_residual(&m, x);
    m.a = fmax(x[0], 0);
    m.b = fmax(x[1], 0);
    m.c = x[2];
    *out = m;
    return TI_OK;
}

double ti_memory_model_margin_pct(const struct ti_memory_model *m, int64_t np)
{
    double most = (double)m->point[m->n - 1].np;
    double pct = m->residual_pct;

    if (m->n < 3)
        pct = fmax(pct, FEW_POINTS_PCT);
    return (double)np > most ? pct + PER_DOUBLING_PCT * log2((double)np / most) : pct;
}

int64_t ti_memory_model_bytes(const struct ti_memory_model *m, int64_t np)
{
    const double x[TERMS] = {m->a, m->b, m->c};
    double bytes = at_np(x, np) * (1 + ti_memory_model_margin_pct(m, np) / 100);

    return bytes < 1 ? 1 : bytes < 9e18 ? (int64_t)ceil(bytes) : INT64_MAX;
}

bool ti_memory_model_far(const struct ti_memory_model *m, int64_t np)
{
    return np > FAR_TIMES * m->point[m->n - 1].np;
}

static bool fits(const struct ti_memory_model *m, int64_t np, int64_t more_bytes,
                 int64_t available_bytes)
{
    double rank = (double)ti_memory_model_bytes(m, np) + (double)more_bytes;

    return rank * (double)np <= (double)available_bytes;
}

/* np m(np) grows with np, so bisection finds the largest np. */
int64_t ti_memory_model_largest(const struct ti_memory_model *m, int64_t more_bytes,
                                int64_t available_bytes)
{
    int64_t yes = 0, no = 1, np;

    while (no < INT64_C(1) << 40 && fits(m, no, more_bytes, available_bytes)) {
        yes = no;
        no *= 2;
    }
    TI_FIRST(np, yes + 1, no, fits(m, np, more_bytes, available_bytes));
    return np - 1;
}

/* --- telling ------------------------------------------------------------- */

/* "4, 8 and 16" into buf; returns buf. */
static char *points_text(const struct ti_memory_model *m, char *buf, int buf_bytes)
{
    size_t room = (size_t)buf_bytes, at = 0;

    buf[0] = '\0';
    for (int i = 0; i < m->n && at < room; i++)
        at += (size_t)snprintf(buf + at, room - at, "%s%" PRId64,
                               i == 0          ? ""
                               : i == m->n - 1 ? " and "
                                               : ", ",
                               m->point[i].np);
    return buf;
}

char *ti_memory_model_text(const struct ti_memory_model *m, char *buf, int buf_bytes)
{
    char a[32], b[32], c[32], points[192], fit[64] = "";

    ti_format_size((int64_t)m->a, a, sizeof a);
    ti_format_size((int64_t)m->b, b, sizeof b);
    ti_format_size((int64_t)m->c, c, sizeof c);
    points_text(m, points, sizeof points);
    if (m->n >= 3 || m->residual_pct > FEW_POINTS_PCT)
        snprintf(fit, sizeof fit, ", to within %.1f %%", m->residual_pct);
    snprintf(buf, (size_t)buf_bytes, "%s + %s / np + %s np%s%s (%s rank%s)", a, b, c,
             m->grows ? ", growing with np" : "", fit, points,
             m->n == 1 && m->point[0].np == 1 ? "" : "s");
    return buf;
}

json_t *ti_memory_model_json(const struct ti_memory_model *m)
{
    json_t *points = json_array();

    for (int i = 0; i < m->n; i++)
        json_array_append_new(points, json_pack("{s:I, s:I}", "np", (json_int_t)m->point[i].np,
                                                "bytes", (json_int_t)m->point[i].bytes));
    return json_pack("{s:f, s:f, s:f, s:f, s:b, s:o}", "a", m->a, "b", m->b, "c", m->c,
                     "residual_pct", m->residual_pct, "grows", m->grows, "points", points);
}
