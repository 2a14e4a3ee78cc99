/*
 * Shared by the files of remote/: channels as transports see them, and the state of struct
 * ti_remote.
 *
 * Life of a channel: CHOOSING (`ssh -G` runs), WAITING for a slot of its limiter, GATEWAY (the
 * gateway is being opened), OPENING, READY, ENDED.  A failed attempt may lead to PAUSING and back
 * to WAITING.  Ended channels are freed at the end of ti_remote_poll(), so callbacks may use them.
 */
#ifndef TI_REMOTE_INTERNAL_H
#define TI_REMOTE_INTERNAL_H

#include <sys/resource.h>

#include "remote/child.h"
#include "remote/embed.h"
#include "remote/loop.h"
#include "remote/queue.h"
#include "remote/remote.h"

struct ti__transport {
    const char *name;
    size_t bytes;                          /* size of its data for a channel, c->own, zeroed */
    void (*start)(struct ti_channel *c);   /* one attempt to connect */
    void (*command)(struct ti_channel *c); /* the command is known now; NULL: start waits for it */
    void (*input)(struct ti_channel *c);   /* READY: the input queue has more data, or its end */
    void (*pause)(struct ti_channel *c);   /* READY: c->paused may have changed */
    void (*stop)(struct ti_channel *c);    /* release all that the attempt has */
    void (*forget)(struct ti_remote *r);   /* release what is shared by channels; or NULL */
};

extern const struct ti__transport ti__local, ti__via, ti__openssh;

/* libssh2; NULL if the program is linked without it (openssh_only.c). */
extern const struct ti__transport *const ti__in_process;

/* Limits connections being opened at a time through one gateway, or to one sshd. */
struct ti__limiter {
    struct ti__limiter *next;
    char *name;
    int opening;
};

enum ti__state {
    TI__CHOOSING,
    TI__WAITING,
    TI__PAUSING,
    TI__GATEWAY,
    TI__OPENING,
    TI__READY,
    TI__ENDED
};

struct ti__conf;
struct ti__confs;
struct ti__gateway;
struct ti__known;

struct ti_channel {
    struct ti_remote *r;
    struct ti_channel *next, *prev; /* in r->first, or r->gone */
    char *host, *gateway, *command; /* command: NULL until it is known */
    struct ti_channel_callbacks calls;
    void *arg;

    const struct ti__transport *transport;
    void *own;
    const char *why_openssh;
    struct ti_channel_options options;
    struct ti_channel *next_reader; /* in r->read_queue */
    bool in_read_queue, turn;
    enum ti__state state;
    struct ti__conf *conf;       /* NULL without SSH */
    struct ti__gateway *through; /* UP when the transport starts, or NULL */
    struct ti__limiter *limiter; /* NULL without SSH */
    bool holds_slot, holds_global; /* counted in limiter->opening; in r->opening */
    int tries;
    double tried_at, heard_at; /* this attempt: start, and when data last came; ti__now() */
    double taken_at;
    struct ti__timer timer; /* backoff before an attempt, then its timeout */

    struct ti__queue input;
    bool eof, paused, closing, changed;
    struct ti_channel_result result;
};

struct ti__caller_fd {
    struct ti__caller_fd *next;
    struct ti__watch watch;
    int fd;
    bool dropped;
    void (*call)(int fd, void *arg);
    void *arg;
};

struct ti_remote {
    const struct ti_remote_config *config;
    double connect_s, answer_s, silence_s;
    int max_opening, tries;
    struct ti__loop loop;
    struct ti_channel *first, *last, *gone;
    int live, opening, fallbacks;
    bool (*full)(void *arg); /* NULL: channels do not take turns */
    void *full_arg;
    struct ti_channel *read_queue, **read_queue_end;
    int waiting;
    uint64_t turns;
    bool dirty; /* start_pending() may have something to do */
    struct ti__limiter *limiters;
    struct ti__gateway *gateways;
    struct ti__confs *confs;
    struct ti__known *known;
    bool agent_is_stuck;
    struct ti__caller_fd *fds;
    struct rlimit files; /* RLIMIT_NOFILE before we raised it; children get it */
    unsigned long long random;
    char dir[64]; /* private folder for sockets and logs; "": not made yet */
    int dir_lock;
    int logs; /* number of paths made in `dir` */
};

/* --- called by transports --- */

void ti__channel_ready(struct ti_channel *c);
bool ti__channel_may_read(struct ti_channel *c); /* False: it is paused until its turn. */
void ti__channel_output(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_err_output(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_drained(struct ti_channel *c);

/* The command ended, with a status of waitpid(). */
void ti__channel_exited(struct ti_channel *c, int wait_status);

/* The attempt failed, or the connection was lost.  Retries if that may help; else ends the channel
 * with "cannot run a command on 'HOST' through 'GATEWAY': CAUSE".  `hint` may be NULL. */
void ti__channel_failed(struct ti_channel *c, enum ti_channel_end end, const char *hint,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Switches from libssh2 to OpenSSH because of `why`.  False: only libssh2 is allowed. */
bool ti__channel_fall_back(struct ti_channel *c, const char *why);

/* Ends the channel with c->result. */
void ti__channel_end(struct ti_channel *c);

/* The private folder; "" on error, with err. */
const char *ti__remote_dir(struct ti_remote *r, struct ti_err *err);

double ti__random(struct ti_remote *r); /* [0, 1) */

/* SIGTERM is "TERM". */
void ti__signal_name(int sig, char name[16]);

/* Splits [USER@]HOST[:PORT]; an IPv6 address with a port is in brackets.  Missing fields are NULL;
 * the others point into `copy`.  False: not of that form, or with unsafe characters. */
struct ti__target {
    char copy[512];
    const char *user, *host, *port;
};
bool ti__target(struct ti__target *t, const char *text);

/* A gateway came up, or failed: continues the channels that wait for it. */
void ti__gateway_changed(struct ti_remote *r, struct ti__gateway *g);

/* Data came, for the timeout; and: the other side took some input. */
void ti__channel_heard(struct ti_channel *c);
void ti__channel_input_taken(struct ti_channel *c);

/* Seconds to wait before the next attempt, after `tries` of them. */
double ti__remote_backoff(struct ti_remote *r, int tries);

#endif
