/*
 * Sessions: each starts one ti-node at the far end of a channel (remote/remote.h) and carries bytes
 * between it and us, until its end.
 *
 * A session passes through three states.  Starting: the shell at the far end finds ti-node, or
 * requests Tiara's files, which are sent (bootstrap.h); what login scripts print is skipped. Ready:
 * the first byte of HELLO came.  From now on all bytes are the caller's: frames (frame.h), HELLO
 * first.  Ended: the channel is closed, and `ended` was called.
 *
 *      ti_session_start() ---> starting --- HELLO ---> ready
 *                                  |                     |
 *            no HELLO in time,     |                     |   the channel ended, or
 *            or no ti-node there   +------> ended <------+   ti_session_abandon()
 *
 * ti-acquire and ti-gather use sessions through conn.h, ti-node as a relay directly (node/relay.h).
 * One thread, one poll loop: all callbacks are made from within ti_sessions_poll().
 */
#ifndef TI_SESSION_SESSION_H
#define TI_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "common/err.h"
#include "remote/embed.h"
#include "remote/remote.h"
#include "session/bootstrap.h"
#include "session/frame.h"

struct ti_sessions_config {
    struct ti_remote_config remote;
    size_t queue_bytes;  /* of Tiara's files, queued for one channel at a time */
    const char *patient; /* the option that waits longer, "--timeout", for hints; NULL: none */
};

struct ti_sessions; /* all of them, with what they share */

ti_status ti_sessions_new(const struct ti_sessions_config *config, struct ti_sessions **out,
                          struct ti_err *err);
/* Closes all channels, without `ended`.  NULL is fine. */
void ti_sessions_free(struct ti_sessions *all);

/* Finds Tiara's files and begins to compute their checksum, unless that was done before.  The first
 * ti_session_start() that needs them does so, too.  TI_ERR_IO: they are not complete. */
ti_status ti_sessions_prepare(struct ti_sessions *all, struct ti_err *err);

/* Waits up to `timeout_ms` for events and handles them.  Returns how many channels are open. */
int ti_sessions_poll(struct ti_sessions *all, int timeout_ms);

/* Seconds in which we listened.  Timeouts of other machines are measured with this clock: while
 * this process is stopped, or busy elsewhere, their silence does not count. */
double ti_sessions_clock(const struct ti_sessions *all);

/* When ti_sessions_poll() is due at the latest, in ti_now(); for a program with a loop of its own.
 */
double ti_sessions_due(const struct ti_sessions *all);

struct ti_remote *ti_sessions_remote(struct ti_sessions *all);

struct ti_session;

/* Any but `output` and `ended` may be NULL.  `ended` is the last, made exactly once. */
struct ti_session_calls {
    void (*connected)(struct ti_session *s, void *arg); /* the shell was started */
    void (*output)(struct ti_session *s, const void *data, size_t bytes, void *arg); /* ready */
    void (*err_output)(struct ti_session *s, const void *data, size_t bytes, void *arg);
    void (*ended)(struct ti_session *s, enum ti_channel_end end, const struct ti_err *why,
                  void *arg);
};

/* Where a session leads.  Strings are borrowed until the start returns, `tiara` and `name` until
 * the session has ended. */
struct ti_session_target {
    const char *host, *gateway; /* as for ti_remote_run() */
    bool local;                 /* this machine; `host` is not used */
    const char *tiara;          /* folder of an installation there; NULL: Tiara is sent */
    const char *name;           /* of the node, in errors; NULL: errors do not name it */
    double start_s; /* timeout between the login and HELLO without any sign of progress */
    const struct ti_channel_options *options; /* NULL: none */
};

/* Embedded in the caller's structures; zeroed at first.  Its members are read by session.c only. */
struct ti_session {
    struct ti_sessions *all;
    TAILQ_ENTRY(ti_session) in_starting;
    const struct ti_session_calls *calls;
    void *arg;
    const char *tiara, *name;
    struct ti_channel *channel; /* NULL: not started, or ended */
    bool local;
    bool commanded; /* the channel has its command */
    bool connected, ready;
    struct ti_bootstrap *boot;
    struct ti_frame_reader hello; /* until HELLO */
    double start_s;
    double moved; /* the latest sign of progress, in ti_sessions_clock() */
    size_t queued;
    double taken;
    double asked_at;                   /* when it first asked for our files; 0: it did not */
    int64_t taken_bytes, taken_by_all; /* of them, by now; by all nodes, when it asked */
    enum ti_channel_end end;
    struct ti_err *why; /* why we abandoned it */
};

/* Starts a session.  On an error nothing was started, and no callback will be made.  TI_ERR_INPUT:
 * `tiara` has characters that shells interpret. */
ti_status ti_session_start(struct ti_session *s, struct ti_sessions *all,
                           const struct ti_session_target *to, const struct ti_session_calls *calls,
                           void *arg, struct ti_err *err);

/* Queues bytes for ti-node; the session must be ready.  False: memory is short, or it is ending. */
bool ti_session_write(struct ti_session *s, const void *data, size_t bytes);
size_t ti_session_queued(const struct ti_session *s);
void ti_session_eof(struct ti_session *s); /* closes ti-node's input once the queue is empty */

/* Closes the channel for a reason of ours; `ended` gets it at the next poll.  The first reason
 * counts. */
void ti_session_abandon(struct ti_session *s, enum ti_channel_end end, const struct ti_err *why);

bool ti_session_open(const struct ti_session *s);             /* started, and not ended */
bool ti_session_ready(const struct ti_session *s);            /* HELLO came */
bool ti_session_connected(const struct ti_session *s);        /* the login succeeded */
bool ti_session_installing(const struct ti_session *s);       /* Tiara's files are being sent */
double ti_session_moved(const struct ti_session *s);          /* ti_sessions_clock() of progress */
const char *ti_session_transport(const struct ti_session *s); /* "libssh2", ...; "": not open */

/* Releases its memory, once it has ended or all sessions were freed. */
void ti_session_free(struct ti_session *s);

#endif
