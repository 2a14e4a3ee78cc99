/*
 * More of remote.h, for a program that has a loop of its own, and asks for other things for
 * each host: ti-node as a relay, which is linked without libssh2 (openssh_only.c).
 */
#ifndef TI_REMOTE_EMBED_H
#define TI_REMOTE_EMBED_H

#include "remote/remote.h"

/* ti_remote_poll(r, 0) has something to do when this can be read, or at ti_remote_due() (on
 * ti__now()'s clock, CLOCK_MONOTONIC; 0: at once). */
int ti_remote_fd(const struct ti_remote *r);
double ti_remote_due(const struct ti_remote *r);

/*
 * What commands write is read by turns from now on: a piece of at most 64 KiB of one of those
 * that wrote something, then of the next of them; of none while full(arg).
 */
void ti_remote_read_by_turns(struct ti_remote *r, bool (*full)(void *arg), void *arg);
int ti_remote_waiting(const struct ti_remote *r);     /* how many of them wait for their turn */
uint64_t ti_remote_turns(const struct ti_remote *r);  /* how many turns there were */

/* A folder that nobody else can read, and that goes away with `r`; "": err. */
const char *ti_remote_folder(struct ti_remote *r, struct ti_err *err);

/* Whether that is [USER@]HOST[:PORT], with nothing in it that ssh or a shell might take for
 * something else. */
bool ti_remote_is_target(const char *host);

/* Of one channel, by OpenSSH; right after ti_remote_run(). */
struct ti_channel_options {
    const char *known;  /* a file of host keys besides the user's, the caller's as long as the
                           channel lives; NULL: none */
    bool forward_agent; /* the user's agent is of use there */
    double connect_s;   /* as in struct ti_remote_config; 0: as there */
    double answer_s;
    double silence_s;
};
void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *wants);

#endif
