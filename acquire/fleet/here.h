/* Whether a node is this machine, as mpirun decides it: by name or by address. */
#ifndef TI_ACQUIRE_FLEET_HERE_H
#define TI_ACQUIRE_FLEET_HERE_H

#include <netinet/in.h>
#include <stdbool.h>

struct ti_here {
    char host[256];
    double until; /* ti_now() after which names are no longer resolved: a slow resolver must not
                     hold us up */
};

void ti_here_begin(struct ti_here *h);

/* `reached_directly`: there is no gateway before the node, so its name can be resolved here. */
bool ti_here_is(struct ti_here *h, const char *name, bool reached_directly);

/* An IPv4 address of this machine for others to connect to: that in the first of `networks`
 * (interfaces or CIDRs, separated by commas; NULL: any) that it has, else that from which it
 * reaches `host`.  False: neither is known. */
bool ti_here_address(const char *networks, const char *host, char text[INET_ADDRSTRLEN]);

#endif
