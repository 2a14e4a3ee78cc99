/*
 * Classes of hosts that ssh's configuration treats equally.  For hosts of one class `ssh -G` prints
 * the same, except for the name, so it is run once for all of them instead of for thousands.
 *
 * Only used where that is certain.  `ssh -v` names the files that it read.  These may only have
 * "Host" with plain patterns and "Match all", and no setting of a host may depend on its name: no
 * HostName, no canonicalization, no tokens (%h).
 */
#ifndef TI_REMOTE_HOSTCLASS_H
#define TI_REMOTE_HOSTCLASS_H

#include <stdbool.h>
#include <stddef.h>

struct ti__hostclass;

/* From the debug output of `ssh -v -G`.  NULL: `ssh -G` must be run for each host. */
struct ti__hostclass *ti__hostclass_new(const char *said, size_t bytes);
void ti__hostclass_free(struct ti__hostclass *a); /* NULL is fine */

enum ti__share {
    TI__SHARE_NONE, /* run `ssh -G` for this host */
    TI__SHARE_KEYS, /* all settings but ControlPath, which has tokens */
    TI__SHARE_ALL,
};

/* Computes the fingerprint of `host`, ti__hostclass_bytes() long.  Hosts with equal fingerprints
 * are of one class.  `host` is the argument of ssh without user and port, which must be equal, too.
 * Returns how much hosts of the class share. */
enum ti__share ti__hostclass_fingerprint(const struct ti__hostclass *a, const char *host,
                                         unsigned char *out);
size_t ti__hostclass_bytes(const struct ti__hostclass *a);

#endif
