/*
 * Gateways: one connection each, an OpenSSH master's, for all hosts behind it.
 *
 * libssh2 cannot be that connection: it opens one channel of a session at a
 * time, and cannot give up opening one, so that a host that does not answer
 * would hold up all others behind its gateway.  A master that the user has
 * already (ControlPath) is used as it is, so gateways that ask for a password
 * can be used too.
 */
#ifndef TI_REMOTE_GATEWAY_H
#define TI_REMOTE_GATEWAY_H

#include "common/err.h"

struct ti_remote;
struct ti__gateway;

enum ti__gateway_state { TI__GATEWAY_DOWN, TI__GATEWAY_OPENING, TI__GATEWAY_UP };

/* The gateway of that name, [USER@]HOST[:PORT], with those before it in front and
 * commas between; it is opened if it was not.  NULL: no memory.  Channels that wait for
 * it hear of it by ti__gateway_changed() (remote.c). */
struct ti__gateway *ti__gateway(struct ti_remote *r, const char *name);
enum ti__gateway_state ti__gateway_state(const struct ti__gateway *g);

const char *ti__gateway_socket(const struct ti__gateway *g);          /* UP: its master's */
const struct ti__conf *ti__gateway_conf(const struct ti__gateway *g); /* of its last hop */
const char *ti__gateway_host(const struct ti__gateway *g); /* as ssh knows the last of it */
void ti__gateway_why(const struct ti__gateway *g, const char **cause, const char **hint); /* DOWN */

/* Why hosts could not be reached through it, as far as its master said: what it
 * said last of this kind, or NULL. */
const char *ti__gateway_refusal(const struct ti__gateway *g);

void ti__gateways_free(struct ti_remote *r);

#endif
