/*
 * Connections to the ti-node of each node: the session layer of ti-acquire and ti-gather.  A
 * connection is either direct, a session (session.h), or relayed: a stream through the ti-node of
 * another node, which forwards the bytes unread ("reach", messages.h).  Both ends talk in frames
 * (frame.h) either way.
 *
 * This layer starts ti-node, checks its version, exchanges heartbeats, and ends connections that
 * are silent for too long (times.h).  Its user sends requests and gets messages.
 *
 * One thread, one poll loop: all callbacks are made from within ti_conns_poll().  A connection
 * that ended stays valid until that call returns.
 */
#ifndef TI_SESSION_CONN_H
#define TI_SESSION_CONN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "remote/remote.h"
#include "session/frame.h"

struct ti_conns; /* all of them */
struct ti_conn;  /* one */

struct ti_conns_config {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL */
    const char *const *via; /* as in struct ti_remote_config */
    double connect_s;       /* timeout of one attempt to connect; 0: TI_CONNECT_S */
    double silence_s;       /* timeout: a connection without any data, heartbeats included, is
                               lost; also while connecting, but then TI_ANSWER_MIN_S at least;
                               0: TI_SILENCE_S */
    double listen_s;        /* a node ends itself after hearing nothing from us for so long, at
                               least; 0: TI_LISTEN_GATHER_S */
    bool forward_agent;     /* to nodes, so that relays can log in with it; needs OpenSSH */
    bool named;             /* errors name the host; false: the caller puts it in front */
    const char *patient;    /* the option that waits longer, for hints; NULL: "--timeout" */
};

/* Any callback may be NULL.  `ended` is the last, made exactly once, also after
 * ti_conn_close(). */
struct ti_conn_callbacks {
    void (*ready)(struct ti_conn *conn, void *arg); /* HELLO came, of our protocol */
    /* any message but "beat" and those about connections through `conn` */
    void (*message)(struct ti_conn *conn, const json_t *m, void *arg);
    void (*data)(struct ti_conn *conn, uint32_t rank, const void *data, size_t bytes, void *arg);
    /* `relay`: a relay in between ended, and is the cause.  Its own `ended` came before. */
    void (*ended)(struct ti_conn *conn, enum ti_channel_end end, bool relay,
                  const struct ti_err *why, void *arg);
    /* OUTPUT or STDERR of a process that the node was told to start; NULL: none is ever started,
     * and such a frame is an error of the node */
    void (*process)(struct ti_conn *conn, const struct ti_frame *frame, void *arg);
    /* what ti-node writes to standard error, of direct connections only; for a log */
    void (*err_output)(struct ti_conn *conn, const void *data, size_t bytes, void *arg);
};

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err);

/* Closes the input of all ti-nodes; each ends its processes and itself, and those behind relays
 * before their relays.  Poll until no connection is left, or for as long as that may take. */
void ti_conns_leave(struct ti_conns *all);

/* Closes the input of all ti-nodes at once, before other work and ti_conns_free(): they exit during
 * that work.  From here on there are no callbacks. */
void ti_conns_hang_up(struct ti_conns *all);

/* Closes all connections, without `ended`; ti-nodes get TI_LEAVE_S to exit.  NULL is fine. */
void ti_conns_free(struct ti_conns *all);

/* For descriptors of the caller's (ti_remote_add_fd()). */
struct ti_remote *ti_conns_remote(struct ti_conns *all);

/* ti_sessions_clock(): the clock for timeouts of nodes, because time in which this process was
 * stopped is not theirs. */
double ti_conns_clock(const struct ti_conns *all);

/* Tells the nodes that ti_conns_poll() will not be called for up to so many seconds, so that they
 * do not take our silence for a lost connection. */
void ti_conns_announce_pause(struct ti_conns *all, double seconds);

/*
 * Connects to the ti-node on `host`.  `gateway`, `tiara` and `local` (this machine; `host` may
 * then be NULL) are as in gather/fetch/nodes.h.  `through`: a ready connection to the relay to use;
 * NULL: connect directly.  A relay ignores `gateway`, and is told the host keys that are known
 * here.  Returns NULL only when memory is short; other errors come as `ended`.
 */
struct ti_conn *ti_conn_open(struct ti_conns *all, struct ti_conn *through, const char *host,
                             const char *gateway, const char *tiara, bool local,
                             const struct ti_conn_callbacks *calls, void *arg);

/* Announces a later ti_conn_open() through a relay, so that its host keys are looked up early. */
void ti_conn_prefetch(struct ti_conns *all, const char *host);

/* Sends a request (taken over).  Its "id" must be 1 or more: others are ours.  Returns false when
 * memory is short, the request is too large for a frame, or the connection is not ready. */
bool ti_conn_request(struct ti_conn *conn, json_t *request);

/* A stream for "spawn", and input of that process.  Streams are also what relayed connections have,
 * so only this function may number them. */
uint32_t ti_conn_new_stream(struct ti_conn *conn);
bool ti_conn_input(struct ti_conn *conn, uint32_t stream, const void *data, size_t bytes);

/*
 * Hands a connection to another user: from now on the callbacks are `calls`, with `arg`.  Output of
 * processes is dropped if it has no callback any more.  Returns whether the connection is ready; if
 * it is not, it only serves to be closed.
 */
bool ti_conn_hand_over(struct ti_conn *conn, const struct ti_conn_callbacks *calls, void *arg);

/* The connection that this one goes through; NULL: it is direct. */
struct ti_conn *ti_conn_relay(const struct ti_conn *conn);

/* Ends the connection and those relayed through it.  `ended` comes at the end of this poll, or of
 * the next. */
void ti_conn_close(struct ti_conn *conn);

const json_t *ti_conn_hello(const struct ti_conn *conn);   /* its HELLO; NULL: not yet */
int64_t ti_conn_bytes(const struct ti_conn *conn);         /* received from it, with frames */
int64_t ti_conn_link_bytes(const struct ti_conn *conn);    /* plus what it relayed to us */
size_t ti_conn_partial_bytes(const struct ti_conn *conn);  /* received of an incomplete frame */
const char *ti_conn_transport(const struct ti_conn *conn); /* "libssh2", "OpenSSH", "relay", ... */

/* Waits up to `timeout_ms` for events and handles them.  Ends connections that were silent for too
 * long; of several on one path, only the one nearest to us.  Returns how many connections are
 * left. */
int ti_conns_poll(struct ti_conns *all, int timeout_ms);

#endif
