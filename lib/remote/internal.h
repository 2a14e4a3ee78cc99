/*
 * Shared by the files of this room: channels as transports see them, and the state of struct
 * ti_remote.
 *
 *   remote.c   struct ti_remote, the poll
 *   channel.c  begin and end of a channel, its output, requests of the caller
 *   attempt.c  choice of the transport, attempts to connect, timeouts, failures
 *   limits.c   how many connections are opened at a time, and whose output is read next
 *   target.c   [USER@]HOST[:PORT]
 *
 * One thread.  The caller's data goes into c->input, from which the transport sends; what the
 * transport receives goes to the caller's callbacks at once.  A request of the caller that may end
 * a channel only sets r->dirty; ti_remote_poll() carries it out.
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
    void (*pause)(struct ti_channel *c);   /* READY: c->paused changed; NULL if the transport does
                                              not call ti__channel_may_read() */
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

/* One command on one host.  It owns its texts, `own` and `input`. */
struct ti_channel {
    struct ti_remote *r;
    struct ti_channel *next, *prev; /* in r->first, or r->gone */
    char *host, *gateway, *command; /* command: NULL until it is known */
    struct ti_channel_callbacks calls;
    void *arg; /* of `calls` */

    const struct ti__transport *transport;
    void *own;               /* the transport's data */
    const char *why_openssh; /* static text, see ti_channel_why_openssh() */
    struct ti_channel_options options;

    enum ti__state state;
    struct ti__conf *conf;         /* NULL without SSH */
    struct ti__gateway *through;   /* UP when the transport starts, or NULL */
    struct ti__limiter *limiter;   /* NULL without SSH */
    bool holds_slot, holds_global; /* counted in limiter->opening; in r->opening */
    int tries;                     /* attempts so far */
    double tried_at, heard_at;     /* this attempt: start, and when data last came; ti__now() */
    double taken_at;               /* see ti_channel_taken_at() */
    struct ti__timer timer;        /* backoff before an attempt, then its timeout */

    struct ti_channel *next_reader; /* in r->read_queue */
    bool in_read_queue;             /* it waits for its turn, paused */
    bool turn;                      /* it was granted a turn, which it has not used yet */

    struct ti__queue input;          /* for the command's standard input */
    bool eof;                        /* no more is added to `input` */
    bool paused;                     /* until its turn */
    bool closing;                    /* ti_channel_close() was called */
    bool changed;                    /* the transport is to look at `input` and `eof` */
    struct ti_channel_result result; /* valid in state ENDED */
};

/* A descriptor of the caller's, see ti_remote_add_fd(). */
struct ti__caller_fd {
    struct ti__caller_fd *next;
    struct ti__watch watch;
    int fd;
    bool dropped; /* to be freed at the end of ti_remote_poll() */
    void (*call)(int fd, void *arg);
    void *arg;
};

struct ti_remote {
    const struct ti_remote_config *config; /* the caller's */
    double connect_s, answer_s, silence_s; /* of `config`, with defaults */
    int max_opening, tries;                /* the same */
    struct ti__loop loop;
    struct ti_channel *first, *last; /* channels that have not ended */
    struct ti_channel *gone;         /* ended, freed at the end of ti_remote_poll() */
    int live;                        /* number of channels from `first` on */
    int opening;                     /* connections being opened, as far as they count */
    double first_answer_s;           /* the longest that hosts lately took to answer at all */

    bool (*full)(void *arg); /* NULL: channels do not take turns */
    void *full_arg;
    struct ti_channel *read_queue, **read_queue_end; /* channels that wait for their turn */
    int waiting;                                     /* their number */
    uint64_t turns;                                  /* so far */

    bool dirty; /* start_pending() may have something to do */
    struct ti__limiter *limiters;
    struct ti__gateway *gateways;
    struct ti__confs *confs;
    struct ti__known *known; /* known_hosts files read so far; NULL: none */
    bool agent_is_stuck;     /* the ssh agent did not answer; it is not asked again */
    struct ti__caller_fd *fds;
    struct rlimit files;       /* RLIMIT_NOFILE before we raised it; children get it */
    unsigned long long random; /* state of ti__random() */
    char dir[64];              /* private folder for sockets and logs; "": not made yet */
    int dir_lock;              /* of ti_folder_make() */
    int logs;                  /* number of paths made in `dir` */
};

/* --- remote.c --- */

/* The private folder; "" on error, with err. */
const char *ti__remote_dir(struct ti_remote *r, struct ti_err *err);

double ti__random(struct ti_remote *r); /* [0, 1) */

/* The timeouts `connect_s` and `answer_s` of a login: those of `options`, else of `r`, or
 * ConnectTimeout where that is longer.  Both pointers may be NULL. */
struct ti__login_times {
    double connect_s, answer_s;
};
/* What to do if that is too short. */
#define TI__LONGER_LOGIN "ConnectTimeout in ssh's configuration lets it take longer"
struct ti__login_times ti__login_times(const struct ti_remote *r, const struct ti__conf *conf,
                                       const struct ti_channel_options *options);

/* SIGTERM is "TERM". */
void ti__signal_name(int sig, char name[16]);

/* --- target.c --- */

/* Splits [USER@]HOST[:PORT]; an IPv6 address with a port is in brackets.  Missing fields are NULL;
 * the others point into `copy`.  False: not of that form, or with unsafe characters. */
struct ti__target {
    char copy[512];
    const char *user, *host, *port;
};
bool ti__target(struct ti__target *t, const char *text);

/* --- limits.c --- */

/* The limiter of that name, which is made if it is new; NULL: no memory. */
struct ti__limiter *ti__limiter(struct ti_remote *r, const char *name);
void ti__limiters_free(struct ti_remote *r);

/* A channel with a limiter takes two slots while it is being opened: one of the limiter, one of
 * `r`.  Without a limiter slots are always free, and none is taken. */
bool ti__slots_are_free(const struct ti_channel *c);
void ti__slots_acquire(struct ti_channel *c);
void ti__slots_release(struct ti_channel *c); /* fine if it holds none */

/* The host may not exist: lets other attempts begin, those behind the same gateway, too. */
void ti__slots_release_unanswered(struct ti_channel *c);

/* Turns of reading, see ti_remote_read_by_turns(). */
bool ti__channel_may_read(struct ti_channel *c); /* False: it is paused until its turn. */
void ti__turn_leave(struct ti_channel *c); /* Waits for no turn any more; fine if it never did. */
void ti__turns_grant(struct ti_remote *r); /* Lets the next channels read, while there is room. */

/* --- channel.c: called by transports --- */

/* The command was started. */
void ti__channel_ready(struct ti_channel *c);

/* Output came; the input queue is empty; the other side took some input. */
void ti__channel_output(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_err_output(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_drained(struct ti_channel *c);
void ti__channel_input_taken(struct ti_channel *c);

/* The command ended, with a status of waitpid(). */
void ti__channel_exited(struct ti_channel *c, int wait_status);

/* Ends the channel with c->result. */
void ti__channel_end(struct ti_channel *c);

/* --- channel.c: the end --- */

/* Ends a channel that the caller closed. */
void ti__channel_closed(struct ti_channel *c);

/* Frees it with all that its attempt has; it must be in no list. */
void ti__channel_free(struct ti_channel *c);

/* --- attempt.c: called by transports --- */

/* Data came, for the timeout of an attempt. */
void ti__channel_heard(struct ti_channel *c);

/* The attempt failed, or the connection was lost.  Retries if that may help; else ends the channel
 * with "cannot run a command on 'HOST' through 'GATEWAY': CAUSE".  `hint` may be NULL. */
void ti__channel_failed(struct ti_channel *c, enum ti_channel_end end, const char *hint,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Switches from libssh2 to OpenSSH because of `why`.  False: only libssh2 is allowed. */
bool ti__channel_fall_back(struct ti_channel *c, const char *why);

/* --- attempt.c: called by remote.c and gateway.c --- */

/* CHOOSING, and c->conf is KNOWN or BAD: chooses transport, gateway and limiter. */
void ti__channel_choose(struct ti_channel *c);

/* WAITING: starts an attempt.  may_start: false while the transport needs a command first. */
bool ti__channel_may_start(const struct ti_channel *c);
void ti__channel_start(struct ti_channel *c);

/* A gateway came up, or failed: continues the channels that wait for it. */
void ti__gateway_changed(struct ti_remote *r, struct ti__gateway *g);

/* Seconds to wait before the next attempt, after `tries` of them. */
double ti__remote_backoff(struct ti_remote *r, int tries);

#endif
