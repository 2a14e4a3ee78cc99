#include "fold/pattern.h"

#include <stdlib.h>

#include "common/order.h"

/* Conditions on a period. */
#define VALUES_READ 2048 /* of those in front, at most */
#define TIMES       4    /* it must fit so often into the values */
#define EXPLAINS    0.15 /* share of the variance that it explains, less what chance does */
#define NEARLY      0.95 /* of what the best one explains: the shortest such period is taken */

/* Only +, -, * and / of doubles, so that the result is the same on every machine. */

/* About the binary logarithm of v + 16: noise of a burst is in proportion to it. */
static double log_of(uint64_t v)
{
    uint64_t x = v < UINT64_MAX - 16 ? v + 16 : UINT64_MAX;
    int e = 63 - __builtin_clzll(x);

    return e - 1 + (double)x / (double)(UINT64_C(1) << e);
}

/* ------------------------------------------------------------------ periods -- */

/* Add up the values of each phase. */
static void add_phases(const double *y, size_t n, uint32_t period, double *sum)
{
    for (uint32_t i = 0; i < period; i++)
        sum[i] = 0;
    for (size_t i = 0, phase = 0; i < n; i++) {
        sum[phase] += y[i];
        phase = phase + 1 < period ? phase + 1 : 0;
    }
}

static double values_of_phase(size_t n, uint32_t period, uint32_t phase)
{
    return (double)(n / period + (phase < n % period));
}

/* The share of the variance of `y`, whose mean is 0 and whose sum of squares is `total`, that a
 * period explains beyond chance. */
static double explained(const double *y, size_t n, double total, uint32_t period)
{
    double sum[TI_PATTERN_PERIOD], within = total;

    add_phases(y, n, period, sum);
    for (uint32_t i = 0; i < period; i++)
        within -= sum[i] * sum[i] / values_of_phase(n, period, i);
    return 1 - within / total * (double)(n - 1) / (double)(n - period);
}

static uint32_t find_period(const double *y, size_t n)
{
    uint32_t most = n / TIMES < TI_PATTERN_PERIOD ? (uint32_t)(n / TIMES) : TI_PATTERN_PERIOD;
    double share[TI_PATTERN_PERIOD + 1], total = 0, best = 0;

    for (size_t i = 0; i < n; i++)
        total += y[i] * y[i];
    for (uint32_t p = 2; p <= most && total > 0; p++) {
        share[p] = explained(y, n, total, p);
        best = share[p] > best ? share[p] : best;
    }
    for (uint32_t p = 2; p <= most && best > EXPLAINS; p++)
        if (share[p] >= NEARLY * best)
            return p;
    return 1;
}

/* ------------------------------------------------------------------ classes -- */

/* Phases that are neighbours in the order of their means. */
struct group {
    double n, mean;
    uint32_t phases;
};

TI_ORDER_BY_2(by_mean, struct group, mean, phases) /* `phases`: a phase, for now */

/* By how much the variance within groups grows if two become one. */
static double cost(const struct group *a, const struct group *b)
{
    return a->n * b->n / (a->n + b->n) * (b->mean - a->mean) * (b->mean - a->mean);
}

/* Join neighbours until there are few groups; returns how many. */
static uint32_t join(struct group *g, uint32_t n)
{
    for (; n > TI_PATTERN_CLASSES; n--) {
        uint32_t best = 0;

        for (uint32_t i = 1; i + 1 < n; i++)
            if (cost(&g[i], &g[i + 1]) < cost(&g[best], &g[best + 1]))
                best = i;
        g[best].mean = (g[best].mean * g[best].n + g[best + 1].mean * g[best + 1].n) /
                       (g[best].n + g[best + 1].n);
        g[best].n += g[best + 1].n;
        g[best].phases += g[best + 1].phases;
        for (uint32_t i = best + 1; i + 1 < n; i++)
            g[i] = g[i + 1];
    }
    return n;
}

static void find_classes(const double *y, size_t n, struct ti_pattern *out)
{
    struct group group[TI_PATTERN_PERIOD];
    double sum[TI_PATTERN_PERIOD];
    uint32_t order[TI_PATTERN_PERIOD], at = 0;

    add_phases(y, n, out->period, sum);
    for (uint32_t i = 0; i < out->period; i++) {
        double values = values_of_phase(n, out->period, i);

        group[i] = (struct group){values, sum[i] / values, i};
    }
    qsort(group, out->period, sizeof *group, by_mean);
    for (uint32_t i = 0; i < out->period; i++) {
        order[i] = group[i].phases;
        group[i].phases = 1;
    }
    out->classes = join(group, out->period);
    for (uint32_t class = 0; class < out->classes; class ++)
        for (uint32_t i = 0; i < group[class].phases; i++)
            out->class[order[at++]] = (uint8_t) class;
}

void ti_pattern_find(const uint64_t *value, size_t n, struct ti_pattern *out)
{
    double y[VALUES_READ], mean = 0;

    n = n < VALUES_READ ? n : VALUES_READ;
    for (size_t i = 0; i < n; i++) {
        y[i] = log_of(value[i]);
        mean += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        y[i] -= mean;
    *out = (struct ti_pattern){.period = 1, .classes = 1};
    out->period = find_period(y, n);
    if (out->period > 1)
        find_classes(y, n, out);
}
