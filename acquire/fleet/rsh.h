/*
 * mpirun's way to the nodes: `ti-rsh HOST COMMAND...` is its plm_rsh_agent.  It
 * connects to us over a Unix socket (TIARA_RSH_SOCKET), and the ti-node of that
 * node, whose channel is open already, runs the command.  So mpirun needs no
 * SSH of its own, gateways included, and opens no second connection.
 *
 * Over the socket go frames (node/frame.h).  ti-rsh sends HELLO {"host", "command"}
 * and its input; it gets the output and MESSAGE {"status": wait status} or
 * {"error": TEXT}.
 */
#ifndef TI_RSH_H
#define TI_RSH_H

#include "acquire/fleet/fleet.h"
#include "common/err.h"

#define TI_RSH_SOCKET "TIARA_RSH_SOCKET"

struct ti_rsh;

/*
 * Listen at a socket in directory `dir`, whose name must be short.  What `before`
 * returns, shell text or "", goes before every command for that node.
 */
typedef const char *ti_rsh_prefix(int64_t node, void *arg);
ti_status ti_rsh_new(struct ti_fleet *f, const char *dir, ti_rsh_prefix *before, void *arg,
                     struct ti_rsh **out, struct ti_err *err);
void ti_rsh_free(struct ti_rsh *r); /* NULL is fine */

const char *ti_rsh_path(const struct ti_rsh *r);

/* What the fleet's calls get is handed on; whether it was for one of ours. */
bool ti_rsh_on_message(struct ti_rsh *r, int64_t node, const json_t *message);
bool ti_rsh_on_data(struct ti_rsh *r, int64_t node, const struct ti_frame *frame);

/* A node is gone: its commands have ended. */
void ti_rsh_on_node_lost(struct ti_rsh *r, int64_t node);

/* How many commands were asked for, and how many have been started. */
int64_t ti_rsh_commands_requested(const struct ti_rsh *r);
int64_t ti_rsh_commands_started(const struct ti_rsh *r);

#endif
