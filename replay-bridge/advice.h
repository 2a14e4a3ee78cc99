/*
 * Warnings of ti-replay about what a trace does not tell, and hints at what its user can do.
 */
#ifndef TI_REPLAY_ADVICE_H
#define TI_REPLAY_ADVICE_H

#include "replay-bridge/options.h"
#include "replay-bridge/result.h"

/* Warns where volumes are not exact numbers of instructions. */
void ti_replay_warn_of_volumes(const struct ti_replay_options *o, const struct ti_volumes *v);

/* Warns where the file of --rate has rates of call sites, but of none that the trace has. */
void ti_replay_warn_of_sites(struct ti_source *s, const struct ti_replay_options *o);

/* Warns where recorded durations are not those that the program has by itself. */
void ti_replay_warn_of_times(struct ti_source *s, const struct ti_volumes *v);

/* Warns of what the trace lacks. */
void ti_replay_warn_of_caveats(struct ti_source *s, struct ti_caveats *c);

/* Adds to `err` what the user of a trace that cannot be replayed can do. */
void ti_replay_hint(const struct ti_replay_result *res, const struct ti_replay_trace *t,
                    struct ti_err *err);

#endif
