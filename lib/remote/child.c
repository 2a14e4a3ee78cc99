#include "remote/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/reap.h"

#define READ_BYTES  (64 << 10)
#define LINGER_S     0.3 /* its own children may still write after its exit */
#define POLL_S       0.1 /* interval of polls for the exit, without a pidfd */
#define KILL_AFTER_S 1.0
#define DROPPED_MAX  64 /* dropped and not reaped; with more, dropping waits */

/* --- dropped processes -------------------------------------------------- */

static struct {
    pid_t pid;
    double since;
} dropped[DROPPED_MAX];
static int dropped_count;

/* Reaps those that exited; kills those that had KILL_AFTER_S, or all. */
static void reap_dropped(bool kill_all)
{
    int status;

    for (int i = 0; i < dropped_count;) {
        if (ti_reap(dropped[i].pid, &status)) {
            dropped[i] = dropped[--dropped_count];
            continue;
        }
        if (kill_all || ti__now() - dropped[i].since > KILL_AFTER_S)
            kill(-dropped[i].pid, SIGKILL);
        i++;
    }
}

static void wait_for_dropped(int at_most)
{
    double until = ti__now() + KILL_AFTER_S;

    reap_dropped(false);
    while (dropped_count > at_most) {
        nanosleep(&(struct timespec){0, 2000000L}, NULL);
        reap_dropped(ti__now() > until);
    }
}

void ti__child_reap_dropped(void)
{
    wait_for_dropped(0);
}

static void drop_process(pid_t pid)
{
    int status;

    if (ti_reap(pid, &status))
        return;
    kill(-pid, SIGTERM);
    wait_for_dropped(DROPPED_MAX - 1);
    dropped[dropped_count].pid = pid;
    dropped[dropped_count++].since = ti__now();
}

/* --- start ---------------------------------------------------------------- */

/*
 * Our environment, plus malloc settings for ssh: otherwise glibc returns its buffers to the kernel
 * with every packet, which is half of the system time of ssh.  ssh does not pass them on, unless
 * SendEnv names them.  NULL: no memory.
 */
static char **environment_of_ssh(void)
{
    static char *const more[] = {"MALLOC_MMAP_THRESHOLD_=33554432",
                                 "MALLOC_TRIM_THRESHOLD_=67108864"};
    size_t n = 0;
    char **all;

    while (environ[n])
        n++;
    all = calloc(n + sizeof more / sizeof *more + 1, sizeof *all);
    for (size_t i = 0; all && i < n; i++)
        all[i] = environ[i];
    for (size_t i = 0; all && i < sizeof more / sizeof *more; i++) {
        char name[32];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(more[i], "="), more[i]);
        if (!getenv(name)) /* else the user has set it */
            all[n++] = more[i];
    }
    return all;
}

static _Noreturn void exec_child(const struct ti__child_how *how, char **env, const int fds[3],
                                 int report, pid_t parent)
{
    sigset_t none;
    int error;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() == parent) {
        for (int i = 0; i < 3; i++)
            dup2(fds[i], i);
        if (how->files)
            setrlimit(RLIMIT_NOFILE, how->files);
        execvpe(how->argv[0], (char *const *)how->argv, env ? env : environ);
    }
    error = errno;
    if (write(report, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Moves a descriptor above 2.  Our own 0 to 2 may be closed; dup2() in the child must not overwrite
 * a pipe, and execve() must not close one that stays. */
static bool raise_fd(int *fd)
{
    int low = *fd;

    if (low > 2)
        return true;
    *fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 3);
    if (low >= 0)
        close(low);
    return *fd >= 0;
}

static bool open_pipe(int fds[2])
{
    bool both;

    if (pipe2(fds, O_CLOEXEC) < 0) {
        fds[0] = fds[1] = -1;
        return false;
    }
    both = raise_fd(&fds[0]);
    return raise_fd(&fds[1]) && both;
}

enum { IN_R, IN_W, OUT_R, OUT_W, ERR_R, ERR_W, REPORT_R, REPORT_W, FDS };

static bool open_fds(const struct ti__child_how *how, int fds[FDS])
{
    memset(fds, -1, FDS * sizeof *fds);
    if (how->input) {
        if (!open_pipe(&fds[IN_R]))
            return false;
    } else {
        fds[IN_R] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (!raise_fd(&fds[IN_R]))
            return false;
    }
    return open_pipe(&fds[OUT_R]) && open_pipe(&fds[ERR_R]) && open_pipe(&fds[REPORT_R]);
}

/* Forks and waits for execve(); returns its errno, or 0. */
static int fork_child(const struct ti__child_how *how, int fds[FDS], pid_t *pid)
{
    const int ends[3] = {fds[IN_R], fds[OUT_W], fds[ERR_W]};
    char **env = how->is_ssh ? environment_of_ssh() : NULL;
    pid_t us = getpid();
    int error = 0;
    ssize_t got;

    *pid = fork();
    if (*pid == 0)
        exec_child(how, env, ends, fds[REPORT_W], us);
    if (*pid < 0)
        error = errno;
    free(env);
    if (*pid < 0)
        return error;
    ti_reap_expect(*pid);
    close(fds[REPORT_W]);
    fds[REPORT_W] = -1;
    do
        got = read(fds[REPORT_R], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof error && error) {
        int status;

        while (!ti_reap(*pid, &status))
            nanosleep(&(struct timespec){0, 1000000L}, NULL);
        return error;
    }
    return 0;
}

static void stream_close(struct ti__stream *s)
{
    ti__watch_drop(&s->watch);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void on_in(void *arg, uint32_t events);
static void on_out(void *arg, uint32_t events);
static void on_err(void *arg, uint32_t events);
static void on_log(void *arg, uint32_t events);
static void on_exit_seen(void *arg, uint32_t events);
static void on_timer(void *arg);

static bool stream_open(struct ti__child *c, struct ti__stream *s, int fd, uint32_t events,
                        void (*call)(void *, uint32_t))
{
    s->fd = fd;
    s->watch.loop = NULL;
    return fd < 0 || (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 &&
                      ti__watch(c->loop, &s->watch, fd, events, call, c));
}

/* Opened for writing, too: else it would be at its end before ssh opens it. */
static int open_log(const char *path)
{
    if (mkfifo(path, 0600) < 0)
        return -1;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

ti_status ti__child_start(struct ti__child *c, struct ti__loop *loop,
                          const struct ti__child_how *how, const struct ti__child_callbacks *calls,
                          void *arg, struct ti_err *err)
{
    int fds[FDS], log = -1, error;

    memset(c, 0, sizeof *c);
    c->in.fd = c->out.fd = c->err.fd = c->log.fd = c->pidfd = -1;
    if (how->log_path && (log = open_log(how->log_path)) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot make '%s'", how->log_path);
    error = open_fds(how, fds) ? fork_child(how, fds, &c->pid) : errno;
    if (how->log_path && error)
        unlink(how->log_path);
    close_all((int[]){fds[IN_R], fds[OUT_W], fds[ERR_W], fds[REPORT_R], fds[REPORT_W]}, 5);
    if (error) {
        close_all((int[]){fds[IN_W], fds[OUT_R], fds[ERR_R], log}, 4);
        c->pid = 0;
        errno = error;
        return ti_err_errno(err, TI_ERR_IO, "cannot start '%s'", how->argv[0]);
    }
    c->loop = loop;
    c->calls = calls;
    c->arg = arg;
    c->input = how->input;
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (!stream_open(c, &c->in, fds[IN_W], 0, on_in) ||
        !stream_open(c, &c->out, fds[OUT_R], EPOLLIN, on_out) ||
        !stream_open(c, &c->err, fds[ERR_R], EPOLLIN, on_err) ||
        !stream_open(c, &c->log, log, EPOLLIN, on_log) ||
        (c->pidfd >= 0 && !ti__watch(loop, &c->pid_watch, c->pidfd, EPOLLIN, on_exit_seen, c))) {
        ti_err_errno(err, TI_ERR_IO, "cannot watch '%s'", how->argv[0]);
        ti__child_drop(c);
        return TI_ERR_IO;
    }
    if (c->pidfd < 0)
        ti__timer_set(loop, &c->timer, POLL_S, on_timer, c);
    return TI_OK;
}

/* --- input ---------------------------------------------------------------- */

static void on_in(void *arg, uint32_t events)
{
    struct ti__child *c = arg;

    if (events & EPOLLERR) /* the reader closed it */
        stream_close(&c->in);
    else
        ti__child_input(c);
}

void ti__child_input(struct ti__child *c)
{
    size_t bytes;
    bool wrote = false;

    while (c->in.fd >= 0 && (bytes = ti__queue_bytes(c->input)) > 0) {
        ssize_t n = write(c->in.fd, ti__queue_front(c->input), bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ti__watch_events(&c->in.watch, EPOLLOUT);
            return;
        }
        if (n < 0) {
            stream_close(&c->in);
            return;
        }
        ti__queue_drop(c->input, (size_t)n);
        wrote = true;
    }
    if (c->in.fd < 0)
        return;
    ti__watch_events(&c->in.watch, 0);
    if (c->eof)
        stream_close(&c->in);
    if (wrote && c->calls->drained)
        c->calls->drained(c->arg);
}

void ti__child_eof(struct ti__child *c)
{
    c->eof = true;
    ti__child_input(c);
}

/* --- output and end ------------------------------------------------------- */

/* Reads once; true if data came. */
static bool read_stream(struct ti__child *c, struct ti__stream *s,
                        void (*call)(void *arg, const char *data, size_t bytes))
{
    char buf[READ_BYTES];
    ssize_t n;

    if (s->fd < 0)
        return false;
    n = read(s->fd, buf, sizeof buf);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        stream_close(s);
        return false;
    }
    if (call)
        call(c->arg, buf, (size_t)n);
    return true;
}

/* After its exit, ends once its pipes are closed, or had no data for a while: its own children may
 * have them open. */
static void maybe_end(struct ti__child *c, bool lingered)
{
    bool all = c->out.fd < 0 && c->err.fd < 0;

    if (!c->loop || !c->exited || c->ended || (c->paused && !all))
        return;
    if (!all && !lingered) {
        if (!c->timer.loop)
            ti__timer_set(c->loop, &c->timer, LINGER_S, on_timer, c);
        return;
    }
    while (read_stream(c, &c->log, c->calls->log))
        ;
    if (!c->loop)
        return; /* dropped by that call */
    c->ended = true;
    stream_close(&c->in);
    c->calls->ended(c->arg, c->status);
}

static void on_out(void *arg, uint32_t events)
{
    struct ti__child *c = arg;

    (void)events;
    if (c->calls->may_take && !c->calls->may_take(c->arg))
        return;
    if (read_stream(c, &c->out, c->calls->out) && c->exited)
        ti__timer_drop(&c->timer);
    maybe_end(c, false);
}

static void on_err(void *arg, uint32_t events)
{
    struct ti__child *c = arg;

    (void)events;
    if (read_stream(c, &c->err, c->calls->err) && c->exited)
        ti__timer_drop(&c->timer);
    maybe_end(c, false);
}

static void on_log(void *arg, uint32_t events)
{
    struct ti__child *c = arg;

    (void)events;
    read_stream(c, &c->log, c->calls->log);
}

static void check_exit(struct ti__child *c)
{
    if (c->exited || !ti_reap(c->pid, &c->status))
        return;
    c->exited = true;
    ti__timer_drop(&c->timer);
    ti__watch_drop(&c->pid_watch);
    if (c->pidfd >= 0)
        close(c->pidfd);
    c->pidfd = -1;
    maybe_end(c, false);
}

static void on_exit_seen(void *arg, uint32_t events)
{
    (void)events;
    check_exit(arg);
}

static void on_timer(void *arg)
{
    struct ti__child *c = arg;

    if (c->exited) {
        maybe_end(c, true);
        return;
    }
    ti__timer_set(c->loop, &c->timer, POLL_S, on_timer, c);
    check_exit(c);
}

/* A paused stream is not watched: with events 0, epoll would still report a hangup. */
static void watch_or_drop(struct ti__child *c, struct ti__stream *s, void (*call)(void *, uint32_t))
{
    if (c->paused)
        ti__watch_drop(&s->watch);
    else if (s->fd >= 0 && !ti__watch(c->loop, &s->watch, s->fd, EPOLLIN, call, c))
        stream_close(s);
}

void ti__child_pause(struct ti__child *c, bool pause)
{
    if (c->paused == pause)
        return;
    c->paused = pause;
    watch_or_drop(c, &c->out, on_out);
    watch_or_drop(c, &c->err, on_err);
    if (c->exited)
        ti__timer_drop(&c->timer);
    if (!pause)
        maybe_end(c, false);
}

void ti__child_drop(struct ti__child *c)
{
    if (c->pid <= 0)
        return;
    stream_close(&c->in);
    stream_close(&c->out);
    stream_close(&c->err);
    stream_close(&c->log);
    ti__watch_drop(&c->pid_watch);
    ti__timer_drop(&c->timer);
    if (c->pidfd >= 0)
        close(c->pidfd);
    if (!c->exited)
        drop_process(c->pid);
    memset(c, 0, sizeof *c);
}
