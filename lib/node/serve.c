#include "node/serve_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/reap.h"
#include "node/serve.h"
#include "session/messages.h"
#include "session/times.h"

#define FIXED      4   /* descriptors in each poll(), besides those of tasks and processes */
#define GRACE_S    2.0 /* for processes to end by themselves after the channel ended */
#define LINGER_S   1.0 /* for output of a process that has ended */
#define PATIENCE_S 2.0 /* for the channel to take the rest of the outbox when we end */
#define PIECES     16  /* of traces, sent in one turn of the loop */

/* --- the end of the channel -------------------------------------------------- */

/* Stop all work, and start to end the run unless "leave" was said. */
static void channel_ended(struct ti__serve *s)
{
    if (s->eof)
        return;
    s->eof = true;
    s->watching = false;
    for (int i = 0; i < TI__TASKS; i++)
        if (s->task[i].fd >= 0)
            ti_task_end(&s->task[i]);
    ti_send_end(&s->send);
    ti_relay_free(s->relay);
    s->relay = NULL;
    s->beat_s = 0;
    if (s->open && !s->shared->leave)
        ti__begin_end(s, GRACE_S, -1);
}

/* --- the timeout for input ---------------------------------------------------- */

/* Requests are read as long as the outbox has room for answers. */
static bool takes_input(const struct ti__serve *s)
{
    return !ti_procs_input_full(&s->procs) && ti_outbox_queued(&s->out) < 2 * TI_OUTBOX_FULL;
}

/* Apply the timeout: a connection that was cut does not always report it.  Input that waits to be
 * read is no silence: this process was stopped, or did not get to run. */
static void check_timeout(struct ti__serve *s)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};

    if (s->listen_s <= 0 || s->eof || ti_now() < s->heard + s->listen_s ||
        (takes_input(s) && poll(&in, 1, 0) > 0))
        return;
    fprintf(stderr, "ti-node: nothing was heard for %.0f s\n", s->listen_s);
    channel_ended(s);
}

/* --- frames ------------------------------------------------------------------ */

static void handle_frame(struct ti__serve *s, const struct ti_frame *f)
{
    if (f->type == TI_FRAME_MESSAGE)
        ti__handle_request(s, f);
    else if (f->type == TI_FRAME_INPUT && ti_relay_has(s->relay, f->stream))
        ti_relay_input(s->relay, f->stream, f->payload, f->bytes);
    else if (f->type == TI_FRAME_INPUT)
        ti_procs_input(&s->procs, f->stream, f->payload, f->bytes);
    /* other types never go to a node: ignored */
}

static void receive(struct ti__serve *s)
{
    unsigned char buf[64 * 1024];
    ssize_t n = read(STDIN_FILENO, buf, sizeof buf);
    size_t done = 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->heard = ti_now();
    if (n <= 0) {
        channel_ended(s);
        return;
    }
    for (;;) {
        struct ti_frame f;
        struct ti_err err;
        size_t used;
        int got;
        ti_status st = ti_frame_feed(&s->in, buf + done, (size_t)n - done, &used, &f, &got, &err);

        if (st != TI_OK) {
            fprintf(stderr, "ti-node: %s\n", err.text);
            s->status = st;
            channel_ended(s);
            return;
        }
        if (!got)
            return;
        done += used;
        handle_frame(s, &f);
    }
}

/* --- heartbeats -------------------------------------------------------------- */

/* At most one heartbeat is queued, so that they do not pile up when the channel is slow. */
static bool beat_is_queued(const struct ti__serve *s)
{
    return s->out.passed < s->beat_end;
}

static void beat(struct ti__serve *s)
{
    double now = ti_now();

    if (s->beat_s <= 0 || now < s->next_beat || beat_is_queued(s))
        return;
    ti_outbox_json(&s->out, TI_FRAME_MESSAGE, json_pack("{s:s}", "is", "beat"));
    s->beat_end = ti_outbox_end(&s->out);
    s->next_beat = now + s->beat_s;
}

/* --- the loop ---------------------------------------------------------------- */

static void other_child(pid_t pid, int status, void *arg)
{
    struct ti__serve *s = arg;

    ti_reap_seen(pid, status);
    for (int i = 0; i < TI__TASKS; i++)
        if (s->task[i].pid == pid)
            s->task[i].pid = 0;
}

static void soonest(int *ms, double in_s)
{
    int v = in_s <= 0 ? 0 : in_s < 86400 ? (int)(in_s * 1e3) + 1 : 86400 * 1000;

    if (*ms < 0 || v < *ms)
        *ms = v;
}

static int next_deadline(const struct ti__serve *s, int ms)
{
    double now = ti_now();

    if (s->watching && !ti_outbox_full(&s->out))
        soonest(&ms, s->next_look - now);
    if (s->ending)
        soonest(&ms, s->next_end_look - now);
    if (s->beat_s > 0 && !beat_is_queued(s))
        soonest(&ms, s->next_beat - now);
    if (s->listen_s > 0 && !s->eof)
        soonest(&ms, s->heard + s->listen_s - now);
    if (s->relay)
        soonest(&ms, ti_relay_due_s(s->relay));
    if (ti_send_can(&s->send) && !ti_outbox_full(&s->out))
        soonest(&ms, 0);
    return ms;
}

/*
 * Collect the descriptors for poll().  The end of standard input is always watched, even while no
 * requests are read.  Traces and output stop at half of what the outbox has room for.
 */
static nfds_t poll_set(struct ti__serve *s, struct pollfd *fds)
{
    nfds_t n = 0;

    fds[n++] = (struct pollfd){s->signals, POLLIN, 0};
    fds[n++] = (struct pollfd){s->eof ? -1 : STDIN_FILENO,
                               (short)((takes_input(s) ? POLLIN : 0) | POLLRDHUP), 0};
    fds[n++] =
        (struct pollfd){s->out.broken ? -1 : s->out.fd, ti_outbox_queued(&s->out) ? POLLOUT : 0, 0};
    fds[n++] = (struct pollfd){s->relay ? ti_relay_fd(s->relay) : -1, POLLIN, 0};
    for (int i = 0; i < TI__TASKS; i++)
        fds[n++] = (struct pollfd){s->task[i].fd, POLLIN, 0};
    ti_procs_poll(&s->procs, !ti_outbox_full(&s->out), fds, &n);
    return n;
}

static void poll_once(struct ti__serve *s, struct pollfd *fds, int timeout_ms)
{
    nfds_t n = poll_set(s, fds);

    if (poll(fds, n, timeout_ms) < 0)
        return;
    if (fds[0].revents && ti_launch_sleep(0))
        channel_ended(s);
    ti_procs_reap(&s->procs, other_child, s);
    if (fds[1].revents & POLLIN)
        receive(s);
    else if (fds[1].revents)
        channel_ended(s);
    if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
        s->out.broken = true;
    for (int i = 0; i < TI__TASKS; i++)
        if (fds[FIXED + i].revents && s->task[i].fd == fds[FIXED + i].fd)
            ti__task_done(s, &s->task[i]);
    ti_procs_serve(&s->procs, fds + FIXED + TI__TASKS, n - FIXED - TI__TASKS, &s->out);
    if (s->relay)
        ti_relay_run(s->relay);
}

/*
 * Send some pieces of traces.  If a relay's children use the same outbox, they take turns with us:
 * we send one piece when each child that waited had its turn since our last piece.  The children
 * are held while the outbox has no room for our piece.
 */
static void send_some(struct ti__serve *s)
{
    uint64_t turned;
    bool is_our_turn;

    if (!s->relay || !ti_send_can(&s->send)) {
        if (s->relay)
            ti_relay_hold(s->relay, false);
        ti_send_more(&s->send, PIECES, &s->out);
        return;
    }
    turned = ti_relay_turned(s->relay);
    is_our_turn = turned - s->turned >= (uint64_t)s->waiting || !ti_relay_waiting(s->relay);
    ti_relay_hold(s->relay, is_our_turn && ti_outbox_full(&s->out));
    if (!is_our_turn || ti_outbox_full(&s->out))
        return;
    ti_send_more(&s->send, 1, &s->out);
    s->turned = turned;
    s->waiting = ti_relay_waiting(s->relay);
}

static void loop(struct ti__serve *s)
{
    struct pollfd *fds = NULL;
    size_t room = 0;
    double until = 0;

    for (;;) {
        int ms = ti_procs_tell(&s->procs, &s->out, LINGER_S);

        fds = ti_grow(fds, &room, 3 * (size_t)s->procs.n + FIXED + TI__TASKS, sizeof *fds);
        send_some(s);
        beat(s);
        check_timeout(s);
        ti_outbox_flush(&s->out);
        if (s->out.broken)
            channel_ended(s);
        ti__continue_ending(s);
        ti__send_status(s);
        if (s->eof && !s->ending) {
            until = until > 0 ? until : ti_now() + PATIENCE_S;
            if (s->out.broken || !ti_outbox_queued(&s->out) || ti_now() > until)
                break;
            ms = 100;
        }
        ms = next_deadline(s, ms);
        poll_once(s, fds, ms);
    }
    free(fds);
}

/* --- begin and end ----------------------------------------------------------- */

static json_t *hello(const char *folder, bool shipped)
{
    char host[256] = "?";
    struct utsname u;

    gethostname(host, sizeof host - 1);
    return json_pack("{s:s, s:i, s:o, s:i, s:s, s:o, s:b}", "tiara", ti_version(), "protocol",
                     TI_PROTOCOL, "host", ti_json_text(host), "pid", (int)getpid(), "family",
                     uname(&u) == 0 ? u.machine : "?", "folder", ti_json_text(folder), "shipped",
                     shipped);
}

static ti_status serve(const char *folder, const char *self, bool shipped,
                       struct ti__shared *shared, struct ti_err *err)
{
    struct ti__serve *s = calloc(1, sizeof *s);
    ti_status st;

    if (!s)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    s->folder = folder;
    s->self = self;
    s->shared = shared;
    s->in.started = 1; /* the input comes from a program and has no noise */
    s->end_id = -1;
    s->listen_s = TI_LISTEN_FIRST_S;
    s->heard = ti_now();
    s->dir.fd = -1;
    for (int i = 0; i < TI__TASKS; i++)
        s->task[i].fd = -1;
    s->out.fd = STDOUT_FILENO;
    s->signals = ti_launch_signal_fd();
    if (s->signals < 0 || fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0) {
        free(s);
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    }
    ti_outbox_json(&s->out, TI_FRAME_HELLO, hello(folder, shipped));
    loop(s);
    if (s->open)
        ti__close_run(s);
    st = s->status;
    free(s->told.pid);
    ti_procs_free(&s->procs);
    ti_outbox_free(&s->out);
    ti_frame_reader_free(&s->in);
    free(s);
    return st;
}

ti_status ti__serve_alone(const char *folder, const char *self, struct ti_err *err)
{
    struct ti__shared shared = {.leave = false};

    return serve(folder, self, false, &shared, err);
}

/* --- two processes ----------------------------------------------------------- */

/*
 * The parent process: wait for the serving child.  If the child was killed, end the run, and remove
 * Open MPI's folders.  The parent closes its ends of the channel, so that the far end notices when
 * the child dies.
 */
static ti_status outlive(pid_t pid, struct ti__shared *shared)
{
    struct ti_proc proc = {.pid = pid, .running = true};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), found, sig;

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    while (ti_launch_running(&proc)) {
        sig = ti_launch_sleep(60 * 1000);
        if (sig)
            kill(pid, SIGTERM);
    }
    if (shared->run_id[0] && !shared->leave) {
        memcpy(proc.run_id, shared->run_id, sizeof proc.run_id);
        ti_launch_sweep(&proc, 0, &found);
        ti__remove_folders(shared);
    }
    if (WIFEXITED(proc.wait_status))
        return (ti_status)WEXITSTATUS(proc.wait_status);
    fprintf(stderr, "ti-node: was killed by signal %d (%s)\n", WTERMSIG(proc.wait_status),
            strsignal(WTERMSIG(proc.wait_status)));
    return TI_ERR_REMOTE;
}

ti_status ti_serve(const char *folder, const char *self, bool shipped, struct ti_err *err)
{
    struct ti__shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid(), pid;

    if (shared == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    fflush(NULL);
    pid = fork();
    if (pid < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    ti_launch_init();
    if (pid > 0)
        return outlive(pid, shared);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        return ti_err_set(err, TI_ERR_IO, "cannot serve: the parent process is gone");
    return serve(folder, self, shipped, shared, err);
}
