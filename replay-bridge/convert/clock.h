/*
 * Bursts in nanoseconds, for the targets that have no volumes: Dimemas and GOAL.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_CLOCK_H
#define TI_REPLAY_BRIDGE_CONVERT_CLOCK_H

#include "replay-bridge/trace/bursts.h"

/* How volumes become time. */
struct ti_pace {
    struct ti_bursts bursts;
    double speed; /* units of volume per second; unused with TI_BURSTS_TIMES */
};

/* A speed such as "8Gf" as a number.  ti_unit_check() must have accepted the text. */
double ti_speed_number(const char *text);

/*
 * The computation of one rank that is not written yet.  Fractions of a nanosecond are carried over
 * to the next burst, so that the sum over all bursts is exact to a nanosecond.
 */
struct ti_clock {
    const struct ti_pace *pace;
    struct ti_burst_taker bursts;
    uint64_t ns;
    double rest; /* fraction of a nanosecond, below 1 */
};

/* Start the clock of `rank` of `s` at 0, before the first event is read from its reader `r`. */
void ti_clock_start(struct ti_clock *c, const struct ti_pace *pace, const struct ti_source *s,
                    int64_t rank, struct ti_reader *r);

/* Add the burst before `ev`, which is event `index` of the rank.  TI_ERR_INPUT if the sum does not
 * fit into 64 bits. */
ti_status ti_clock_add(struct ti_clock *c, const struct ti_event *ev, uint64_t index,
                       struct ti_err *err);

/* The nanoseconds since the last call of this function. */
uint64_t ti_clock_next(struct ti_clock *c);

#endif
