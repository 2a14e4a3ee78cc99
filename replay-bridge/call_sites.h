/*
 * Source lines of the call sites in the results of a replay.
 */
#ifndef TI_REPLAY_BRIDGE_CALL_SITES_H
#define TI_REPLAY_BRIDGE_CALL_SITES_H

#include "callsite/symbolizer.h"
#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Names the call sites of the profile by function, file and line, as keys beside each "site"; the
 * loops of the profile get their "name" (trips/names.h).  The symbolizer, which timelines use, too,
 * goes into the result. */
void ti_replay_name_call_sites(const struct ti_replay_options *o, struct ti_replay_result *res);

/* Adds such keys beside each "site" in `json`, and in what it holds. */
void ti_replay_name_sites(struct ti_symbolizer *z, json_t *json);

#endif
