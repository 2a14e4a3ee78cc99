/*
 * Fit of a piecewise linear function to times of messages over their sizes: SMPI's form of the
 * cost of a message.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_FIT_H
#define TI_REPLAY_BRIDGE_CALIBRATE_FIT_H

#include "common/err.h"

#define TI_FIT_SEGMENTS_MAX 16
#define TI_FIT_POINTS_MAX   1024

/* A measured time. */
struct ti_fit_point {
    double size, seconds; /* size in bytes */
    double scale;         /* errors at this point are divided by it; above 0 */
};

/* Sizes from `from` to the next segment take startup + size * per_byte seconds.  Both coefficients
 * are 0 or more. */
struct ti_segment {
    double from, startup, per_byte;
    double mean_error, max_error; /* at its points, relative to their scale */
    int points;
};

/*
 * Fit at most `most` segments (1 to TI_FIT_SEGMENTS_MAX) to `n` points in any order; several points
 * may have the same size.  For a given number of segments, the sum of squared relative errors is
 * minimal.  The number of segments follows the Bayesian information criterion with three parameters
 * per segment.  If there are several segments, each covers at least three sizes; a segment between
 * the cut and an end of the sizes may cover fewer.  A segment always begins at `cut` if there are
 * sizes on both sides of it (0: no cut).
 *
 * TI_ERR_INPUT: no point, more than TI_FIT_POINTS_MAX, a size or time that is not finite, a scale
 * that is not above 0, or `most` too small for the cut.
 */
ti_status ti_fit(const struct ti_fit_point *point, int n, double cut, int most,
                 struct ti_segment segment[TI_FIT_SEGMENTS_MAX], int *nsegments,
                 struct ti_err *err);

/* The fitted time of a message of `size` bytes, in seconds. */
double ti_fit_at(const struct ti_segment *segment, int n, double size);

#endif
