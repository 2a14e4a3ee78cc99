/*
 * Straight lines through times of messages over their sizes, a few of them side by side: what
 * SMPI takes for the cost of a message.
 */
#ifndef TI_FIT_H
#define TI_FIT_H

#include "common/err.h"

#define TI_FIT_SEGMENTS_MAX 16
#define TI_FIT_POINTS_MAX   1024

struct ti_fit_point {
    double size, seconds;
    double scale; /* errors at this point are relative to it; above 0 */
};

/* Messages from `from` on, up to the next segment: startup + size * per_byte, both 0 or more. */
struct ti_segment {
    double from, startup, per_byte;
    double mean_error, max_error; /* relative, of the points that it was fitted to */
    int points;
};

/*
 * Fit at most `most` segments (1 to TI_FIT_SEGMENTS_MAX) to points in any order; those of one size
 * count as many.  The sum of squared relative errors is least for the number of segments, and
 * their number is the one for which a further segment would not gain more than its three
 * parameters are worth (the Bayesian information criterion).  Where there are several, each has
 * three sizes or more.  A segment begins at `cut` in any case (0: nowhere), if there are sizes on
 * both sides of it.
 *
 * TI_ERR_INPUT for no point, too many, or one that is no number, or a scale of 0.
 */
ti_status ti_fit(const struct ti_fit_point *point, int n, double cut, int most,
                 struct ti_segment segment[TI_FIT_SEGMENTS_MAX], int *nsegments,
                 struct ti_err *err);

/* What the segments say of a size: seconds. */
double ti_fit_at(const struct ti_segment *segment, int n, double size);

#endif
