#include "common/share.h"

#include <math.h>
#include <stdbool.h>

#define DOUBT 0.01 /* how often one of the bounds is wrong */
#define MOST  1e7  /* samples; with more, bounds of so many are taken, which are wider */

/* Probability of `hits` of n samples if the share is p; 0 < p < 1. */
static double probability(double hits, double n, double p)
{
    return exp(lgamma(n + 1) - lgamma(hits + 1) - lgamma(n - hits + 1) + hits * log(p) +
               (n - hits) * log1p(-p));
}

/* Probability of `hits` of n samples or fewer.  The terms fall from the mean on, so they are summed
 * up away from it, until they no longer matter. */
static double at_most(double hits, double n, double p)
{
    bool below = hits < n * p;
    double k = below ? hits : hits + 1, term, sum;

    if (k > n)
        return 1;
    term = sum = probability(k, n, p);
    while (term > 1e-17 * sum && (below ? k > 0 : k < n)) {
        term *= below ? k / (n - k + 1) * (1 - p) / p : (n - k) / (k + 1) * p / (1 - p);
        k += below ? -1 : 1;
        sum += term;
    }
    return below ? sum : 1 - sum;
}

/* The share for which at_most(hits) has this probability: it falls as the share grows. */
static double share_where(double hits, double n, double wanted)
{
    double low = 0, high = 1;

    for (int i = 0; i < 50; i++) {
        double p = (low + high) / 2;

        if (at_most(hits, n, p) > wanted)
            low = p;
        else
            high = p;
    }
    return (low + high) / 2;
}

struct ti_share ti_share_of(uint64_t hits, uint64_t n)
{
    double scale = (double)n > MOST ? MOST / (double)n : 1;
    double all = (double)n * scale, had = floor((double)hits * scale);
    struct ti_share s = {0, 1};

    if (had > 0)
        s.least = share_where(had - 1, all, 1 - DOUBT);
    if (hits < n)
        s.most = share_where(had, all, DOUBT);
    return s;
}
