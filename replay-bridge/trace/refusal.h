/*
 * Refusals: which events ti-smpi-replay and ti-live-replay cannot replay, and why.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_REFUSAL_H
#define TI_REPLAY_BRIDGE_TRACE_REFUSAL_H

#include "replay-bridge/trace/lint.h"

/* The targets of ti-smpi-replay and ti-live-replay; to the latter ti_lint()'s `eager_bytes` is
 * nothing. */
extern const struct ti_target ti_replayer_target, ti_live_target;

/* The reason why a send of more than 2^31-1 bytes is refused: SimGrid truncates the size to 32 bits
 * before it compares the size with the eager limit.  NULL if the truncated size gives the right
 * answer. */
const char *ti_taken_for_small(const struct ti_msg *m, int64_t eager_bytes, char *buf,
                               size_t bytes);

#endif
