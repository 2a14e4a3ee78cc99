/*
 * Source lines of the call sites in the results of a replay.
 */
#ifndef TI_REPLAY_BRIDGE_CALL_SITES_H
#define TI_REPLAY_BRIDGE_CALL_SITES_H

#include "callsite/symbolizer.h"
#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/*
 * Names the call sites of the profile and of a timeline in CSV by function, file and line: as keys
 * beside each "site", and as columns at the end of the timeline, which is written anew.  A timeline
 * that is no regular file stays as it is.  The loops of the profile get their "name"
 * (trips/names.h).  TI_ERR_IO, also if the user stopped it.
 */
ti_status ti_replay_name_call_sites(const struct ti_replay_options *o, struct ti_replay_result *res,
                                    struct ti_err *err);

/* Adds such keys beside each "site" in `json`, and in what it holds. */
void ti_replay_name_sites(struct ti_symbolizer *z, json_t *json);

#endif
