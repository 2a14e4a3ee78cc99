/* struct ti_remote: setup, the poll, descriptors of the caller. */
#include "remote/internal.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/folder.h"
#include "remote/conf.h"
#include "remote/gateway.h"

#define CONNECT_S 20.0
#define SILENCE_S 30.0
#define TRIES     4

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

/* --- setup ------------------------------------------------------------------- */

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
    r->max_opening = config->max_opening > 0 ? config->max_opening : TI_REMOTE_OPENING;
    r->tries = config->tries > 0 ? config->tries : TRIES;
    if (getrandom(&r->random, sizeof r->random, GRND_NONBLOCK) != (ssize_t)sizeof r->random)
        r->random = (unsigned long long)getpid() * 2654435761ULL + (unsigned long long)ti__now();
    raise_file_limit(r);
    signal(SIGPIPE, SIG_IGN);
    *out = r;
    return TI_OK;
}

struct ti__login_times ti__login_times(const struct ti_remote *r, const struct ti__conf *conf,
                                       const struct ti_channel_options *options)
{
    double of_host = conf ? conf->connect_s : 0;
    struct ti__login_times t = {fmax(r->connect_s, of_host), fmax(r->answer_s, of_host)};

    if (options && options->connect_s > 0)
        t.connect_s = options->connect_s;
    if (options && options->answer_s > 0)
        t.answer_s = options->answer_s;
    return t;
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

static void free_gone(struct ti_remote *r)
{
    struct ti_channel *c;

    while ((c = r->gone) != NULL) {
        r->gone = c->next;
        ti__channel_free(c);
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
        ti__channel_free(c);
    }
    for (struct ti__caller_fd *f = r->fds; f; f = f->next)
        ti_remote_drop_fd(r, f->fd);
    free_gone(r);
    ti__gateways_free(r);
    ti__confs_free(r->confs);
    if (ti__in_process)
        ti__in_process->forget(r);
    ti__child_reap_dropped();
    ti__limiters_free(r);
    ti_folder_remove(r->dir, r->dir_lock);
    ti__loop_close(&r->loop);
    free(r);
}

/* --- the poll ---------------------------------------------------------------- */

/* Carries out requests of the caller, and starts what can be started. */
static void start_pending(struct ti_remote *r)
{
    struct ti_channel *next;

    r->dirty = false;
    ti__confs_start(r);
    for (struct ti_channel *c = r->first; c; c = next) {
        if (c->closing) {
            next = c->next;
            ti__channel_closed(c);
            continue;
        }
        if (c->state == TI__CHOOSING && (!c->conf || c->conf->state >= TI__CONF_KNOWN))
            ti__channel_choose(c);
        if (c->state == TI__WAITING && ti__channel_may_start(c) && ti__slots_are_free(c))
            ti__channel_start(c);
        if (c->state != TI__ENDED && c->changed) {
            c->changed = false;
            if (c->state == TI__READY)
                c->transport->input(c);
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
    ti__turns_grant(r);
    ti__loop_run(&r->loop, r->gone ? 0 : timeout_ms);
    while (r->dirty && r->first)
        start_pending(r);
    free_gone(r);
    return r->live;
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
