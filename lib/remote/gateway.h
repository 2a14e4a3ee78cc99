/*
 * Gateways.  All hosts behind a gateway share one connection to it, that of an OpenSSH master.
 *
 * libssh2 cannot be that connection: a session opens one channel at a time and cannot cancel that,
 * so a host that does not answer would block all others.  A master that the user has already
 * (ControlPath) is used as it is, so gateways that ask for a password work, too.
 */
#ifndef TI_REMOTE_GATEWAY_H
#define TI_REMOTE_GATEWAY_H

#include "common/err.h"

struct ti_remote;
struct ti__gateway;

enum ti__gateway_state { TI__GATEWAY_DOWN, TI__GATEWAY_OPENING, TI__GATEWAY_UP };

/* Returns the gateway `name`, [USER@]HOST[:PORT], or several hops with commas between; opens it
 * unless it is open or failed a moment ago.  Changes are reported by ti__gateway_changed()
 * (attempt.c).  NULL: no memory. */
struct ti__gateway *ti__gateway(struct ti_remote *r, const char *name);
enum ti__gateway_state ti__gateway_state(const struct ti__gateway *g);

const char *ti__gateway_socket(const struct ti__gateway *g);          /* of its master; state UP */
const struct ti__conf *ti__gateway_conf(const struct ti__gateway *g); /* of its last hop */
const char *ti__gateway_host(const struct ti__gateway *g); /* its last hop, as an argument of ssh */
void ti__gateway_why(const struct ti__gateway *g, const char **cause,
                     const char **hint); /* state DOWN */

/* The last reason that the master gave why a host cannot be reached through it; NULL: none. */
const char *ti__gateway_refusal(const struct ti__gateway *g);

void ti__gateways_free(struct ti_remote *r);

#endif
