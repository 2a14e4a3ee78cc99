/*
 * Connections to the ti-node of each node.  A connection is either direct, a channel of remote.h,
 * or relayed: a stream through the ti-node of another node, which forwards the bytes unread
 * ("reach", session/messages.h).  Both ends talk in frames (session/frame.h) either way.
 *
 * One thread, one poll loop: all callbacks are made from within ti_conns_poll().  A connection
 * that ended stays valid until that call returns.
 */
#ifndef TI_CONN_H
#define TI_CONN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "session/bootstrap.h"
#include "remote/remote.h"

struct ti_conns; /* all of them */
struct ti_conn;  /* one */

struct ti_conns_config {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL */
    const char *const *via; /* as in struct ti_remote_config */
    double connect_s;       /* timeout of one attempt to connect; 0: 20 */
    double silence_s;       /* timeout: a connection without any data, heartbeats included, is
                               lost; also while connecting, but then 5 s at least */
    bool forward_agent;     /* to nodes, so that relays can log in with it; needs OpenSSH */
};

/* Any callback may be NULL.  `ended` is the last, made exactly once, also after
 * ti_conn_close(). */
struct ti_conn_callbacks {
    void (*ready)(struct ti_conn *conn, void *arg); /* HELLO came, of our protocol */
    void (*message)(struct ti_conn *conn, const json_t *m, void *arg); /* any but "beat" */
    void (*data)(struct ti_conn *conn, uint32_t rank, const void *data, size_t bytes, void *arg);
    /* `relay`: a relay in between ended, and is the cause.  Its own `ended` came before. */
    void (*ended)(struct ti_conn *conn, enum ti_channel_end end, bool relay,
                  const struct ti_err *why, void *arg);
};

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err);
/* Closes all connections, without `ended`.  ti-nodes get a moment to exit by themselves.  NULL is
 * fine. */
void ti_conns_free(struct ti_conns *conn);

/*
 * Connects to the ti-node on `host`.  `gateway`, `tiara` and `local` (this machine; `host` may
 * then be NULL) are as in gather/nodes.h.  `through`: a ready connection to the relay to use;
 * NULL: connect directly.  A relay ignores `gateway`, and is told the host keys that are known
 * here.  Returns NULL only when memory is short; other errors come as `ended`.
 */
struct ti_conn *ti_conn_open(struct ti_conns *all, struct ti_conn *through, const char *host,
                             const char *gateway, const char *tiara, bool local,
                             const struct ti_conn_callbacks *calls, void *arg);

/* Announces a later ti_conn_open() through a relay, so that its host keys are looked up early. */
void ti_conn_prefetch(struct ti_conns *all, const char *host);

/* Sends a request (taken over).  Its "id" must be 1 or more: others are ours.  Returns false when
 * memory is short or the connection ended. */
bool ti_conn_request(struct ti_conn *conn, json_t *request);

/* Ends the connection and those relayed through it.  `ended` comes at the end of this poll, or of
 * the next. */
void ti_conn_close(struct ti_conn *conn);

bool ti_conn_ready(const struct ti_conn *conn);
double ti_conn_heard_at(const struct ti_conn *conn);      /* when data last came; ti_now() */
double ti_conn_ready_at(const struct ti_conn *conn);      /* ti_now(); 0: not yet */
int64_t ti_conn_bytes(const struct ti_conn *conn);        /* received from it, frames included */
int64_t ti_conn_link_bytes(const struct ti_conn *conn);   /* the same, plus what it relayed to us */
size_t ti_conn_partial_bytes(const struct ti_conn *conn); /* received of an incomplete frame */
const char *ti_conn_transport(const struct ti_conn *conn); /* "libssh2", "OpenSSH", "relay", ... */

/* Waits up to `timeout_ms` for events and handles them.  Ends connections that were silent for too
 * long; of several on one path, only the one nearest to us.  Returns how many connections are
 * left. */
int ti_conns_poll(struct ti_conns *all, int timeout_ms);

#endif
