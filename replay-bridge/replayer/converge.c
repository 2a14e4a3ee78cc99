#include "replay-bridge/replayer/converge.h"

#include <math.h>

#define WINDOW_MOST  64   /* trips */
#define WINDOWS_MOST 64   /* that are compared */
#define SHRINKS      0.95 /* see converge.h */
#define REORDERED    5e-5 /* a share, see converge.h */
#define BATCHES      8
#define T_95         2.365 /* quantile of Student's distribution: BATCHES - 1 degrees of freedom */

static size_t fewest(const struct ti_trip_times *rank, size_t nranks)
{
    size_t n = SIZE_MAX;

    for (size_t r = 0; r < nranks; r++)
        n = rank[r].n < n ? rank[r].n : n;
    return n;
}

/* The time that is `back` trips before the latest one. */
static double at(const struct ti_trip_times *rank, size_t back)
{
    return rank->at[rank->n - 1 - back];
}

/* The mean over all ranks of the time of `k` windows, per window; and how much ranks differ. */
static double mean_of(const struct ti_trip_times *rank, size_t nranks, size_t window, size_t k,
                      double *differ)
{
    double sum = 0, least = INFINITY, most = -INFINITY;

    for (size_t r = 0; r < nranks; r++) {
        double mean = (at(&rank[r], 0) - at(&rank[r], k * window)) / (double)k;

        sum += mean;
        least = mean < least ? mean : least;
        most = mean > most ? mean : most;
    }
    *differ = most - least;
    return sum / (double)nranks;
}

/* Compares the latest windows of `window` trips: as many as give the least error. */
static struct ti_trip_time compare(const struct ti_trip_times *rank, size_t nranks, size_t trips,
                                   size_t window, double error, double rounding_s)
{
    struct ti_trip_time best = {.window = window, .error_s = INFINITY};
    double range = 0;

    for (size_t k = 2; k <= trips / window && k <= WINDOWS_MOST; k++) {
        double differ, seconds = mean_of(rank, nranks, window, k, &differ), bound;

        for (size_t r = 0; r < nranks; r++) {
            double first = at(&rank[r], (k - 1) * window) - at(&rank[r], k * window);

            for (size_t j = 0; j + 1 < k; j++) {
                double other = at(&rank[r], j * window) - at(&rank[r], (j + 1) * window);

                range = fmax(range, fabs(other - first));
            }
        }
        bound = REORDERED * seconds + differ + range / (1 - pow(SHRINKS, (double)(k - 1))) +
                rounding_s * sqrt((double)window / (double)k);
        if (bound < best.error_s) {
            best.error_s = bound;
            best.seconds = seconds;
        }
        if (best.error_s <= error * best.seconds)
            break;
    }
    return best;
}

bool ti_trips_converged(const struct ti_trip_times *rank, size_t nranks, double error,
                        double rounding_s, struct ti_trip_time *out)
{
    size_t n = fewest(rank, nranks);
    double least = INFINITY;

    for (size_t window = 1; n && 2 * window < n && window <= WINDOW_MOST; window *= 2) {
        struct ti_trip_time found = compare(rank, nranks, n - 1, window, error, rounding_s);
        double share = found.seconds > 0 ? found.error_s / found.seconds : 0;

        if (share < least) {
            *out = found;
            least = share;
        }
        if (share <= error)
            return true;
    }
    return false;
}

/* The last three quarters of the trips in batches.  Ranks wait for each other, so the times of a
 * trip on two ranks are not independent, and the series is that of their mean. */
bool ti_trips_have_mean(const struct ti_trip_times *rank, size_t nranks, double error,
                        struct ti_trip_time *out)
{
    size_t n = fewest(rank, nranks), batch = n ? (n - 1) * 3 / 4 / BATCHES : 0;
    double mean, differ, squares = 0, halves = 0;

    if (n <= 2 * BATCHES)
        return false;
    mean = mean_of(rank, nranks, batch, BATCHES, &differ);
    for (size_t b = 0; b < BATCHES; b++) {
        double sum = 0, apart;

        for (size_t r = 0; r < nranks; r++)
            sum += at(&rank[r], b * batch) - at(&rank[r], (b + 1) * batch);
        apart = sum / (double)nranks - mean;
        squares += apart * apart;
        halves += 2 * b < BATCHES ? apart : -apart;
    }
    *out = (struct ti_trip_time){.window = BATCHES * batch,
                                 .seconds = BATCHES * mean,
                                 .error_s = BATCHES *
                                            (T_95 * sqrt(squares / (BATCHES - 1) / BATCHES) +
                                             differ + fabs(halves) / BATCHES + REORDERED * mean)};
    return out->error_s <= error * out->seconds;
}
