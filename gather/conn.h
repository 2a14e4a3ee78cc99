/*
 * The way to a node's ti-node: a channel of ours, or a stream through another node's ti-node,
 * which is then a relay ("reach", node/messages.h), and so on.  Each end talks with us in
 * frames of its own; what relays pass on they do not read.
 *
 * One thread, one poll loop; all calls come from within ti_conns_poll().  What is ended, by
 * whomever, may be looked at until the end of that call.
 */
#ifndef TI_CONN_H
#define TI_CONN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "node/bootstrap.h"
#include "remote/remote.h"

struct ti_conns; /* all of them */
struct ti_conn;  /* one */

struct ti_conns_config {
    enum ti_transport transport;
    const char *ssh_config; /* as ssh -F; NULL */
    const char *const *via; /* as in struct ti_remote_config */
    double connect_s;       /* for one connection, each try; 0: 20 */
    double silence_s;       /* one that says nothing for so long, beats included, is lost, and not
                               waited for in vain either: but 5 s for an answer to connecting */
    bool forward_agent;     /* to nodes, for relays to log in with; by OpenSSH, not libssh2 */
};

/* Any may be NULL.  `ended` is the last, made exactly once, also after ti_conn_close(). */
struct ti_conn_callbacks {
    void (*ready)(struct ti_conn *w, void *arg); /* HELLO was heard, and it is of our protocol */
    void (*message)(struct ti_conn *w, const json_t *m, void *arg); /* not "beat" */
    void (*data)(struct ti_conn *w, uint32_t rank, const void *data, size_t bytes, void *arg);
    /* `relay`: the fault is not its own but of a relay on the way, which ended; that one's
     * `ended` came before */
    void (*ended)(struct ti_conn *w, enum ti_channel_end end, bool relay, const struct ti_err *why,
                  void *arg);
};

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err);
/* Closes all, without `ended`; ti-nodes have a moment to end by themselves.  NULL is fine. */
void ti_conns_free(struct ti_conns *w);

/*
 * To `host`, in which `gateway`, `tiara` and `local` (this machine; host NULL) are as in
 * gather/nodes.h; `through` a way that is ready, or NULL: from here.  Through a relay, the
 * gateway does not matter, and host keys that are known here are told to it.  NULL only when
 * memory is short.
 */
struct ti_conn *ti_conn_open(struct ti_conns *all, struct ti_conn *through, const char *host,
                             const char *gateway, const char *tiara, bool local,
                             const struct ti_conn_callbacks *calls, void *arg);

/* It will be opened, through another: what is to be known here for that is looked up meanwhile. */
void ti_conn_prefetch(struct ti_conns *all, const char *host);

/* Send a request (taken over); "id" is yours, from 1 up: others are our own.  False when memory is
 * short, or it ended. */
bool ti_conn_request(struct ti_conn *w, json_t *request);

/* No more of what it says is wanted: `ended` comes at the end of this poll, or the next.  Those
 * through it end with it. */
void ti_conn_close(struct ti_conn *w);

bool ti_conn_ready(const struct ti_conn *w);
double ti_conn_heard_at(const struct ti_conn *w);      /* when something came last, ti_now() */
double ti_conn_ready_at(const struct ti_conn *w);      /* ti_now(); 0: not yet */
int64_t ti_conn_bytes(const struct ti_conn *w);        /* that it sent us, frames included */
int64_t ti_conn_link_bytes(const struct ti_conn *w);   /* the same and those through it: its link */
size_t ti_conn_partial_bytes(const struct ti_conn *w); /* bytes of a frame that is not whole yet */
const char *ti_conn_transport(const struct ti_conn *w); /* "libssh2", "OpenSSH", "relay", ... */

/* Wait up to `timeout_ms` for something to happen, and have it happen.  Who is silent for too
 * long is ended; of several on one way, who is nearest to us.  Returns how many live. */
int ti_conns_poll(struct ti_conns *all, int timeout_ms);

#endif
