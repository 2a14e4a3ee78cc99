/*
 * Refusals: the events that the replayer cannot replay.
 */
#ifndef TI_REFUSAL_H
#define TI_REFUSAL_H

#include "replay-bridge/trace/lint.h"

/* Why the replayer cannot replay this step, in a simulation and live; NULL if it can.  The text may
 * be in buf.  The step is sound in itself, and its call is traced. */
const char *ti_replayer_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                int64_t eager_bytes, char *buf, size_t bytes);
const char *ti_live_refusal(const struct ti_comms *comms, const struct ti_step *step,
                            int64_t eager_bytes, char *buf, size_t bytes);

/* Why a send of more than 2^31-1 bytes is refused: SimGrid asks whether it is eager of the size
 * cut to 32 bits, and finds that it is.  NULL: it does not. */
const char *ti_taken_for_small(const struct ti_msg *m, int64_t eager_bytes, char *buf,
                               size_t bytes);

#endif
