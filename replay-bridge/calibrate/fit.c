/*
 * Dynamic programming over the sizes.  The best cover of the first j sizes with k segments is a
 * best cover of the first i sizes with k - 1 segments, and one segment from i to j.  Prefix sums of
 * powers give the line of each range in constant time.
 */
#include "replay-bridge/calibrate/fit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/order.h"

#define FEWEST     3     /* minimum number of sizes in a segment, see long_enough() */
#define PARAMETERS 3     /* of a segment: its begin, startup, per_byte */
#define EXACT      0.005 /* relative; errors below this do not justify further segments */

/* Sums over points, each divided by the square of its scale. */
struct sums {
    double w, x, y, xx, xy, yy;
};

struct table {
    int n;             /* sizes */
    double *size;      /* distinct, ascending */
    struct sums *upto; /* n + 1 prefix sums: upto[j] is over the first j sizes */
    double *cost;      /* [k * (n + 1) + j]: minimum error of the first j sizes with k segments */
    int *begin;        /* same index: begin of the last of these segments */
};

struct line {
    double startup, per_byte, cost;
};

TI_ORDER_BY(by_size, struct ti_fit_point, size)

static struct sums add(struct sums s, const struct ti_fit_point *p)
{
    double w = 1 / (p->scale * p->scale), x = p->size, y = p->seconds;

    return (struct sums){s.w + w,          s.x + w * x,      s.y + w * y,
                         s.xx + w * x * x, s.xy + w * x * y, s.yy + w * y * y};
}

static double error_of(const struct sums *s, double a, double b)
{
    double e =
        s->yy + a * a * s->w + b * b * s->xx - 2 * a * s->y - 2 * b * s->xy + 2 * a * b * s->x;

    return e > 0 ? e : 0;
}

/* The best line through sizes i to j - 1 with startup and slope of 0 or more. */
static struct line line_of(const struct table *t, int i, int j)
{
    const struct sums *to = &t->upto[j], *of = &t->upto[i];
    struct sums s = {to->w - of->w,   to->x - of->x,   to->y - of->y,
                     to->xx - of->xx, to->xy - of->xy, to->yy - of->yy};
    double det = s.w * s.xx - s.x * s.x;
    double b = j - i > 1 && det > 0 ? (s.w * s.xy - s.x * s.y) / det : 0;
    double a;

    if (!(b > 0))
        b = 0;
    a = (s.y - b * s.x) / s.w;
    if (a < 0) {
        a = 0;
        b = s.xx > 0 && s.xy > 0 ? s.xy / s.xx : 0;
    }
    return (struct line){a, b, error_of(&s, a, b)};
}

/* Whether sizes i to j - 1 are on one side of the cut. */
static bool may_cover(const struct table *t, int i, int j, double cut)
{
    return !(t->size[i] < cut && t->size[j - 1] >= cut);
}

/* Whether sizes i to j - 1 are enough for a segment.  All sizes on one side of the cut always are.
 */
static bool long_enough(const struct table *t, int i, int j, double cut)
{
    bool left = i == 0 || (cut > 0 && t->size[i - 1] < cut && t->size[i] >= cut);
    bool right = j == t->n || (cut > 0 && t->size[j - 1] < cut && t->size[j] >= cut);

    return j - i >= FEWEST || (left && right);
}

static void cover(struct table *t, int k, int j, double cut)
{
    int row = k * (t->n + 1);

    t->cost[row + j] = DBL_MAX;
    for (int i = k - 1; i < j; i++) {
        double before = k == 1 ? (i == 0 ? 0 : DBL_MAX) : t->cost[row - t->n - 1 + i], c;

        if (before == DBL_MAX || !may_cover(t, i, j, cut) || !long_enough(t, i, j, cut))
            continue;
        c = before + line_of(t, i, j).cost;
        if (c < t->cost[row + j]) {
            t->cost[row + j] = c;
            t->begin[row + j] = i;
        }
    }
}

/* The number of segments with the lowest information criterion; 0 if none covers all sizes. */
static int choose(const struct table *t, int points, int most)
{
    double best = DBL_MAX, worth;
    int chosen = 0;

    for (int k = 1; k <= most; k++) {
        double cost = t->cost[k * (t->n + 1) + t->n];

        if (cost == DBL_MAX)
            continue;
        worth = points * log(cost / points + EXACT * EXACT) + PARAMETERS * k * log(points);
        if (worth < best) {
            best = worth;
            chosen = k;
        }
    }
    return chosen;
}

static void judge(struct ti_segment *s, double end, const struct ti_fit_point *p, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double off;

        if (p[i].size < s->from || p[i].size >= end)
            continue;
        off = fabs(s->startup + s->per_byte * p[i].size - p[i].seconds) / p[i].scale;
        sum += off;
        s->max_error = fmax(s->max_error, off);
        s->points++;
    }
    s->mean_error = s->points ? sum / s->points : 0;
}

static void tell(const struct table *t, int k, double cut, const struct ti_fit_point *p, int n,
                 struct ti_segment *out)
{
    double end = INFINITY;

    for (int j = t->n; k > 0; k--) {
        int i = t->begin[k * (t->n + 1) + j];
        struct line l = line_of(t, i, j);

        out[k - 1] =
            (struct ti_segment){.from = t->size[i], .startup = l.startup, .per_byte = l.per_byte};
        if (cut > 0 && i > 0 && t->size[i - 1] < cut && t->size[i] >= cut)
            out[k - 1].from = cut;
        judge(&out[k - 1], end, p, n);
        end = out[k - 1].from;
        j = i;
    }
}

static void sum_up(struct table *t, const struct ti_fit_point *p, int n)
{
    t->upto[0] = (struct sums){0};
    for (int i = 0; i < n; i++) {
        if (!t->n || p[i].size != t->size[t->n - 1]) {
            t->size[t->n++] = p[i].size;
            t->upto[t->n] = t->upto[t->n - 1];
        }
        t->upto[t->n] = add(t->upto[t->n], &p[i]);
    }
}

static ti_status check(const struct ti_fit_point *p, int n, struct ti_err *err)
{
    if (n < 1)
        return ti_err_set(err, TI_ERR_INPUT, "there is no measured time to fit");
    if (n > TI_FIT_POINTS_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "%d measured times are too many to fit", n);
    for (int i = 0; i < n; i++)
        if (!isfinite(p[i].size) || p[i].size < 0 || !isfinite(p[i].seconds) ||
            !isfinite(p[i].scale) || !(p[i].scale > 0))
            return ti_err_set(err, TI_ERR_INPUT, "a measured time, or its size, is no number");
    return TI_OK;
}

ti_status ti_fit(const struct ti_fit_point *point, int n, double cut, int most,
                 struct ti_segment segment[TI_FIT_SEGMENTS_MAX], int *nsegments, struct ti_err *err)
{
    struct table t = {0};
    struct ti_fit_point *p = NULL;
    ti_status st = check(point, n, err);

    if (st)
        return st;
    p = malloc((size_t)n * sizeof *p);
    t.size = malloc((size_t)n * sizeof *t.size);
    t.upto = malloc((size_t)(n + 1) * sizeof *t.upto);
    t.cost = malloc((size_t)(most + 1) * (size_t)(n + 1) * sizeof *t.cost);
    t.begin = malloc((size_t)(most + 1) * (size_t)(n + 1) * sizeof *t.begin);
    if (p && t.size && t.upto && t.cost && t.begin) {
        for (int i = 0; i < n; i++)
            p[i] = point[i];
        qsort(p, (size_t)n, sizeof *p, by_size);
        sum_up(&t, p, n);
        for (int k = 1; k <= most; k++)
            for (int j = 0; j <= t.n; j++)
                cover(&t, k, j, cut);
        *nsegments = choose(&t, n, most);
        tell(&t, *nsegments, cut, p, n, segment);
        if (!*nsegments)
            st = ti_err_set(err, TI_ERR_INPUT, "%d segments are too few for these sizes", most);
    } else {
        st = ti_err_errno(err, TI_ERR_IO, "cannot fit %d measured times", n);
    }
    free(p);
    free(t.size);
    free(t.upto);
    free(t.cost);
    free(t.begin);
    return st;
}

double ti_fit_at(const struct ti_segment *segment, int n, double size)
{
    int at = 0;

    while (at + 1 < n && size >= segment[at + 1].from)
        at++;
    return segment[at].startup + segment[at].per_byte * size;
}
