/*
 * The simulated machine of a replay: its platform, its hosts, and the host of each rank.
 */
#ifndef TI_REPLAY_BRIDGE_MACHINE_H
#define TI_REPLAY_BRIDGE_MACHINE_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Finds the hosts for res->np ranks and places the ranks on them.  Call this before the trace is
 * read, so that too few hosts are reported at once. */
ti_status ti_replay_find_hosts(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err);

/* Describes the platform, whose hosts have been found, in res->platform and res->platform_text. */
void ti_replay_name_platform(const struct ti_replay_options *o, struct ti_replay_result *res);

/* Opens the scratch directory, unless it is open.  That of --keep must not be another user's trap.
 */
ti_status ti_replay_open_scratch(const struct ti_replay_options *o, struct ti_err *err);

/* Opens the scratch directory, and writes the platform and the hostfile into it. */
ti_status ti_replay_write_platform(const struct ti_replay_options *o, struct ti_replay_result *res,
                                   struct ti_err *err);

/* --show-platform: describes the platform on stdout, and draws it if o->picture is set.  `s` is the
 * trace whose number of ranks decides the number of hosts, or NULL. */
ti_status ti_replay_show_platform(const struct ti_replay_options *o, struct ti_source *s,
                                  struct ti_replay_result *res, struct ti_err *err);

#endif
