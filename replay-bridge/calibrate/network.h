/*
 * SMPI's model of messages, fitted to measured times.
 *
 * In SMPI a message of s bytes, up to the eager limit, takes
 *
 *   os(s) + latency * latency_factor + (s + 16) / (bandwidth * bandwidth_factor) + or(s)
 *
 * from the begin of its send to the end of its receive.  os is spent in the sender, or in the
 * receiver.  Above the limit both ends wait for each other, and the formula has no os and or.  An
 * MPI_Isend takes ois(s).  In each range of sizes os, or and ois are straight lines over s, and the
 * factors are constants.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_NETWORK_H
#define TI_REPLAY_BRIDGE_CALIBRATE_NETWORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "config/calibration.h"
#include "replay-bridge/calibrate/fit.h"
#include "replay-bridge/calibrate/samples.h"

/* The parts that are fitted, each by itself. */
enum ti_network_part { TI_PART_OS, TI_PART_OIS, TI_PART_OR, TI_PART_NETWORK, TI_PARTS };

struct ti_network {
    struct ti_segment segment[TI_PARTS][TI_FIT_SEGMENTS_MAX];
    int n[TI_PARTS];
    bool cut;                     /* some times of `or` were reduced: os + or exceeded a message */
    double mean_error, max_error; /* of half round trips by the formula above, relative */
};

/* Fit the model, with at most `segments` segments for each part.  TI_ERR_INPUT if the samples have
 * no half round trips. */
ti_status ti_network_fit(const struct ti_samples *s, int segments, struct ti_network *out,
                         struct ti_err *err);

/* Seconds that the model gives for half a round trip of messages of `size` bytes. */
double ti_network_half(const struct ti_network *n, int64_t eager, double size);

/* Fill in c->network, except `within`.  TI_ERR_IO: no memory. */
ti_status ti_network_calibration(const struct ti_network *n, int64_t eager,
                                 struct ti_calibration *c, struct ti_err *err);

/* Print the segments and their errors as a table. */
void ti_network_print(const struct ti_network *n, FILE *out);
/* The same as a new JSON object, owned by the caller. */
json_t *ti_network_json(const struct ti_network *n);

#endif
