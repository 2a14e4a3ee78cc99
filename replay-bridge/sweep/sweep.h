/*
 * Choices of a sweep: options with several values each.  The points are the product of the choices.
 *
 * Syntax: "--sweep OPTION=VALUE|VALUE...".  A comma separates values too, except for options whose
 * values have commas.  A value may contain one range of integers: "random:1..5", or with a factor
 * "1..8x2Gf", which is 1Gf, 2Gf, 4Gf and 8Gf.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_SWEEP_H
#define TI_REPLAY_BRIDGE_SWEEP_SWEEP_H

#include <stdint.h>

#include "common/args.h"
#include "common/cli.h"

#define TI_SWEEP_POINTS_MAX 10000

struct ti_choice {
    const struct ti_opt *opt; /* row of the tool's option table */
    struct ti_args value;
};

struct ti_sweep {
    struct ti_choice *choice;
    size_t n, cap;
};

/*
 * Adds a choice from the argument of --sweep.  The caller must check that the option accepts the
 * values.  TI_ERR_USAGE: not OPTION=VALUES; an option that is unknown, takes no value or cannot be
 * swept; an empty or repeated value; a malformed range; more than TI_SWEEP_POINTS_MAX points.
 */
ti_status ti_sweep_add(struct ti_sweep *sweep, const char *text, const struct ti_opt *opts,
                       struct ti_err *err);
/* Whether an option is for the replay of each point, not for the sweep or its output. */
bool ti_sweep_passes(const struct ti_opt *opt);

/* Tells whether an option accepts a value. */
struct ti_sweep_judge {
    bool (*accepts)(const struct ti_opt *opt, const char *value, const void *arg);
    const void *arg;
};

/* Adds to the hint of an error that '|' separates values, if the commas in the only value of a
 * choice were probably meant to separate values: the option accepts the texts between them, or the
 * choice is of topologies, of which a word begins behind a comma.  `judge` NULL: the option has
 * accepted the whole value, so a comma is enough. */
void ti_sweep_hint(const struct ti_sweep *sweep, const struct ti_sweep_judge *judge,
                   struct ti_err *err);

void ti_sweep_free(struct ti_sweep *sweep);

int64_t ti_sweep_points(const struct ti_sweep *sweep);

/* Index, or text, of the value of choice `c` in a point.  The last choice varies fastest. */
int ti_sweep_index(const struct ti_sweep *sweep, int64_t point, size_t c);
const char *ti_sweep_value(const struct ti_sweep *sweep, int64_t point, size_t c);

#endif
