/* Host names into addresses without waiting: a thread each, since getaddrinfo()
 * blocks, and its like that does not (getaddrinfo_a) makes threads as well but
 * cannot be told to leave. */
#ifndef TI_REMOTE_LOOKUP_H
#define TI_REMOTE_LOOKUP_H

#include <netdb.h>

#include "remote/loop.h"

struct ti__lookup;

/* `told` gets addresses (the caller's to free by freeaddrinfo) or, in `failure`,
 * why there are none; the lookup is over then.  NULL: errno. */
struct ti__lookup *ti__lookup(struct ti__loop *loop, const char *host, int port, int family,
                              void (*told)(void *arg, struct addrinfo *list, const char *failure),
                              void *arg);
void ti__lookup_drop(struct ti__lookup *l); /* NULL is fine */

#endif
