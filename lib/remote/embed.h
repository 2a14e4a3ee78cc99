/*
 * More of remote.h for a program that has its own event loop, and options for each host: ti-node as
 * a relay.  It is linked without libssh2 (openssh_only.c).
 */
#ifndef TI_REMOTE_EMBED_H
#define TI_REMOTE_EMBED_H

#include "remote/remote.h"

/* Call ti_remote_poll(r, 0) when this descriptor is readable, and at the time ti_remote_due()
 * (CLOCK_MONOTONIC, seconds; 0: at once). */
int ti_remote_fd(const struct ti_remote *r);
double ti_remote_due(const struct ti_remote *r);

/*
 * From now on the channels of OpenSSH take turns: at most 64 KiB of output of one are read, then of the next; none
 * while full(arg) is true.
 */
void ti_remote_read_by_turns(struct ti_remote *r, bool (*full)(void *arg), void *arg);
int ti_remote_waiting(const struct ti_remote *r);    /* channels that wait for their turn */
uint64_t ti_remote_turns(const struct ti_remote *r); /* turns so far */

/* A private folder, removed with `r`.  Returns "" on error, with err. */
const char *ti_remote_folder(struct ti_remote *r, struct ti_err *err);

/* True if `host` is [USER@]HOST[:PORT] without characters that ssh or a shell could interpret. */
bool ti_remote_is_target(const char *host);

/* Options of one channel, for OpenSSH only.  Set right after ti_remote_run(). */
struct ti_channel_options {
    const char
        *known; /* a further known_hosts file, which must stay as long as the channel; NULL */
    bool forward_agent; /* forward the user's agent */
    double connect_s;   /* timeouts as in struct ti_remote_config; 0: as there */
    double answer_s;
    double silence_s;
};
void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *options);

#endif
