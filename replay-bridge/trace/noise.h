/*
 * Noise: bursts that take longer or shorter than their volume says (--noise).
 *
 * The amount of a burst is multiplied by three factors.  Two of them last: a node, or a core, is
 * slower than another one during the whole replay.  The third factor changes from burst to burst.
 * Each factor is drawn from the log-normal distribution with mean 1 and the given standard
 * deviation.  So no burst is negative, and noise does not change the mean length of a burst.
 *
 * A factor is a function of the seed and of what it belongs to: the name of a host, the rank of the
 * simulation, the rank and the number of its event.  So all engines draw the same factors, and a
 * host is as slow as before if ranks are placed in another way.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_NOISE_H
#define TI_REPLAY_BRIDGE_TRACE_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ti_noise {
    /* Standard deviations, relative to the mean: 0.03 is 3 %.  0: none, negative: not given. */
    double node, core, burst;
    bool rate;        /* the deviation of a burst is that of its rate (struct ti_bursts) */
    bool calibration; /* what is not given is that of a calibration file, which the caller reads */
    uint64_t seed;
};

#define TI_NOISE_MOST       10 /* largest standard deviation */
#define TI_NOISE_TEXT_BYTES 128

/* The value of an option before it is parsed: nothing is given. */
#define TI_NOISE_NONE                                                                              \
    (struct ti_noise)                                                                              \
    {                                                                                              \
        .node = -1, .core = -1, .burst = -1                                                        \
    }

/*
 * Parses "PART[,PART]..." into *out, except its seed.  A part is calibration, rate, node:X, core:X
 * or burst:X; X alone is burst:X.  X is "3%" or "0.03".  TI_ERR_USAGE.
 */
ti_status ti_noise_parse(const char *text, struct ti_noise *out, struct ti_err *err);

/* Whether any burst changes. */
bool ti_noise_any(const struct ti_noise *n);

/* Writes what ti_noise_parse() reads, with all digits: "rate,core:0.01"; "" if there is no noise.
 */
void ti_noise_text(const struct ti_noise *n, char out[TI_NOISE_TEXT_BYTES]);

/* The product of the factors that last, for rank `rank` of the simulation on the host `host`. */
double ti_noise_lasting(const struct ti_noise *n, int64_t rank, const char *host);

/* The factor of the burst before event `index` of rank `rank`, with a standard deviation of
 * `deviation`. */
double ti_noise_burst(const struct ti_noise *n, double deviation, int64_t rank, uint64_t index);

#endif
