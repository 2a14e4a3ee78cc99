/*
 * Lowering: a rank's events as SimGrid's stock text actions.
 *
 * Every message is given a tag that no other outstanding request between the
 * two ranks has (see lint.h), and its partner as a world rank, so that a stock
 * "wait source destination tag" finds that one request.  Bursts become
 * "compute", a volume being taken for flops, or "sleep", see struct ti_bursts; those of
 * neighbouring events without an action are added up.  Integers are printed in full.
 */
#ifndef TI_LOWER_H
#define TI_LOWER_H

#include <stdio.h>

#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/lint.h"

/* Why stock replay cannot say this step exactly, into buf; NULL if it can.
 * The step is sound in itself, and no call that is not traced. */
const char *ti_lower_refusal(const struct ti_comms *comms, const struct ti_step *step,
                             int64_t eager_bytes, char *buf, size_t bytes);

/* Whether stock replay gives no time to a call that SMPI gives some: to make a communicator or to
 * probe for a message. */
bool ti_lower_untimed(uint32_t op);

/* Append `rank`'s actions to `out`; *actions grows by their number. */
ti_status ti_lower_rank(struct ti_source *s, struct ti_lint *lint, int64_t rank,
                        const struct ti_bursts *bursts, FILE *out, uint64_t *actions,
                        struct ti_err *err);

/*
 * Write the files of all ranks and "traces.txt", the list of them, into the
 * scratch directory.  With `merged`, one file holds all ranks in turn, a slice
 * of each: for when as many files as ranks cannot be open.
 */
ti_status ti_lower(struct ti_source *s, struct ti_lint *lint, const struct ti_bursts *bursts,
                   bool merged, uint64_t *actions, struct ti_err *err);

#endif
