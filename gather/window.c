#include "gather/window.h"

#define SECONDS_LEAST 1e-3      /* between two looks at the clock that tell a rate */
#define TOLD_AT       4         /* a part of the window: less is not worth a message ... */
#define TOLD_LEAST    (8 << 10) /* ... and no less than this */

int64_t ti_flow_begin(struct ti_flow *f, double now)
{
    if (!f->window)
        f->window = TI_FLOW_LEAST;
    f->owed = f->window;
    f->arrived = 0;
    f->asked = f->since = now;
    return f->owed;
}

static int64_t within(double bytes)
{
    return bytes <= TI_FLOW_LEAST  ? TI_FLOW_LEAST
           : bytes >= TI_FLOW_MOST ? TI_FLOW_MOST
                                   : (int64_t)bytes;
}

/* Each time a window has come, which took it its round trip, waiting included, or has not for
 * long. */
static void adapt(struct ti_flow *f, double now)
{
    double aim_s = f->trip + TI_FLOW_QUEUE_S, seconds = now - f->since, fits;
    double window = (double)f->window;

    if (f->arrived < f->window && seconds < 2 * aim_s)
        return;
    if (seconds < SECONDS_LEAST)
        seconds = SECONDS_LEAST;
    fits = (double)f->arrived / seconds * aim_s;
    if (fits > 2 * window)
        fits = 2 * window; /* others may not have begun yet */
    else if (fits < window && seconds < aim_s)
        fits = (fits + window) / 2; /* a moment's pause */
    f->window = within(fits);
    f->arrived = 0;
    f->since = now;
}

int64_t ti_flow_take(struct ti_flow *f, int64_t bytes, double now)
{
    int64_t more;

    if (f->asked > 0) {
        double trip = now - f->asked;

        if (trip > TI_FLOW_TRIP_MOST)
            trip = TI_FLOW_TRIP_MOST;
        if (f->trip == 0 || trip < f->trip)
            f->trip = trip;
        f->asked = 0;
    }
    f->owed = f->owed > bytes ? f->owed - bytes : 0;
    f->arrived += bytes;
    adapt(f, now);
    more = f->window - f->owed;
    if (more < f->window / TOLD_AT || more < TOLD_LEAST)
        return 0;
    f->owed += more;
    return more;
}
