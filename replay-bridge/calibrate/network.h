/*
 * SMPI's model of messages, from measured times.
 *
 * SMPI has a message of s bytes, up to the eager limit, take
 *
 *   os(s) + latency * latency_factor + (s + 16) / (bandwidth * bandwidth_factor) + or(s)
 *
 * between the begin of its send and the end of its receive: os in the sender, or in the receiver.
 * Above the limit, where both ends wait for each other, it is the same without os and or.  An
 * MPI_Isend takes ois(s).  os, or and ois are straight lines over s, the factors constants, by
 * ranges of sizes.
 */
#ifndef TI_NETWORK_H
#define TI_NETWORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "replay-bridge/calibrate/fit.h"
#include "replay-bridge/calibrate/samples.h"
#include "formats/calibration.h"

enum ti_network_part { TI_PART_OS, TI_PART_OIS, TI_PART_OR, TI_PART_NETWORK, TI_PARTS };

struct ti_network {
    struct ti_segment segment[TI_PARTS][TI_FIT_SEGMENTS_MAX];
    int n[TI_PARTS];
    bool cut;                     /* `or` was, as os and or together take longer than a message */
    double mean_error, max_error; /* of the half round trip, by the formula above */
};

/* Fit the model, at most `segments` to each part.  TI_ERR_INPUT if there are no half round trips
 * among the samples. */
ti_status ti_network_fit(const struct ti_samples *s, int segments, struct ti_network *out,
                         struct ti_err *err);

/* What it says of a half round trip: seconds. */
double ti_network_half(const struct ti_network *n, int64_t eager, double size);

/* Fill in c->network but for `within`.  TI_ERR_IO: no memory. */
ti_status ti_network_calibration(const struct ti_network *n, int64_t eager,
                                 struct ti_calibration *c, struct ti_err *err);

/* The segments and their errors as a table. */
void ti_network_print(const struct ti_network *n, FILE *out);
/* The same as a new JSON object. */
json_t *ti_network_json(const struct ti_network *n);

#endif
