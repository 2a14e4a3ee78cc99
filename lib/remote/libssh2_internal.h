/*
 * Shared by the files of the libssh2 transport.
 *
 *   libssh2.c          the transport: steps, input and output of the command, keepalives, the end
 *   libssh2_connect.c  address or gateway, methods, the handshake
 *   libssh2_auth.c     the host key, and our login
 *
 * Everything is non-blocking.  libssh2 sends into a queue of ours that always takes all bytes,
 * because no other libssh2 function may be called while a packet is partly sent.  It receives from
 * a socket, or from the pipes of a gateway's master.  A session that is to be freed is marked dead
 * first, so that nothing waits for the other side.
 *
 * Whatever happens to a session (an event, a timer, input of the caller) calls ti__libssh2_pump(),
 * which goes as far as the steps allow.
 */
#ifndef TI_REMOTE_LIBSSH2_INTERNAL_H
#define TI_REMOTE_LIBSSH2_INTERNAL_H

#include <libssh2.h>

#include "remote/internal.h"
#include "remote/lookup.h"
#include "remote/mux.h"

/* Done in this order.  CONNECT ends by an event; each of the others but RUN has a function. */
enum ti__step {
    TI__STEP_CONNECT,
    TI__STEP_HANDSHAKE,
    TI__STEP_HOST_KEY,
    TI__STEP_AGENT,
    TI__STEP_FILES,
    TI__STEP_OPEN,
    TI__STEP_EXEC,
    TI__STEP_RUN
};

/* One attempt to run the command of a channel: c->own.  It owns all that it points to but `c`. */
struct ti__libssh2 {
    struct ti_channel *c; /* NULL: not started, or stopped */
    enum ti__step step;
    bool dead, greeted, closed; /* greeted: its "SSH-" line came; closed: by the server */
    bool broken;                /* libssh2 could not decode what came */
    char before[80];            /* its last line before the greeting */
    size_t before_bytes;

    struct ti__lookup *lookup;
    struct addrinfo *list, *at; /* addresses, and the current one */
    struct ti__mux mux;         /* instead of them behind a gateway */
    int in, out;                /* descriptors, equal for a socket; -1 */
    struct ti__watch in_watch, out_watch;
    struct ti__queue sending;
    double heard;    /* when data last came */
    double alive_at; /* time of the timer `alive` */
    struct ti__timer alive, again;

    LIBSSH2_SESSION *ssh;
    size_t memory; /* of the session */
    LIBSSH2_CHANNEL *channel;
    LIBSSH2_AGENT *agent;
    struct libssh2_agent_publickey *key; /* the current key of `agent`, which owns it */
    bool have_key, others; /* others: on to agent keys that IdentityFile does not name */
    int file;              /* index of the current IdentityFile */
    unsigned long window;  /* send window of the channel after the last send */
    unsigned long left;    /* bytes buffered in libssh2 after the last read */
    bool unfit;            /* some keys cannot be used by libssh2 */
    bool input_end;        /* sent */
    char tried[256];       /* names of the keys that the server was offered */
};

/* --- libssh2.c --- */

/* Goes on with the current step, and the next ones, as far as possible.  May free `o`. */
void ti__libssh2_pump(struct ti__libssh2 *o);

/* The attempt failed, see ti__channel_failed(): `o` may be freed. */
void ti__libssh2_fail(struct ti__libssh2 *o, enum ti_channel_end end, const char *cause);

/* libssh2's text for the last failure. */
const char *ti__libssh2_error(struct ti__libssh2 *o);

/* --- libssh2_connect.c --- */

/* Begins step CONNECT: to the host, or to its gateway's master. */
void ti__libssh2_connect(struct ti__libssh2 *o);

/* Fails because the server closed the connection.  Always false. */
bool ti__libssh2_fail_closed(struct ti__libssh2 *o);

/* Steps.  Each returns true when it is done.  False: it waits, or has failed and `o` is freed. */
bool ti__libssh2_handshake(struct ti__libssh2 *o);

/* --- libssh2_auth.c --- */

/* More steps.  by_agent: without success the next step is FILES, which fails when no key is left;
 * with success FILES is skipped. */
bool ti__libssh2_host_key(struct ti__libssh2 *o);
bool ti__libssh2_by_agent(struct ti__libssh2 *o);
bool ti__libssh2_by_file(struct ti__libssh2 *o);

#endif
