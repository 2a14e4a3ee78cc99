/*
 * The simulated machine of a replay: its platform, its hosts, and which rank runs on which.
 */
#ifndef TI_REPLAY_MACHINE_H
#define TI_REPLAY_MACHINE_H

#include "replay-bridge/options.h"
#include "replay-bridge/result.h"

/* Finds the hosts for res->np ranks and places the ranks on them.  To be called before the trace is
 * read: too few hosts are an error that needs no trace. */
ti_status ti_replay_find_hosts(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err);

/* Opens the scratch directory, and writes the platform and the hostfile there. */
ti_status ti_replay_write_platform(const struct ti_replay_options *o, struct ti_replay_result *res,
                                   struct ti_err *err);

/* Describes the platform on stdout, and draws it if that is asked: --show-platform.  `s` is the
 * trace for whose ranks it would be made, or NULL. */
ti_status ti_replay_show_platform(const struct ti_replay_options *o, struct ti_source *s,
                                  struct ti_replay_result *res, struct ti_err *err);

#endif
