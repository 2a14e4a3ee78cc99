#include "replay-bridge/sweep/search.h"

#include <math.h>
#include <stdbool.h>

/* x - 1 grows by this factor at most at a step: where the time grows, and where it does not. */
#define LEAP_KNOWN   1000
#define LEAP_UNKNOWN 30

void ti_search_begin(struct ti_search *s, double base, double target, double most)
{
    *s = (struct ti_search){.base = base, .target = target, .most = most};
    s->low = s->last = s->before = 1;
    s->low_s = s->last_s = s->before_s = base;
}

/* Where the straight line through the last two points has the target; NAN if it has none. */
static double secant(const struct ti_search *s)
{
    double slope = (s->last_s - s->before_s) / (s->last - s->before);

    return slope > 0 ? s->last + (s->target - s->last_s) / slope : NAN;
}

/* Whether the last point halved the distance from the target. */
static bool comes_closer(const struct ti_search *s)
{
    return 2 * fabs(s->last_s - s->target) <= fabs(s->before_s - s->target);
}

/* Above all that is known. */
static double extrapolate(const struct ti_search *s)
{
    double x = secant(s), leap = 1 + (isnan(x) ? LEAP_UNKNOWN : LEAP_KNOWN) * (s->low - 1);

    if (s->low == 1) /* nothing is known but the begin */
        return fmin(1.1, s->most);
    if (isnan(x))
        x = leap;
    if (s->before > 1 && !comes_closer(s)) /* the line was too steep */
        x = fmax(x, 1 + 4 * (s->low - 1));
    return fmin(fmin(x, leap), s->most);
}

/* Between the ends of the bracket. */
static double narrow(const struct ti_search *s)
{
    double x = secant(s), width = s->high - s->low;

    if (x > s->low && x < s->high && (comes_closer(s) || s->before == 1))
        return fmin(fmax(x, s->low + 0.01 * width), s->high - 0.01 * width);
    return s->high > 4 * s->low ? sqrt(s->high * s->low) : s->low + width / 2;
}

double ti_search_next(const struct ti_search *s)
{
    return s->high > 0 ? narrow(s) : extrapolate(s);
}

static void end(struct ti_search *s, int how, double x, double seconds)
{
    s->end = how;
    s->x = x;
    s->x_s = seconds;
}

void ti_search_note(struct ti_search *s, double x, double seconds)
{
    bool had = s->high > 0;

    if (s->end != TI_SEARCH_GOES_ON || x <= s->low || (had && x >= s->high))
        return;
    s->before = s->last;
    s->before_s = s->last_s;
    s->last = x;
    s->last_s = seconds;
    if (seconds < s->target) {
        s->low = x;
        s->low_s = seconds;
    } else {
        s->high = x;
        s->high_s = seconds;
    }
    if (fabs(seconds - s->target) <= TI_SEARCH_PRECISION * (s->target - s->base))
        end(s, TI_SEARCH_FOUND, x, seconds);
    else if (s->high > 0 && s->high <= s->low * (1 + TI_SEARCH_NARROW))
        end(s, TI_SEARCH_JUMP, s->high, s->high_s);
    else if (!(s->high > 0) && s->low >= s->most)
        end(s, TI_SEARCH_NEVER, s->low, s->low_s);
}

void ti_search_stop(struct ti_search *s)
{
    if (s->high > 0)
        end(s, TI_SEARCH_JUMP, s->high, s->high_s);
    else
        end(s, TI_SEARCH_NEVER, s->low, s->low_s);
}
