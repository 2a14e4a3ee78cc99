#include "common/folder.h"
#include "remote/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/gateway.h"
#include "remote/mux.h"

#define CONNECT_S 20.0
#define SILENCE_S 30.0
#define MAX_OPENING     8
#define TRIES     4
#define BACKOFF_S       0.4 /* before the second attempt; then doubled, with jitter */
#define TURNS           8   /* granted at a time */
#define MAX_OPENING_ALL 64  /* connections being opened in all: each costs processor time */
#define UNANSWERED_S                                                                               \
    3.0 /* without any data for so long, an attempt costs nothing and is not counted */

const char *ti_channel_end_text(enum ti_channel_end end)
{
    static const char *const texts[] = {
#define TEXT(name, text) [TI_CHANNEL_##name] = text,
        TI_CHANNEL_ENDS(TEXT)
#undef TEXT
    };

    return (unsigned)end < TI_CHANNEL_END_COUNT ? texts[end] : "unknown end";
}

double ti__random(struct ti_remote *r)
{
    r->random = r->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(r->random >> 11) / 9007199254740992.0;
}

void ti__signal_name(int sig, char name[16])
{
    const char *abbrev = sigabbrev_np(sig);

    if (abbrev)
        snprintf(name, 16, "%s", abbrev);
    else
        snprintf(name, 16, "%d", sig);
}

/* Names may end up in a ProxyCommand, and so in a shell: allows what OpenSSH allows there.  A
 * leading
 * '-' would be an option of ssh. */
static bool is_plain_name(const char *name, const char *never)
{
    if (!*name || *name == '-')
        return false;
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f || strchr(never, *name))
            return false;
    return true;
}

bool ti__target(struct ti__target *t, const char *text)
{
    char *at, *host, *colon;

    memset(t, 0, sizeof *t);
    if (strlen(text) >= sizeof t->copy)
        return false;
    strcpy(t->copy, text);
    host = t->copy;
    at = strrchr(t->copy, '@');
    if (at) {
        *at = '\0';
        t->user = t->copy;
        host = at + 1;
    }
    if (*host == '[') {
        char *end = strchr(++host, ']');

        if (!end || (end[1] && end[1] != ':'))
            return false;
        *end = '\0';
        if (end[1])
            t->port = end + 2;
    } else if ((colon = strchr(host, ':')) != NULL && !strchr(colon + 1, ':')) {
        *colon = '\0';
        t->port = colon + 1;
    }
    t->host = host;
    if (t->port) {
        char *end;
        long port = strtol(t->port, &end, 10);

        if (end == t->port || *end || port < 1 || port > 65535)
            return false;
    }
    return is_plain_name(host, "'`\"$\\;&<>|(){},") &&
           (!t->user || is_plain_name(t->user, "'`\";&<>|(){}"));
}

bool ti_remote_is_target(const char *host)
{
    struct ti__target t;

    return ti__target(&t, host);
}

/* --- setup ---------------------------------------------------------------- */

static void raise_file_limit(struct ti_remote *r)
{
    struct rlimit more;

    if (getrlimit(RLIMIT_NOFILE, &r->files) < 0)
        return;
    more = r->files;
    more.rlim_cur = more.rlim_max;
    setrlimit(RLIMIT_NOFILE, &more);
}

ti_status ti_remote_new(const struct ti_remote_config *config, struct ti_remote **out,
                        struct ti_err *err)
{
    struct ti_remote *r = calloc(1, sizeof *r);

    if (!r)
        return ti_err_errno(err, TI_ERR_IO, "cannot prepare connections");
    r->confs = ti__confs_new();
    if (!r->confs || !ti__loop_open(&r->loop)) {
        ti_err_errno(err, TI_ERR_IO, "cannot prepare connections");
        ti__confs_free(r->confs);
        free(r);
        return TI_ERR_IO;
    }
    r->config = config;
    r->connect_s = config->connect_s > 0 ? config->connect_s : CONNECT_S;
    r->answer_s = config->answer_s > 0 ? config->answer_s : r->connect_s;
    r->silence_s = config->silence_s > 0 ? config->silence_s : SILENCE_S;
    r->max_opening = config->max_opening > 0 ? config->max_opening : MAX_OPENING;
    r->tries = config->tries > 0 ? config->tries : TRIES;
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (unsigned long long)getpid() * 2654435761ULL + (unsigned long long)ti__now();
    raise_file_limit(r);
    signal(SIGPIPE, SIG_IGN);
    *out = r;
    return TI_OK;
}

const char *ti__remote_dir(struct ti_remote *r, struct ti_err *err)
{
    /* the path of a socket must be short */
    const char *const where[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

    for (size_t i = 0; !r->dir[0] && i < sizeof where / sizeof *where; i++) {
        if (!where[i] || where[i][0] != '/' || strlen(where[i]) > 40)
            continue;
        ti_folder_make(where[i], r->dir, sizeof r->dir, &r->dir_lock);
    }
    if (!r->dir[0])
        ti_err_errno(err, TI_ERR_IO, "cannot make a folder for sockets in '/tmp'");
    return r->dir;
}

const char *ti_remote_folder(struct ti_remote *r, struct ti_err *err)
{
    return ti__remote_dir(r, err);
}

static void channel_free(struct ti_channel *c)
{
    ti__timer_drop(&c->timer);
    if (c->own && c->transport)
        c->transport->stop(c);
    free(c->own);
    ti__queue_free(&c->input);
    free(c->host);
    free(c->gateway);
    free(c->command);
    free(c);
}

static void free_gone(struct ti_remote *r)
{
    struct ti_channel *c;

    while ((c = r->gone) != NULL) {
        r->gone = c->next;
        channel_free(c);
    }
    for (struct ti__caller_fd **f = &r->fds; *f;) {
        struct ti__caller_fd *fd = *f;

        if (!fd->dropped) {
            f = &fd->next;
            continue;
        }
        *f = fd->next;
        free(fd);
    }
}

void ti_remote_free(struct ti_remote *r)
{
    if (!r)
        return;
    while (r->first) {
        struct ti_channel *c = r->first;

        r->first = c->next;
        channel_free(c);
    }
    for (struct ti__caller_fd *f = r->fds; f; f = f->next)
        ti_remote_drop_fd(r, f->fd);
    free_gone(r);
    ti__gateways_free(r);
    ti__confs_free(r->confs);
    if (ti__in_process)
        ti__in_process->forget(r);
    ti__child_reap_dropped();
    while (r->limiters) {
        struct ti__limiter *d = r->limiters;

        r->limiters = d->next;
        free(d->name);
        free(d);
    }
    ti_folder_remove(r->dir, r->dir_lock);
    ti__loop_close(&r->loop);
    free(r);
}

/* --- limiters ----------------------------------------------------------------- */

static struct ti__limiter *limiter_named(struct ti_remote *r, const char *name)
{
    struct ti__limiter *d;

    for (d = r->limiters; d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    d = calloc(1, sizeof *d);
    if (!d || !(d->name = strdup(name))) {
        free(d);
        return NULL;
    }
    d->next = r->limiters;
    return r->limiters = d;
}

static void release_slots(struct ti_channel *c)
{
    if (c->holds_slot)
        c->limiter->opening--;
    if (c->holds_global)
        c->r->opening--;
    c->r->dirty = c->r->dirty || c->holds_slot || c->holds_global;
    c->holds_slot = c->holds_global = false;
}

/* The host may not exist: lets other attempts begin, those behind the same gateway, too. */
static void release_unanswered(struct ti_channel *c)
{
    if (c->through)
        release_slots(c);
    else if (c->holds_global)
        c->r->opening--;
    c->holds_global = false;
    c->r->dirty = true;
}

/* --- turns ------------------------------------------------------------------- */

void ti_remote_read_by_turns(struct ti_remote *r, bool (*full)(void *arg), void *arg)
{
    r->full = full;
    r->full_arg = arg;
    r->read_queue_end = &r->read_queue;
}

int ti_remote_waiting(const struct ti_remote *r)
{
    return r->waiting;
}

uint64_t ti_remote_turns(const struct ti_remote *r)
{
    return r->turns;
}

static void leave_read_queue(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    struct ti_channel **at = &r->read_queue;

    if (!c->in_read_queue)
        return;
    while (*at != c)
        at = &(*at)->next_reader;
    *at = c->next_reader;
    if (r->read_queue_end == &c->next_reader)
        r->read_queue_end = at;
    c->in_read_queue = false;
    r->waiting--;
}

bool ti__channel_may_read(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    bool turn = c->turn;

    c->turn = false;
    if (!r->full || turn || c->state != TI__READY || c->in_read_queue)
        return true;
    if (!r->read_queue && !r->full(r->full_arg)) {
        r->turns++;
        return true;
    }
    c->next_reader = NULL;
    *r->read_queue_end = c;
    r->read_queue_end = &c->next_reader;
    c->in_read_queue = c->paused = true;
    r->waiting++;
    c->transport->pause(c);
    return false;
}

/* Grants turns to the first channels; only a few, as each may fill the buffer. */
static void grant_turns(struct ti_remote *r)
{
    for (int i = 0; i < TURNS && r->read_queue && !r->full(r->full_arg); i++) {
        struct ti_channel *c = r->read_queue;

        leave_read_queue(c);
        r->turns++;
        c->turn = true;
        c->paused = false;
        c->transport->pause(c);
    }
}

/* --- channels -------------------------------------------------------------- */

static void begin_timeouts(struct ti_channel *c);

static struct ti_channel *channel_new(struct ti_remote *r, const struct ti__transport *transport,
                                      const char *host, const char *gateway, const char *command,
                                      const struct ti_channel_callbacks *calls, void *arg)
{
    struct ti_channel *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->r = r;
    c->transport = transport;
    c->host = strdup(host);
    c->command = command ? strdup(command) : NULL;
    c->own = calloc(1, transport->bytes);
    if (gateway)
        c->gateway = strdup(gateway);
    if (!c->host || (command && !c->command) || !c->own || (gateway && !c->gateway)) {
        channel_free(c);
        return NULL;
    }
    c->state = TI__WAITING; /* without SSH there is nothing to choose */
    c->calls = *calls;
    c->arg = arg;
    c->prev = r->last;
    if (r->last)
        r->last->next = c;
    else
        r->first = c;
    r->last = c;
    r->live++;
    r->dirty = true;
    return c;
}

struct ti_channel *ti_remote_run(struct ti_remote *r, const char *host, const char *gateway,
                                 const char *command, const struct ti_channel_callbacks *calls,
                                 void *arg)
{
    struct ti_channel *c;

    if (r->config->via)
        return channel_new(r, &ti__via, host, NULL, command, calls, arg);
    c = channel_new(r, &ti__openssh, host, gateway, command, calls, arg);
    if (!c)
        return NULL;
    c->state = TI__CHOOSING;
    c->conf = ti__conf_of(r, host);
    if (gateway)
        ti__gateway(r, gateway); /* starts at once: it takes longest */
    return c;
}

struct ti_channel *ti_remote_local(struct ti_remote *r, const char *command,
                                   const struct ti_channel_callbacks *calls, void *arg)
{
    return channel_new(r, &ti__local, "localhost", NULL, command, calls, arg);
}

static bool set_transport(struct ti_channel *c, const struct ti__transport *transport)
{
    void *own = calloc(1, transport->bytes);

    if (!own)
        return false;
    c->transport->stop(c);
    free(c->own);
    c->own = own;
    c->transport = transport;
    return true;
}

static bool may_start(const struct ti_channel *c)
{
    return c->command || c->transport->command;
}

bool ti__channel_fall_back(struct ti_channel *c, const char *why)
{
    if (c->r->config->transport != TI_TRANSPORT_AUTO || !set_transport(c, &ti__openssh))
        return false;
    c->why_openssh = why;
    c->r->fallbacks++;
    if (c->state == TI__OPENING && may_start(c)) {
        begin_timeouts(c);
        c->transport->start(c);
    } else if (c->state == TI__OPENING) {
        release_slots(c);
        ti__timer_drop(&c->timer);
        c->state = TI__WAITING;
    }
    return true;
}

/* The host's configuration is known: chooses transport, gateway and limiter. */
static void choose(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    const struct ti__conf *conf = c->conf;
    const char *why = conf ? conf->needs_openssh : NULL;
    char name[600];

    if (!conf || conf->state == TI__CONF_BAD) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "%s",
                           conf ? conf->err.text : "out of memory");
        return;
    }
    if (!c->gateway && conf->jump && !(c->gateway = strdup(conf->jump))) {
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
        return;
    }
    if (!why && conf->proxy && !c->gateway)
        why = "ProxyCommand";
    if (!why && conf->control && !c->gateway && ti__mux_alive(conf->control))
        why = "a connection of ControlPath";
    if (!why && r->config->forward_agent)
        why = "the agent is forwarded";
    if (r->config->transport == TI_TRANSPORT_LIBSSH2 && why) {
        ti__channel_failed(c, TI_CHANNEL_NO_METHOD, "use the OpenSSH transport",
                           "ssh's configuration has what libssh2 cannot do: %s", why);
        return;
    }
    if (why && r->config->transport == TI_TRANSPORT_AUTO)
        ti__channel_fall_back(c, why);
    else if (!why && r->config->transport != TI_TRANSPORT_OPENSSH && ti__in_process)
        set_transport(c, ti__in_process);
    snprintf(name, sizeof name, "%s:%d", conf->host, conf->port);
    c->limiter = limiter_named(r, c->gateway ? c->gateway : name);
    c->state = TI__WAITING;
}

void ti__channel_end(struct ti_channel *c)
{
    struct ti_remote *r = c->r;

    if (c->state == TI__ENDED)
        return;
    release_slots(c);
    leave_read_queue(c);
    c->state = TI__ENDED;
    ti__timer_drop(&c->timer);
    c->transport->stop(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        r->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        r->last = c->prev;
    r->live--;
    c->next = r->gone;
    r->gone = c;
    c->calls.ended(c, &c->result, c->arg);
}

void ti__channel_exited(struct ti_channel *c, int wait_status)
{
    struct ti_channel_result *r = &c->result;

    if (wait_status == -1) {
        r->end = TI_CHANNEL_LOCAL;
        ti_err_set(&r->err, TI_ERR_IO, "cannot learn how the command on '%s' ended", c->host);
    } else if (WIFSIGNALED(wait_status)) {
        r->end = TI_CHANNEL_SIGNALLED;
        ti__signal_name(WTERMSIG(wait_status), r->signal);
        ti_err_set(&r->err, TI_ERR_REMOTE, "the command on '%s' was ended by SIG%s", c->host,
                   r->signal);
    } else {
        r->end = TI_CHANNEL_EXITED;
        r->status = WEXITSTATUS(wait_status);
        ti_err_set(&r->err, r->status ? TI_ERR_REMOTE : TI_OK,
                   "the command on '%s' ended with status %d", c->host, r->status);
    }
    ti__channel_end(c);
}

static void retry_now(void *arg)
{
    struct ti_channel *c = arg;

    c->state = TI__WAITING;
    c->r->dirty = true;
}

/* True for failures to connect that a retry may solve. */
static bool is_transient(enum ti_channel_end end)
{
    return end == TI_CHANNEL_REFUSED || end == TI_CHANNEL_BUSY;
}

double ti__remote_backoff(struct ti_remote *r, int tries)
{
    return BACKOFF_S * (double)(1 << (tries < 6 ? tries - 1 : 5)) * (0.5 + ti__random(r));
}

static void retry_later(struct ti_channel *c)
{
    release_slots(c);
    c->transport->stop(c);
    c->state = TI__PAUSING;
    ti__timer_set(&c->r->loop, &c->timer, ti__remote_backoff(c->r, c->tries), retry_now, c);
}

/* Sets a general hint for a failure. */
static void set_hint(struct ti_channel *c, enum ti_channel_end end)
{
    struct ti_err *err = &c->result.err;
    const char *by = c->gateway ? c->gateway : "", *jump = c->gateway ? "-J " : "";

    if (end == TI_CHANNEL_NO_NAME)
        ti_err_hint(err, "is the name right, and known here? Try: getent hosts %s", c->host);
    else if (end == TI_CHANNEL_REFUSED)
        ti_err_hint(err, "does sshd run there, at this port? Try: ssh %s%s%s%s true", jump, by,
                    *by ? " " : "", c->host);
    else if (end == TI_CHANNEL_UNREACHABLE || end == TI_CHANNEL_TIMED_OUT)
        ti_err_hint(err, "is it up? Try: ssh %s%s%s%s true", jump, by, *by ? " " : "", c->host);
    else if (end == TI_CHANNEL_GATEWAY && *by)
        ti_err_hint(err, "is the gateway up? Try: ssh %s true", by);
    else if (end == TI_CHANNEL_BUSY)
        ti_err_hint(err, "others log in there as well: try again, or have its administrator raise "
                         "MaxStartups in sshd_config");
}

void ti__channel_failed(struct ti_channel *c, enum ti_channel_end end, const char *hint,
                        const char *fmt, ...)
{
    struct ti_err *err = &c->result.err;
    char cause[768];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(cause, sizeof cause, fmt, ap);
    va_end(ap);
    if (c->state == TI__OPENING && is_transient(end) && c->tries < c->r->tries) {
        retry_later(c);
        return;
    }
    c->result.end = end;
    snprintf(c->result.cause, sizeof c->result.cause, "%s", cause);
    ti_err_set(err, TI_ERR_REMOTE, "%s '%s'%s%s%s: %s",
               c->state == TI__READY ? "lost the command on" : "cannot run a command on", c->host,
               c->gateway ? " through '" : "", c->gateway ? c->gateway : "", c->gateway ? "'" : "",
               cause);
    if (hint)
        ti_err_hint(err, "%s", hint);
    else if (c->state != TI__READY)
        set_hint(c, end);
    ti__channel_end(c);
}

void ti__channel_ready(struct ti_channel *c)
{
    if (c->state != TI__OPENING)
        return;
    release_slots(c);
    c->state = TI__READY;
    ti__timer_drop(&c->timer);
    c->changed = c->r->dirty = true; /* input and pause apply now */
    if (c->calls.ready)
        c->calls.ready(c, c->arg);
}

void ti__channel_output(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->calls.output && !c->closing)
        c->calls.output(c, data, bytes, c->arg);
}

void ti__channel_err_output(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->calls.err_output && !c->closing)
        c->calls.err_output(c, data, bytes, c->arg);
}

void ti__channel_drained(struct ti_channel *c)
{
    if (c->calls.drained && !c->closing && c->state == TI__READY)
        c->calls.drained(c, c->arg);
}

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

/* Checks the timeouts of an attempt, and sets the timer for the next check. */
static void check_timeouts(void *arg)
{
    struct ti_channel *c = arg;
    double connect_s = c->options.connect_s > 0 ? c->options.connect_s : c->r->connect_s,
           answer_s = c->options.answer_s > 0 ? c->options.answer_s : c->r->answer_s,
           now = ti__now(), end = min_of(c->tried_at + connect_s, c->heard_at + answer_s),
           dead = c->heard_at > c->tried_at || !c->holds_global ? end : c->tried_at + UNANSWERED_S;

    if (now >= end && !c->command) { /* it waits for our command */
        c->tried_at = c->heard_at = now;
        dead = end = min_of(now + connect_s, now + answer_s);
    }
    if (now >= end) {
        ti__channel_failed(c, TI_CHANNEL_TIMED_OUT, NULL, "no answer in %.3g s",
                           now - c->heard_at >= answer_s ? answer_s : connect_s);
        return;
    }
    if (now >= dead) {
        release_unanswered(c);
        dead = end;
    }
    ti__timer_set(&c->r->loop, &c->timer, min_of(end, dead) - now, check_timeouts, c);
}

static void begin_timeouts(struct ti_channel *c)
{
    c->tried_at = c->heard_at = ti__now();
    check_timeouts(c);
}

void ti__channel_heard(struct ti_channel *c)
{
    if (c->state == TI__OPENING)
        c->heard_at = ti__now();
}

void ti__channel_input_taken(struct ti_channel *c)
{
    c->taken_at = ti__now();
}

static void connect_it(struct ti_channel *c)
{
    c->state = TI__OPENING;
    c->tries++;
    if (c->limiter)
        begin_timeouts(c);
    c->transport->start(c);
}

static void gateway_failed(struct ti_channel *c)
{
    const char *cause, *hint;

    ti__gateway_why(c->through, &cause, &hint);
    ti__channel_failed(c, TI_CHANNEL_GATEWAY, hint, "%s", cause);
}

static void start(struct ti_channel *c)
{
    if (c->limiter) {
        c->state = TI__GATEWAY;
        c->holds_slot = c->holds_global = true;
        c->limiter->opening++;
        c->r->opening++;
    }
    if (!c->gateway) {
        connect_it(c);
        return;
    }
    c->through = ti__gateway(c->r, c->gateway);
    if (!c->through)
        ti__channel_failed(c, TI_CHANNEL_LOCAL, NULL, "out of memory");
    else if (ti__gateway_state(c->through) == TI__GATEWAY_UP)
        connect_it(c);
    else if (ti__gateway_state(c->through) == TI__GATEWAY_DOWN)
        gateway_failed(c);
}

/* A callback may end any channel, so the search starts again after each. */
void ti__gateway_changed(struct ti_remote *r, struct ti__gateway *g)
{
    struct ti_channel *c = r->first;

    while (c) {
        if (c->state != TI__GATEWAY || c->through != g) {
            c = c->next;
            continue;
        }
        if (ti__gateway_state(g) == TI__GATEWAY_UP)
            connect_it(c);
        else
            gateway_failed(c);
        c = r->first;
    }
}

static bool has_free_slot(const struct ti_channel *c)
{
    return !c->limiter ||
           (c->limiter->opening < c->r->max_opening && c->r->opening < MAX_OPENING_ALL);
}

static void tell_closed(struct ti_channel *c)
{
    c->result.end = TI_CHANNEL_CLOSED;
    ti_err_set(&c->result.err, TI_OK, "the connection to '%s' was closed", c->host);
    ti__channel_end(c);
}

/* Carries out requests of the caller, and starts what can be started. */
static void start_pending(struct ti_remote *r)
{
    struct ti_channel *next;

    r->dirty = false;
    ti__confs_start(r);
    for (struct ti_channel *c = r->first; c; c = next) {
        if (c->closing) {
            next = c->next;
            tell_closed(c);
            continue;
        }
        if (c->state == TI__CHOOSING && (!c->conf || c->conf->state >= TI__CONF_KNOWN))
            choose(c);
        if (c->state == TI__WAITING && may_start(c) && has_free_slot(c))
            start(c);
        if (c->state != TI__ENDED && c->changed) {
            c->changed = false;
            if (c->state == TI__READY)
                c->transport->input(c);
            if (c->state == TI__READY)
                c->transport->pause(c);
        }
        next = c->state == TI__ENDED ? r->first : c->next;
    }
}

int ti_remote_fd(const struct ti_remote *r)
{
    return r->loop.epoll;
}

double ti_remote_due(const struct ti_remote *r)
{
    return (r->dirty && r->first) || r->gone || (r->read_queue && !r->full(r->full_arg))
               ? 0
               : r->loop.next_timer;
}

int ti_remote_poll(struct ti_remote *r, int timeout_ms)
{
    while (r->dirty && r->first)
        start_pending(r);
    grant_turns(r);
    ti__loop_run(&r->loop, r->gone ? 0 : timeout_ms);
    while (r->dirty && r->first)
        start_pending(r);
    free_gone(r);
    return r->live;
}

/* --- requests of the caller --------------------------------------------------- */

void ti_channel_set_options(struct ti_channel *c, const struct ti_channel_options *options)
{
    c->options = *options;
}

bool ti_channel_command(struct ti_channel *c, const char *command)
{
    if (c->command || c->state == TI__ENDED)
        return true;
    c->command = strdup(command);
    if (c->command && c->state == TI__OPENING && c->transport->command)
        c->transport->command(c);
    c->r->dirty = true;
    return c->command != NULL;
}

double ti_channel_taken_at(const struct ti_channel *c)
{
    return c->taken_at;
}

bool ti_channel_write(struct ti_channel *c, const void *data, size_t bytes)
{
    if (c->closing || c->eof || c->state == TI__ENDED || !ti__queue_add(&c->input, data, bytes))
        return false;
    c->changed = c->r->dirty = true;
    return true;
}

size_t ti_channel_queued(const struct ti_channel *c)
{
    return ti__queue_bytes(&c->input);
}

void ti_channel_eof(struct ti_channel *c)
{
    if (c->state == TI__ENDED)
        return;
    c->eof = true;
    c->changed = c->r->dirty = true;
}

void ti_channel_pause(struct ti_channel *c, bool pause)
{
    if (c->paused == pause || c->state == TI__ENDED)
        return;
    c->paused = pause;
    if (pause && c->state == TI__READY)
        c->transport->pause(c);
    else /* at the next poll, since that may end the channel */
        c->changed = c->r->dirty = true;
}

void ti_channel_close(struct ti_channel *c)
{
    c->closing = c->r->dirty = true;
}

const char *ti_channel_host(const struct ti_channel *c)
{
    return c->host;
}

const char *ti_channel_transport(const struct ti_channel *c)
{
    return c->transport->name;
}

const char *ti_channel_why_openssh(const struct ti_channel *c)
{
    return c->why_openssh;
}

int ti_remote_fallbacks(const struct ti_remote *r)
{
    return r->fallbacks;
}

/* --- descriptors of the caller ----------------------------------------------- */

static void on_caller_fd(void *arg, uint32_t events)
{
    struct ti__caller_fd *f = arg;

    (void)events;
    f->call(f->fd, f->arg);
}

bool ti_remote_add_fd(struct ti_remote *r, int fd, void (*call)(int fd, void *arg), void *arg)
{
    struct ti__caller_fd *f = calloc(1, sizeof *f);

    if (!f)
        return false;
    f->fd = fd;
    f->call = call;
    f->arg = arg;
    if (!ti__watch(&r->loop, &f->watch, fd, EPOLLIN, on_caller_fd, f)) {
        free(f);
        return false;
    }
    f->next = r->fds;
    r->fds = f;
    return true;
}

void ti_remote_drop_fd(struct ti_remote *r, int fd)
{
    for (struct ti__caller_fd *f = r->fds; f; f = f->next) {
        if (f->fd != fd || f->dropped)
            continue;
        ti__watch_drop(&f->watch);
        f->dropped = true;
    }
}
