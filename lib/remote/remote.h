/*
 * Runs commands on other machines, many at once, from one thread, with pipes to them.
 *
 * By libssh2 in this process, configured by `ssh -G HOST` (user, port, identities, known_hosts,
 * ProxyJump).  By the OpenSSH client where libssh2 cannot serve (certificates, ProxyCommand, key
 * types), or on demand.  Or by any other command that runs a command on a node (srun, oarsh).
 * Connections to gateways are always OpenSSH's (gateway.h).
 *
 * Host keys are always verified, never added.  No agent is forwarded unless requested.
 */
#ifndef TI_REMOTE_REMOTE_H
#define TI_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum ti_transport {
    TI_TRANSPORT_AUTO, /* libssh2, OpenSSH for hosts that need it */
    TI_TRANSPORT_LIBSSH2,
    TI_TRANSPORT_OPENSSH,
};

#define TI_REMOTE_OPENING     8  /* default of `max_opening` */
#define TI_REMOTE_OPENING_ALL 64 /* connections being opened in all: each costs processor time */

struct ti_remote_config {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL: the user's */
    const char *const *via; /* argv that runs a shell command on {node} instead of SSH, the
                               command being appended as one argument; NULL: SSH */
    double connect_s;       /* timeout of one attempt to connect; 0: 20.  ConnectTimeout of ssh's
                               configuration counts instead where that is longer. */
    double answer_s;        /* timeout without any data while connecting; 0: connect_s.  Not less
                               than ConnectTimeout either. */
    double silence_s;       /* timeout without any data, keepalives included; 0: 30 */
    int max_opening; /* connections being opened at a time per gateway or sshd; 0: TI_REMOTE_OPENING
                      */
    int tries; /* attempts, with jittered backoff, if a connection is refused or dropped before it
                  is ready; 0: 4.  At most two if it times out, and only if the host answered
                  something, or hosts lately took more than 3 s to: else it is dead. */
    bool forward_agent; /* forward the user's ssh agent to hosts, not gateways; by OpenSSH */
};

struct ti_remote;  /* all channels and their shared state */
struct ti_channel; /* one command on one node */

/* Why a channel ended.  X(name, text) */
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
    char cause[768];   /* of a failure, without the host's name; "" */
    struct ti_err err; /* names host (and gateway), cause, and what to do */
};

/*
 * Callbacks of a channel, made from within ti_remote_poll().  All but `ended` may be NULL.  `ended`
 * is the last, made exactly once; the channel is then freed.  After ti_channel_close() it comes at
 * the next poll.
 */
struct ti_channel_callbacks {
    void (*ready)(struct ti_channel *c, void *arg); /* the command was started */
    void (*output)(struct ti_channel *c, const void *data, size_t bytes, void *arg);
    void (*err_output)(struct ti_channel *c, const void *data, size_t bytes, void *arg);
    void (*drained)(struct ti_channel *c, void *arg); /* the input queue is empty */
    void (*ended)(struct ti_channel *c, const struct ti_channel_result *r, void *arg);
};

/* `config` and what it points to must outlive the result. */
ti_status ti_remote_new(const struct ti_remote_config *config, struct ti_remote **out,
                        struct ti_err *err);
void ti_remote_free(struct ti_remote *r); /* closes all channels, without `ended` */

/*
 * Starts `command` (for the login shell of the user there) on `host`, [USER@]HOST[:PORT], through
 * `gateway`, of the same form, or NULL.  All hosts behind a gateway share one connection to it.
 * "localhost" is reached by SSH, too; see ti_remote_local().  The channel is queued while too many
 * connections are being opened.
 *
 * `command` may be NULL if it is not known yet: the connection is made meanwhile, as far as
 * possible, and ti_channel_command() gives the command.
 *
 * Returns NULL only when memory is short; other errors come as `ended`.
 */
struct ti_channel *ti_remote_run(struct ti_remote *r, const char *host, const char *gateway,
                                 const char *command, const struct ti_channel_callbacks *calls,
                                 void *arg);

bool ti_channel_command(struct ti_channel *c, const char *command); /* copied; false: no memory */

/* The same on this machine, by /bin/sh -c. */
struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg);

/* Queues bytes (copied) for the standard input.  False: memory is short, or the channel is ending.
 * ti_channel_queued(): bytes that are still queued here. */
bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes);
size_t ti_channel_queued(const struct ti_channel *c);

/*
 * The host keys that are known here of `host`, [USER@]HOST[:PORT], as lines for known_hosts on
 * another machine, under the names that it may use; free() them.  False: `ssh -G` is running, try
 * again after a poll.  *lines NULL: memory is short.  *connect_s: its ConnectTimeout; 0: none.
 */
bool ti_remote_known(struct ti_remote *r, const char *host, char **lines, double *connect_s);

/* Announces a later ti_remote_known(), so that `ssh -G` runs early, with low priority. */
void ti_remote_prefetch(struct ti_remote *r, const char *host);

/* When the other side last took some of the input (CLOCK_MONOTONIC), as far as the transport knows;
 * 0: never.  Bytes that left us may be in transit for long. */
double ti_channel_taken_at(const struct ti_channel *c);

/* Closes the standard input once the queue is empty. */
void ti_channel_eof(struct ti_channel *c);

void ti_channel_close(struct ti_channel *c);
const char *ti_channel_host(const struct ti_channel *c);

/* The transport of a channel: "libssh2", "OpenSSH", "via" or "local"; and for a channel with AUTO
 * the reason why that is not libssh2, else NULL. */
const char *ti_channel_transport(const struct ti_channel *c);
const char *ti_channel_why_openssh(const struct ti_channel *c);

/*
 * Waits up to `timeout_ms` (-1: no limit) for events and handles them.  Returns the number of open
 * channels.  The caller's own descriptors can be added: `call` when one is readable.
 */
int ti_remote_poll(struct ti_remote *r, int timeout_ms);
bool ti_remote_add_fd(struct ti_remote *r, int fd, void (*call)(int fd, void *arg), void *arg);
void ti_remote_drop_fd(struct ti_remote *r, int fd);

#endif
