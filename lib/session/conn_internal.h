/*
 * Shared by the files of connections:
 *
 *   conn.c          what is sent and received, the end of a connection, direct ones
 *   conn_alive.c    heartbeats and timeouts
 *   conn_relayed.c  connections through a relay: opening them, and what relays report about them
 */
#ifndef TI_SESSION_CONN_INTERNAL_H
#define TI_SESSION_CONN_INTERNAL_H

#include <sys/queue.h>

#include "session/conn.h"
#include "session/session.h"

/* WAITING: for the lookup of its host keys; OVER: `ended` is still to be called. */
enum ti__conn_state {
    TI__CONN_WAITING,
    TI__CONN_OPENING,
    TI__CONN_READY,
    TI__CONN_OVER,
    TI__CONN_ENDED
};

TAILQ_HEAD(ti__conn_list, ti_conn);

struct ti_conn {
    struct ti_conns *all;
    TAILQ_ENTRY(ti_conn) in_all, in_relay, in_waiting, in_over;
    struct ti_conn *relay;         /* NULL: none */
    struct ti__conn_list children; /* connections relayed by this one */
    uint32_t last_stream;          /* given to those, and to processes */
    uint32_t stream;               /* number at its relay; 0: not requested yet */
    struct ti_conn_callbacks calls;
    void *arg;
    enum ti__conn_state state;
    bool waiting; /* it is in all->waiting */
    bool leaving; /* its input was closed */
    char *host, *tiara;
    const char *transport;

    struct ti_session session; /* of a direct connection */
    struct ti_frame_reader in;
    json_t *hello;
    double heard;                    /* ti_sessions_clock(); 0: silence does not count yet */
    double heartbeat_at;             /* when we last sent one, ti_now() */
    double hello_deadline;           /* of a relayed connection, ti_sessions_clock(); 0: none */
    double connect_s;                /* ConnectTimeout of a host behind a relay; 0: none */
    double moved_until;              /* the last deadline that "moved" may set; 0: none came */
    int64_t received, relayed_bytes; /* bytes; the latter were for connections through it */

    enum ti_channel_end end; /* OVER */
    bool by_relay;
    struct ti_err *why;
};

struct ti_conns {
    struct ti_conns_config config;
    struct ti_sessions_config sessions_config;
    struct ti_sessions *sessions;
    struct ti__conn_list conns, waiting, over, gone;
    int live;
    double checked_at; /* ti_now() */
    bool leaving;      /* ti_conns_leave() */
    bool closing;      /* ti_conns_free(): what comes is ignored */
};

/* Marks it as ended, and all connections through it.  ti_conns_poll() calls `ended`, of the relay
 * first. */
void ti__conn_fail(struct ti_conn *conn, enum ti_channel_end end, bool by_relay,
                   const struct ti_err *why);
void ti__conn_fail_text(struct ti_conn *conn, enum ti_channel_end end, const char *text,
                        const char *hint);
void ti__conn_protocol_error(struct ti_conn *conn, const char *what);

bool ti__conn_send_frame(struct ti_conn *conn, enum ti_frame_type type, uint32_t stream,
                         const void *payload, size_t bytes);

/* Bytes from its ti-node, HELLO first. */
void ti__conn_receive(struct ti_conn *conn, const void *data, size_t bytes);

const char *ti__conn_host(const struct ti_conn *conn); /* or "this machine" */

/* --- conn_alive.c --- */

/* Requests heartbeats from the node; is itself one of ours.  False: it cannot be sent. */
bool ti__conn_heartbeat(struct ti_conn *conn);

/* Ends silent connections and sends heartbeats. */
void ti__conns_check_timeouts(struct ti_conns *all);

/* --- conn_relayed.c --- */

/* Handles messages about connections through `conn`; false: `m` is none. */
bool ti__conn_about_relayed(struct ti_conn *conn, const char *is, const json_t *m);

/* An OUTPUT frame of a connection through `conn`; false: it is of none. */
bool ti__conn_relayed_output(struct ti_conn *conn, const struct ti_frame *f);

/* Opens the relayed connections whose host keys were looked up. */
void ti__conns_open_waiting(struct ti_conns *all);
void ti__conn_leave_waiting(struct ti_conn *conn);

/* Tells the relay that the connection is over. */
void ti__conn_unreach(struct ti_conn *conn);

#endif
