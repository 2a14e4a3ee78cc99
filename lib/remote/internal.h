/*
 * What the files of remote/ share: channels as their transports see them, and the
 * connections that several channels go through.
 *
 * A channel waits for its door (its gateway, or its sshd: only so many
 * connections are opened through one at a time), is opened, maybe several times,
 * becomes ready, ends.  What ends is freed at the end of ti_remote_poll(), so
 * that no call has to fear for what it was called with.
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
    size_t bytes;                          /* of what it keeps for a channel, zeroed, c->own */
    void (*start)(struct ti_channel *c);   /* one try */
    void (*command)(struct ti_channel *c); /* it is known now; NULL: not started before it is */
    void (*input)(
        struct ti_channel *c); /* once ready: there may be more in the queue, or its end */
    void (*pause)(struct ti_channel *c); /* once ready: c->paused may have changed */
    void (*stop)(struct ti_channel *c);  /* drop all that the try has, if any */
    void (*forget)(struct ti_remote *r); /* what it keeps for all of them; or NULL */
};

extern const struct ti__transport ti__local, ti__via, ti__openssh;

/* libssh2, or NULL where the program is linked without it (openssh_only.c). */
extern const struct ti__transport *const ti__in_process;

/* Where connections are opened: at most so many at a time. */
struct ti__limiter {
    struct ti__limiter *next;
    char *name;
    int opening;
};

/* CHOOSING: ssh is asked about the host; GATEWAY: its gateway is being opened. */
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
    struct ti_channel *next, *prev; /* in its remote's list, or that of the gone */
    char *host, *gateway, *command; /* command: NULL as long as it is not known */
    struct ti_channel_callbacks calls;
    void *arg;

    const struct ti__transport *transport;
    void *own;
    const char *why_openssh;
    struct ti_channel_options wants;
    struct ti_channel *behind; /* in the line of those that wait for their turn */
    bool in_line, turn;
    enum ti__state state;
    struct ti__conf *conf;       /* SSH only */
    struct ti__gateway *through; /* UP when the transport starts, or NULL */
    struct ti__limiter *door;    /* held while opening, NULL for what needs none */
    bool at_door, counted;       /* among those being opened: there, in all */
    int tries;
    double tried_at, heard_at; /* this try: when it began, when something came; ti__now() */
    double taken_at;
    struct ti__timer timer; /* pause, then limit, of a try */

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
    int most_new, tries;
    struct ti__loop loop;
    struct ti_channel *first, *last, *gone;
    int live, opening, fallbacks;
    bool (*full)(void *arg); /* NULL: what is written is read as it comes */
    void *full_arg;
    struct ti_channel *line, **line_end;
    int waiting;
    uint64_t turned;
    bool look; /* something may be started, written or closed */
    struct ti__limiter *doors;
    struct ti__gateway *gateways;
    struct ti__confs *confs;
    struct ti__known *known;
    bool agent_is_stuck;
    struct ti__caller_fd *fds;
    struct rlimit files; /* as they were */
    unsigned long long random;
    char dir[64]; /* private, for sockets and logs; "": not made yet */
    int dir_lock;
    int logs; /* made so far */
};

/* --- what transports say --- */

void ti__channel_ready(struct ti_channel *c);
bool ti__channel_may_read(struct ti_channel *c); /* its output; else it waits for its turn */
void ti__channel_output(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_errput(struct ti_channel *c, const void *data, size_t bytes);
void ti__channel_drained(struct ti_channel *c);

/* The command ended: waitpid()'s status. */
void ti__channel_exited(struct ti_channel *c, int wait_status);

/* The try failed, or the connection after it.  "cannot connect to 'HOST' through
 * 'GATEWAY': CAUSE"; tried again where that may help. */
void ti__channel_failed(struct ti_channel *c, enum ti_channel_end end, const char *hint,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* libssh2 cannot, OpenSSH may: try that, and say why.  False where only libssh2 is
 * asked for. */
bool ti__channel_fall_back(struct ti_channel *c, const char *why);

/* With c->result as it is. */
void ti__channel_end(struct ti_channel *c);

/* The private folder; "" if there is none, err filled. */
const char *ti__remote_dir(struct ti_remote *r, struct ti_err *err);

double ti__random(struct ti_remote *r); /* [0, 1) */

/* "15" of SIGTERM is "TERM". */
void ti__signal_name(int sig, char name[16]);

/* Split [USER@]HOST[:PORT], in brackets if it is an IPv6 address with a port; the
 * results point into `copy`, what is missing is NULL. */
struct ti__target {
    char copy[512];
    const char *user, *host, *port;
};
bool ti__target(struct ti__target *t, const char *text);

/* A gateway is up, or down: for the channels that wait for it. */
void ti__gateway_changed(struct ti_remote *r, struct ti__gateway *g);

/* Something came of it: it lives.  The other side took some of its input. */
void ti__channel_heard(struct ti_channel *c);
void ti__channel_input_taken(struct ti_channel *c);

/* Before the try after this many. */
double ti__remote_backoff(struct ti_remote *r, int tries);

#endif
