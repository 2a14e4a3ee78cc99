/* Resolves host names without blocking: one thread each, since getaddrinfo() blocks.
 * getaddrinfo_a() makes threads, too, and cannot be cancelled reliably. */
#ifndef TI_REMOTE_LOOKUP_H
#define TI_REMOTE_LOOKUP_H

#include <netdb.h>

#include "remote/loop.h"

struct ti__lookup;

/* Starts a lookup.  `done` gets the addresses (for freeaddrinfo()) or, in `failure`, why there are
 * none; the lookup is then freed.  Returns NULL with errno on error. */
struct ti__lookup *ti__lookup(struct ti__loop *loop, const char *host, int port, int family,
                              void (*done)(void *arg, struct addrinfo *list, const char *failure),
                              void *arg);
void ti__lookup_drop(struct ti__lookup *l); /* NULL is fine */

#endif
