/*
 * The energy of a replay: whether it can be found out, and what is printed of it.
 */
#ifndef TI_REPLAY_BRIDGE_ENERGY_H
#define TI_REPLAY_BRIDGE_ENERGY_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Sets res->watts, and res->no_energy if the energy cannot be known.  Call it once hosts and engine
 * are known.  TI_ERR_USAGE if --watts asks for it in vain. */
ti_status ti_energy_plan(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err);

/* Prints the line of the result, or nothing; and the table of hosts that take the most. */
void ti_energy_print(const struct ti_replay_options *o, const struct ti_replay_result *res);
void ti_energy_print_hosts(const json_t *energy, int width, FILE *f);

#endif
