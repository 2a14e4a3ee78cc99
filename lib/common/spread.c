#include "common/spread.h"

#include <math.h>
#include <stdlib.h>

#include "common/order.h"

TI_ORDER_NUMBERS(by_value, double)

/* The quantile q of n >= 1 sorted figures. */
static double quantile(const double *value, int n, double q)
{
    double at = (n + 1 / 3.0) * q + 1 / 3.0 - 1;
    int below = (int)at;

    if (at <= 0)
        return value[0];
    if (at >= n - 1)
        return value[n - 1];
    return value[below] + (at - below) * (value[below + 1] - value[below]);
}

struct ti_spread ti_spread_of(double *value, int n)
{
    struct ti_spread s = {.n = n};

    if (!n)
        return s;
    qsort(value, (size_t)n, sizeof *value, by_value);
    s.min = value[0];
    s.median = value[(n - 1) / 2] + (value[n / 2] - value[(n - 1) / 2]) / 2;
    s.max = value[n - 1];
    s.half = n > 1 ? (quantile(value, n, 0.75) - quantile(value, n, 0.25)) / 2 : NAN;
    return s;
}

bool ti_spread_known(const struct ti_spread *s)
{
    return s->n > 1;
}
