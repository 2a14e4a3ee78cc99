/*
 * Trips of a loop, as steady.c looks at them: state that it leaves behind, and its work.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_TRIP_H
#define TI_REPLAY_BRIDGE_REPLAYER_TRIP_H

#include "replay-bridge/replayer/replayer.h"

/* Add a word to a hash. */
static inline uint64_t ti_trip_mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Whether a trip with such an event must be simulated. */
bool ti_trip_changes(const struct ti_event *ev);

/* The requests of the rank: which numbers are in use, and for what.  A hash. */
uint64_t ti_trip_requests(const struct ti_replayer *p);

/* The sum over events `from` to `to` - 1 of the rank of what its bursts take: volumes, or the extra
 * column with times.  Another reader looks for it.  False if it is not known. */
bool ti_trip_work(const struct ti_replayer *p, uint64_t from, uint64_t to, double *out);

#endif
