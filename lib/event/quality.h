/*
 * Qualities of the volumes of a trace, and of its extra values.
 *
 *   exact       every value
 *   bounded     every value differs from the exact one by at most a given share of it, and sums are
 *               exact
 *   statistics  how often values occurred, at each position in the program; if they depend on their
 *               place in a period, how often at each place.  A reader draws values from that, in an
 *               order that depends on a seed.  Number of values, sum, minimum and maximum are exact
 *
 * Metadata "volumes" and "extras" name the quality; without, it is exact.
 */
#ifndef TI_EVENT_QUALITY_H
#define TI_EVENT_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum ti_quality_kind { TI_EXACT, TI_BOUNDED, TI_STATISTICS };

struct ti_quality {
    enum ti_quality_kind kind;
    uint32_t ppm; /* of TI_BOUNDED: the bound in millionths of a value, at most 500000 */
};

/*
 * How far simulated times of volumes drawn from statistics were off in tests.  This is no bound:
 * statistics do not tell in which order the bursts of a rank were, so nothing tells whether the
 * slow bursts of all ranks coincide or come one after the other.  docs/trust.md has the tests.
 */
#define TI_DRAWN_ERRORS "-32 to +269 %"

/* The qualities that a trace is to have. */
struct ti_qualities {
    struct ti_quality volumes, extras;
};

/* "exact", "bound:1%" or "stats" to a quality, and back; false if the text is none. */
bool ti_quality_parse(const char *text, struct ti_quality *out);
void ti_quality_text(const struct ti_quality *q, char *buf, size_t bytes);

/* Read options --volumes and --extras.  NULL: exact.  TI_ERR_USAGE. */
ti_status ti_qualities_parse(const char *volumes, const char *extras, struct ti_qualities *out,
                             struct ti_err *err);

/* The help of these options. */
#define TI_VOLUMES_HELP                                                                            \
    "how --merge keeps volumes: exact, bound:N% (each burst\n"                                     \
    "within N per cent, all sums exact) or stats (a\n"                                             \
    "histogram for each position) [default: exact]"
#define TI_EXTRAS_HELP                                                                             \
    "the same for durations and other extra columns\n"                                             \
    "[default: exact]"

/* How far a value may be from `exact` in a bounded column. */
uint64_t ti_quality_slack(const struct ti_quality *q, uint64_t exact);

/* Whether `value` may stand for `exact` with this quality. */
bool ti_quality_allows(const struct ti_quality *q, uint64_t exact, uint64_t value);

#endif
