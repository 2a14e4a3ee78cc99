/*
 * Bursts in nanoseconds, for targets that know no volumes.
 */
#ifndef TI_CLOCK_H
#define TI_CLOCK_H

#include "replay-bridge/trace/bursts.h"

/* How long a volume is. */
struct ti_pace {
    struct ti_bursts bursts;
    double speed; /* units of volume a second; of no use where bursts have their durations */
};

/* "8Gf", which ti_unit_check() took, as a number. */
double ti_speed_number(const char *text);

/* One rank's: what it computed and has not been told of.  Less than a nanosecond stays for
 * later, so that the sum of what is told is right. */
struct ti_clock {
    const struct ti_pace *pace;
    struct ti_burst_taker bursts;
    uint64_t ns;
    double rest; /* less than one */
};

/* `rank` of `s`, before the first event of its reader `r` is read. */
void ti_clock_start(struct ti_clock *c, const struct ti_pace *pace, const struct ti_source *s,
                    int64_t rank, struct ti_reader *r);

/* The burst before `ev`, which is event `index` of the rank. */
ti_status ti_clock_add(struct ti_clock *c, const struct ti_event *ev, uint64_t index,
                       struct ti_err *err);

/* Nanoseconds since the last call. */
uint64_t ti_clock_take(struct ti_clock *c);

#endif
