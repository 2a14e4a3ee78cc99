#include "common/clock.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>

/* A difference above this means that the clock was set; NTP's corrections stay below. */
#define SET_S 1.0

static double read_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double ti_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double ti_wall(void)
{
    static bool known;
    static double offset; /* CLOCK_REALTIME minus ti_now(), at the first call */

    if (!known)
        offset = read_clock(CLOCK_REALTIME) - ti_now();
    known = true;
    return offset + ti_now();
}

double ti_wall_of(double machine)
{
    double now = ti_wall();

    return fabs(read_clock(CLOCK_REALTIME) - now) < SET_S ? machine : now;
}

char *ti_time_text(double seconds, char buf[32])
{
    time_t t = seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    struct tm tm;

    gmtime_r(&t, &tm);
    strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return buf;
}

double ti_milliseconds(double seconds)
{
    return floor(seconds * 1e3 + 0.5) / 1e3;
}
