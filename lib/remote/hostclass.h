/*
 * Hosts that ssh's configuration does not tell apart.  What `ssh -G` says of one it says of the
 * others too, but for the name, so that it need not be asked of each of thousands.
 *
 * Only where that is certain: ssh itself says what files it has read (-v), and in these there is
 * nothing but "Host" with plain patterns and "Match all"; and nothing that holds for either host
 * depends on its name: no HostName, nothing canonical, no tokens (%h).
 */
#ifndef TI_REMOTE_HOSTCLASS_H
#define TI_REMOTE_HOSTCLASS_H

#include <stdbool.h>
#include <stddef.h>

struct ti__hostclass;

/* From what `ssh -v -G` said of itself.  NULL: each host is to be asked of. */
struct ti__hostclass *ti__hostclass_new(const char *said, size_t bytes);
void ti__hostclass_free(struct ti__hostclass *a); /* NULL is fine */

enum ti__share {
    TI__SHARE_NONE, /* this one is to be asked of */
    TI__SHARE_KEYS, /* all but ControlPath, in which there are tokens */
    TI__SHARE_ALL,
};

/* Hosts with equal marks, of ti__hostclass_bytes(), are alike.  `host` as it is given to ssh,
 * without user and port, which are to be the same as well. */
enum ti__share ti__hostclass_signature(const struct ti__hostclass *a, const char *host,
                                       unsigned char *mark);
size_t ti__hostclass_bytes(const struct ti__hostclass *a);

#endif
