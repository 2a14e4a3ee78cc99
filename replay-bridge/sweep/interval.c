#include "replay-bridge/sweep/interval.h"

#include <math.h>

#include "common/spread.h"

#define CONFIDENCE 0.95

/* The probability that of n runs, exactly k are below the median. */
static double binomial(int n, int k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
}

struct ti_interval ti_interval_of(double *value, int n)
{
    struct ti_spread s = ti_spread_of(value, n);
    struct ti_interval i = {.n = n, .median = s.median, .min = s.min, .max = s.max};
    double confidence;
    int r = 1;

    if (!n)
        return i;
    i.confidence = 1 - 2 * binomial(n, 0);
    while ((confidence = i.confidence - 2 * binomial(n, r)) >= CONFIDENCE) {
        i.confidence = confidence;
        r++;
    }
    i.confidence = i.confidence > 0 ? i.confidence : 0;
    i.low = value[r - 1];
    i.high = value[n - r];
    return i;
}

json_t *ti_interval_json(const struct ti_interval *i)
{
    return json_pack("{s:i, s:f, s:[f, f], s:f, s:f, s:f}", "runs", i->n, "median_s", i->median,
                     "interval_s", i->low, i->high, "confidence", i->confidence, "min_s", i->min,
                     "max_s", i->max);
}
