/*
 * Processes on other machines: start a command there and talk to it, many at
 * once, from one thread.
 *
 * By libssh2 in this process, configured by `ssh -G HOST` (user, port,
 * identities, known_hosts, ProxyJump); by the OpenSSH client where libssh2
 * cannot serve (certificates, ProxyCommand, key types) or on demand; or by any
 * other command that runs a command on a node (srun, oarsh).  Connections to
 * gateways are always OpenSSH's (gateway.h).
 *
 * Host keys are always verified, never added.  No agent is forwarded unless asked for.
 */
#ifndef TI_REMOTE_H
#define TI_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum ti_transport {
    TI_TRANSPORT_AUTO, /* libssh2, OpenSSH for hosts that need it */
    TI_TRANSPORT_LIBSSH2,
    TI_TRANSPORT_OPENSSH,
};

struct ti_remote_config {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL: the user's */
    const char *const *via; /* argv that runs a shell command on {node} instead of SSH, the
                               command being appended as one argument; NULL: SSH */
    double connect_s;       /* for a connection to be ready, each try; 0: 20 */
    double answer_s;        /* one from which nothing comes for so long until it is ready is given
                               up; 0: connect_s */
    double silence_s;       /* a connection that says nothing for so long, keepalives
                               unanswered, is lost; 0: 30 */
    int most_new;           /* connections being opened at a time per gateway or sshd; 0: 8 */
    int tries;              /* of one that was refused or dropped before it was ready, with
                               jittered pauses; 0: 4 */
    bool forward_agent;     /* the user's ssh agent, to hosts (not to gateways): by OpenSSH */
};

struct ti_remote;  /* all of it */
struct ti_channel; /* one command on one node */

/* Why a channel is no more.  X(name, text) */
#define TI_CHANNEL_ENDS(X)                                                                         \
    X(EXITED, "the command ended")                                                                 \
    X(SIGNALLED, "the command was ended by a signal")                                              \
    X(NO_NAME, "the host name cannot be resolved")                                                 \
    X(REFUSED, "the connection was refused")                                                       \
    X(UNREACHABLE, "the host cannot be reached")                                                   \
    X(TIMED_OUT, "no answer in time")                                                              \
    X(BUSY, "its sshd drops connections (MaxStartups)")                                            \
    X(HOST_KEY_UNKNOWN, "its host key is not in known_hosts")                                      \
    X(HOST_KEY_CHANGED, "its host key is not the one in known_hosts")                              \
    X(NO_AUTH, "none of our keys was accepted")                                                    \
    X(GATEWAY, "its gateway failed")                                                               \
    X(NO_METHOD, "no method in common")                                                            \
    X(NO_COMMAND, "the command could not be started")                                              \
    X(LOST, "the connection was lost")                                                             \
    X(LOCAL, "a local problem")                                                                    \
    X(CLOSED, "we closed it")                                                                      \
    X(SILENT, "it says nothing any more")
#define TI_CHANNEL_END_ENUM(name, text) TI_CHANNEL_##name,
enum ti_channel_end { TI_CHANNEL_ENDS(TI_CHANNEL_END_ENUM) TI_CHANNEL_END_COUNT };

const char *ti_channel_end_text(enum ti_channel_end end);

struct ti_channel_result {
    enum ti_channel_end end;
    int status;        /* exit status (EXITED) */
    char signal[16];   /* "TERM" (SIGNALLED); "": ssh does not say which */
    char cause[768];   /* of a failure, without naming the host, for who does so himself; "" */
    struct ti_err err; /* names host (and gateway), cause, and what to do */
};

/*
 * What a channel calls, from within ti_remote_poll().  All but `ended` may be
 * NULL.  `ended` is the last call, made exactly once, after which the channel is
 * gone; ti_channel_close() also brings it, at the next poll.
 */
struct ti_channel_callbacks {
    void (*ready)(struct ti_channel *c, void *arg); /* the command was started */
    void (*output)(struct ti_channel *c, const void *data, size_t bytes, void *arg);
    void (*errput)(struct ti_channel *c, const void *data, size_t bytes, void *arg);
    void (*drained)(struct ti_channel *c, void *arg); /* all that was written has left us */
    void (*ended)(struct ti_channel *c, const struct ti_channel_result *r, void *arg);
};

/* Never NULL on TI_OK.  `config` and what it points to is kept by reference. */
ti_status ti_remote_new(const struct ti_remote_config *config, struct ti_remote **out,
                        struct ti_err *err);
void ti_remote_free(struct ti_remote *r); /* closes what is open, without `ended` */

/*
 * Start `command` (for the login shell of the user there) on `host`,
 * [USER@]HOST[:PORT], through `gateway`, of the same form, or NULL.  All hosts
 * behind one gateway share one connection to it, which is opened at once.  host "localhost"
 * without a gateway and with via NULL is still SSH; ti_remote_local() is not.  Queued as
 * long as too many connections are being opened.  NULL only when memory is short.
 *
 * A `command` that is not known yet is NULL, and then given by ti_channel_command(): the
 * connection is made meanwhile, as far as it can be.
 */
struct ti_channel *ti_remote_run(struct ti_remote *r, const char *host, const char *gateway,
                                 const char *command, const struct ti_channel_callbacks *calls,
                                 void *arg);

bool ti_channel_command(struct ti_channel *c, const char *command); /* copied; false: no memory */

/* The same on this machine, by /bin/sh -c. */
struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg);

/* Queue bytes for its standard input (copied).  False when memory is short or the
 * channel is ending.  ti_channel_queued(): what has not left us yet. */
bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes);
size_t ti_channel_queued(const struct ti_channel *c);

/*
 * What is known here of the keys of `host`, [USER@]HOST[:PORT]: lines for another machine's
 * known_hosts file, by the names that it may know the host by; free() them.  False: `ssh -G` is
 * being asked, try again after a poll; NULL: memory is short.
 */
bool ti_remote_known(struct ti_remote *r, const char *host, char **lines);

/* That will be asked of it later: `ssh -G` is asked meanwhile, as far as it disturbs nothing else.
 */
void ti_remote_prefetch(struct ti_remote *r, const char *host);

/* When the other side last took some of that, on CLOCK_MONOTONIC, as far as the transport is told;
 * 0: never.  What has left us may be on its way for long. */
double ti_channel_taken_at(const struct ti_channel *c);

/* End of its standard input, once all is written. */
void ti_channel_eof(struct ti_channel *c);

/* Take no more output for now: the sender is held up. */
void ti_channel_pause(struct ti_channel *c, bool pause);

void ti_channel_close(struct ti_channel *c);
const char *ti_channel_host(const struct ti_channel *c);

/* What carries it: "libssh2", "OpenSSH", "via" or "local"; and why it is not libssh2
 * where AUTO is asked for, else NULL. */
const char *ti_channel_transport(const struct ti_channel *c);
const char *ti_channel_why_openssh(const struct ti_channel *c);
int ti_remote_fallbacks(const struct ti_remote *r); /* how many channels that was */

/*
 * Wait up to `timeout_ms` (-1: until something happens) and do what can be done.
 * Returns the number of channels that live.  A descriptor of the caller's can be
 * waited for as well: `call(arg)` when it can be read.
 */
int ti_remote_poll(struct ti_remote *r, int timeout_ms);
bool ti_remote_add_fd(struct ti_remote *r, int fd, void (*call)(int fd, void *arg), void *arg);
void ti_remote_drop_fd(struct ti_remote *r, int fd);

#endif
