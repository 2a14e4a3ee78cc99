/*
 * Warnings of ti-replay about information that a trace lacks, and hints for traces that cannot be
 * replayed.
 */
#ifndef TI_REPLAY_BRIDGE_ADVICE_H
#define TI_REPLAY_BRIDGE_ADVICE_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Warns if volumes are not exact numbers of instructions. */
void ti_replay_warn_of_volumes(const struct ti_replay_options *o, const struct ti_volumes *v);

/* Warns if the file of --rate has rates of call sites, but none of these sites is in the trace. */
void ti_replay_warn_of_sites(struct ti_source *s, const struct ti_replay_options *o);

/* Warns if the recorded durations are not those of the program alone: they were measured under
 * valgrind, ranks shared a core, or ranks ran at different speeds. */
void ti_replay_warn_of_times(struct ti_source *s, const struct ti_volumes *v);

/* Warns of the gaps that `c` lists. */
void ti_replay_warn_of_caveats(struct ti_source *s, struct ti_caveats *c);

/* Adds a hint to `err`: how to proceed with a trace that res->engine cannot replay. */
void ti_replay_hint(const struct ti_replay_options *o, const struct ti_replay_result *res,
                    const struct ti_replay_trace *t, struct ti_err *err);

#endif
