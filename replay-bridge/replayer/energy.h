/*
 * Energy of a simulation.  SimGrid's plugin host_energy integrates the power of each host: idle, or
 * up to its full power in proportion to the cores that compute.  Bursts that it does not see are
 * added: measured durations, in which SimGrid lets a rank sleep, and threads beside the longest.
 *
 * Only for ti-smpi-replay.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_ENERGY_H
#define TI_REPLAY_BRIDGE_REPLAYER_ENERGY_H

#include "replay-bridge/replayer/replayer.h"

/* The rank has spent the burst before `ev`, which took so many seconds. */
void ti_energy_burst(struct ti_replayer *p, const struct ti_event *ev, double seconds);

/* The rank has ended.  Does nothing without --energy.  If `last` is true, it was the last one, and
 * the file of --energy is written: an object with joules, of all hosts, and hosts, a list with
 * host, joules and ranks of each host of which the platform has the power.  Call it before anything
 * that spends simulated time. */
void ti_energy_end(struct ti_replayer *p, bool last);

#endif
