/*
 * The command ti-replay --runs without a sweep: one replay for each seed, and what they say
 * together.
 */
#ifndef TI_REPLAY_BRIDGE_RUNS_H
#define TI_REPLAY_BRIDGE_RUNS_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/*
 * After ti_replay_plan_many().  Runs the replays as child processes, several at once, and prints
 * the median of their times, its interval and all times, as text or JSON.  The only choice of
 * o->sweep is the seed.  If a replay fails, no more are started, and the status and the error are
 * those of this replay.
 */
ti_status ti_runs_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                          struct ti_err *err);

#endif
