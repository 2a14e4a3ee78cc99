/*
 * Lets mpirun start its daemons over the channels of the fleet.
 *
 * mpirun calls `ti-rsh HOST COMMAND...` as its plm_rsh_agent, Hydra as its launcher.  ti-rsh
 * connects to us over a Unix socket (TIARA_RSH_SOCKET), and the ti-node of HOST, whose channel is
 * already open, runs the command.  So mpirun needs no SSH of its own, gateways included, and opens
 * no second connection.
 *
 * The socket carries frames (session/frame.h).  ti-rsh sends HELLO {"host", "command"} and its
 * input. It receives the output and MESSAGE {"status": wait status} or {"error": TEXT}.
 */
#ifndef TI_ACQUIRE_FLEET_RSH_H
#define TI_ACQUIRE_FLEET_RSH_H

#include "acquire/fleet/fleet.h"
#include "common/err.h"

#define TI_RSH_SOCKET "TIARA_RSH_SOCKET"

struct ti_rsh;

/*
 * Listen at a socket in directory `dir`, whose path must be short enough for a Unix socket.
 * `prefix` returns shell text, or "", that is put before every command for a node.  Release with
 * ti_rsh_free().
 */
typedef const char *ti_rsh_prefix(int64_t node, void *arg);
ti_status ti_rsh_new(struct ti_fleet *f, const char *dir, ti_rsh_prefix *before, void *arg,
                     struct ti_rsh **out, struct ti_err *err);
void ti_rsh_free(struct ti_rsh *r); /* NULL is fine */

const char *ti_rsh_path(const struct ti_rsh *r);

/* To be called from the fleet's callbacks; true if the message or frame was for a ti-rsh. */
bool ti_rsh_on_message(struct ti_rsh *r, int64_t node, const json_t *message);
bool ti_rsh_on_data(struct ti_rsh *r, int64_t node, const struct ti_frame *frame);

/* To be called when a node is lost: ends its commands. */
void ti_rsh_on_node_lost(struct ti_rsh *r, int64_t node);

/* Number of commands that mpirun requested, and of those that were started. */
int64_t ti_rsh_commands_requested(const struct ti_rsh *r);
int64_t ti_rsh_commands_started(const struct ti_rsh *r);

#endif
