/*
 * The choices of a sweep: options with several values each, and the points that are their product.
 *
 * "--sweep OPTION=VALUE|VALUE...".  A comma separates values, too, but for options whose values
 * have commas.  A value with one range of whole numbers stands for all of them: "random:1..5", or
 * by a factor, "1..8x2Gf", which is 1Gf, 2Gf, 4Gf and 8Gf.
 */
#ifndef TI_SWEEP_H
#define TI_SWEEP_H

#include <stdint.h>

#include "common/args.h"
#include "common/cli.h"

#define TI_SWEEP_POINTS_MAX 10000

struct ti_choice {
    const struct ti_opt *opt; /* its row in the tool's table */
    struct ti_args value;
};

struct ti_sweep {
    struct ti_choice *choice;
    size_t n, cap;
};

/*
 * One more choice from the text of a --sweep.  TI_ERR_USAGE for what is no OPTION=VALUES, an
 * option that is not in `opts`, takes no value or cannot be swept, a value that is empty or given
 * twice, a range that is malformed, and more than TI_SWEEP_POINTS_MAX points.  Whether the option
 * takes the value is for the caller to check.
 */
ti_status ti_sweep_add(struct ti_sweep *sweep, const char *text, const struct ti_opt *opts,
                       struct ti_err *err);
void ti_sweep_free(struct ti_sweep *sweep);

int64_t ti_sweep_points(const struct ti_sweep *sweep);

/* Number of the value that choice `c` has in a point; the last choice varies fastest. */
int ti_sweep_index(const struct ti_sweep *sweep, int64_t point, size_t c);
const char *ti_sweep_value(const struct ti_sweep *sweep, int64_t point, size_t c);

#endif
