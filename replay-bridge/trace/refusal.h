/*
 * Refusals: which events ti-smpi-replay and ti-live-replay cannot replay, and why.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_REFUSAL_H
#define TI_REPLAY_BRIDGE_TRACE_REFUSAL_H

#include "replay-bridge/trace/lint.h"

/* The reason why ti-smpi-replay, or ti-live-replay, cannot replay this step; NULL if it can.  The
 * text may be in `buf`.  The step must be sound and its call traced. */
const char *ti_replayer_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                int64_t eager_bytes, char *buf, size_t bytes);
const char *ti_live_refusal(const struct ti_comms *comms, const struct ti_step *step,
                            int64_t eager_bytes, char *buf, size_t bytes);

/* The reason why a send of more than 2^31-1 bytes is refused: SimGrid truncates the size to 32 bits
 * before it compares the size with the eager limit.  NULL if the truncated size gives the right
 * answer. */
const char *ti_taken_for_small(const struct ti_msg *m, int64_t eager_bytes, char *buf,
                               size_t bytes);

#endif
