#include "gather/fetch/window.h"

#define SECONDS_MIN      1e-3      /* shorter intervals give no useful rate */
#define CREDIT_PART      4         /* grant no credit below window / CREDIT_PART ... */
#define CREDIT_BYTES_MIN (8 << 10) /* ... or this: each grant costs a message */

int64_t ti_window_begin(struct ti_window *w, double now)
{
    if (!w->bytes)
        w->bytes = TI_WINDOW_MIN;
    w->owed = w->bytes;
    w->arrived = 0;
    w->asked = w->since = now;
    return w->owed;
}

static int64_t clamp(double bytes)
{
    return bytes <= TI_WINDOW_MIN   ? TI_WINDOW_MIN
           : bytes >= TI_WINDOW_MAX ? TI_WINDOW_MAX
                                    : (int64_t)bytes;
}

/* Sets the window to measured rate x aimed time: whenever a whole window has arrived, and after
 * twice the aimed time if it has not. */
static void adapt(struct ti_window *w, double now)
{
    double aim_s = w->trip + TI_WINDOW_QUEUE_S, seconds = now - w->since, fits;
    double window = (double)w->bytes;

    if (w->arrived < w->bytes && seconds < 2 * aim_s)
        return;
    if (seconds < SECONDS_MIN)
        seconds = SECONDS_MIN;
    fits = (double)w->arrived / seconds * aim_s;
    if (fits > 2 * window)
        fits = 2 * window; /* other nodes may not have started yet */
    else if (fits < window && seconds < aim_s)
        fits = (fits + window) / 2; /* a short pause need not be a slower path */
    w->bytes = clamp(fits);
    w->arrived = 0;
    w->since = now;
}

int64_t ti_window_received(struct ti_window *w, int64_t bytes, double now)
{
    int64_t more;

    if (w->asked > 0) {
        double trip = now - w->asked;

        if (trip > TI_WINDOW_TRIP_MAX)
            trip = TI_WINDOW_TRIP_MAX;
        if (w->trip == 0 || trip < w->trip)
            w->trip = trip;
        w->asked = 0;
    }
    w->owed = w->owed > bytes ? w->owed - bytes : 0;
    w->arrived += bytes;
    adapt(w, now);
    more = w->bytes - w->owed;
    if (more < w->bytes / CREDIT_PART || more < CREDIT_BYTES_MIN)
        return 0;
    w->owed += more;
    return more;
}
