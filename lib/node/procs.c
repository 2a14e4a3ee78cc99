#include "node/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/map.h"
#include "node/launch.h"
#include "node/orphans.h"

#define PIECE (32 * 1024)

static struct ti_child *find(const struct ti_procs *p, uint32_t stream)
{
    for (int i = 0; i < p->n; i++)
        if (p->child[i].stream == stream)
            return &p->child[i];
    return NULL;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void release(struct ti_child *c)
{
    for (int i = 0; i < 3; i++)
        close_end(&c->fd[i]);
    free(c->input);
    c->input = NULL;
}

/* --- start --------------------------------------------------------------- */

/* Make three pipes: ours[] are our ends, theirs[] the ends of the process. */
static bool make_pipes(int ours[3], int theirs[3])
{
    for (int i = 0; i < 3; i++) {
        int fd[2];

        ours[i] = theirs[i] = -1;
        if (pipe2(fd, O_CLOEXEC) < 0)
            return false;
        ours[i] = i ? fd[0] : fd[1];
        theirs[i] = i ? fd[1] : fd[0];
        if (fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0)
            return false;
    }
    return true;
}

ti_status ti_procs_start(struct ti_procs *p, uint32_t stream, const char *command,
                         const char *run_id, long files, pid_t *pid, struct ti_err *err)
{
    char *argv[] = {"/bin/sh", "-c", (char *)(uintptr_t)command, NULL};
    int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1};
    struct ti_launch l = {
        .argv = argv, .run_id = run_id, .fds = theirs, .survive = true, .files = files};
    struct ti_child *c;
    struct ti_proc proc;
    ti_status st;

    if (stream == 0 || find(p, stream))
        return ti_err_set(err, TI_ERR_INPUT, "there is a process %u already", stream);
    if (!make_pipes(ours, theirs))
        st = ti_err_errno(err, TI_ERR_IO, "cannot start '%s'", command);
    else
        st = ti_launch_start(&l, &proc, err);
    for (int i = 0; i < 3; i++)
        close_end(&theirs[i]);
    if (st != TI_OK) {
        for (int i = 0; i < 3; i++)
            close_end(&ours[i]);
        return st;
    }
    p->child = ti_grow(p->child, &p->room, (size_t)p->n + 1, sizeof *p->child);
    c = &p->child[p->n++];
    *c = (struct ti_child){.stream = stream, .pid = proc.pid};
    memcpy(c->fd, ours, sizeof c->fd);
    *pid = proc.pid;
    return TI_OK;
}

bool ti_procs_has(const struct ti_procs *p, uint32_t stream)
{
    return find(p, stream);
}

/* --- input --------------------------------------------------------------- */

static void feed(struct ti_child *c)
{
    while (c->fd[0] >= 0 && c->input_used) {
        ssize_t n = write(c->fd[0], c->input, c->input_used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* the reader is gone */
            close_end(&c->fd[0]);
            break;
        }
        c->input_used -= (size_t)n;
        memmove(c->input, c->input + n, c->input_used);
    }
    if (c->fd[0] < 0)
        c->input_used = 0;
    if (!c->input_used) {
        free(c->input);
        c->input = NULL;
        c->input_room = 0;
    }
    if (c->input_ends)
        close_end(&c->fd[0]);
}

void ti_procs_input(struct ti_procs *p, uint32_t stream, const void *data, size_t bytes)
{
    struct ti_child *c = find(p, stream);

    if (!c || c->fd[0] < 0)
        return;
    if (c->input_used + bytes > c->input_room) {
        size_t room = 2 * (c->input_used + bytes);
        unsigned char *more = realloc(c->input, room);

        if (!more) { /* no memory: end the input, rather than leave a gap in it */
            c->input_ends = true;
            return;
        }
        c->input = more;
        c->input_room = room;
    }
    if (bytes)
        memcpy(c->input + c->input_used, data, bytes);
    else
        c->input_ends = true;
    c->input_used += bytes;
    feed(c);
}

bool ti_procs_input_full(const struct ti_procs *p)
{
    size_t all = 0;

    for (int i = 0; i < p->n; i++) {
        all += p->child[i].input_used;
        if (p->child[i].input_used > TI_INPUT_FULL || all > TI_INPUT_FULL_ALL)
            return true;
    }
    return false;
}

/* --- output -------------------------------------------------------------- */

void ti_procs_poll(const struct ti_procs *p, bool read, struct pollfd *fds, nfds_t *n)
{
    for (int i = 0; i < p->n; i++) {
        const struct ti_child *c = &p->child[i];

        if (c->fd[0] >= 0)
            fds[(*n)++] = (struct pollfd){c->fd[0], c->input_used ? POLLOUT : 0, 0};
        for (int k = 1; read && k < 3; k++)
            if (c->fd[k] >= 0)
                fds[(*n)++] = (struct pollfd){c->fd[k], POLLIN, 0};
    }
}

/* Read one piece of its output. */
static void read_output(struct ti_child *c, int k, struct ti_outbox *out)
{
    enum ti_frame_type type = k == 1 ? TI_FRAME_OUTPUT : TI_FRAME_STDERR;
    unsigned char buf[PIECE];
    ssize_t n = read(c->fd[k], buf, sizeof buf);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close_end(&c->fd[k]);
        n = 0;
    }
    ti_outbox_frame(out, type, c->stream, buf, (size_t)n);
}

void ti_procs_serve(struct ti_procs *p, const struct pollfd *fds, nfds_t n, struct ti_outbox *out)
{
    for (int i = 0; i < p->n; i++) {
        struct ti_child *c = &p->child[i];

        for (int k = 0; k < 3; k++)
            for (nfds_t f = 0; f < n && c->fd[k] >= 0; f++) {
                if (fds[f].fd != c->fd[k] || !fds[f].revents)
                    continue;
                if (k == 0 && fds[f].revents & POLLERR)
                    close_end(&c->fd[0]);
                else if (k == 0)
                    feed(c);
                else if (!ti_outbox_full(out))
                    read_output(c, k, out);
                break;
            }
    }
}

/* --- ends ---------------------------------------------------------------- */

bool ti_procs_signal(struct ti_procs *p, uint32_t stream, int sig)
{
    struct ti_child *c = find(p, stream);

    /* it was not reaped, so the pid is still its own */
    return c && !c->exited && kill(-c->pid, sig) == 0;
}

void ti_procs_reap(struct ti_procs *p, void (*other)(pid_t pid, int status, void *arg), void *arg)
{
    int status;
    pid_t pid;

    while ((pid = ti_orphans_reap(&status)) > 0) {
        int i = 0;

        while (i < p->n && (p->child[i].pid != pid || p->child[i].exited))
            i++;
        if (i == p->n) {
            other(pid, status, arg);
            continue;
        }
        p->child[i].exited = true;
        p->child[i].status = status;
        p->child[i].exited_at = ti_now();
    }
}

int ti_procs_tell(struct ti_procs *p, struct ti_outbox *out, double linger_s)
{
    double now = ti_now();
    int wait_ms = -1;

    for (int i = 0; i < p->n; i++) {
        struct ti_child *c = &p->child[i];
        bool through = c->fd[1] < 0 && c->fd[2] < 0;
        double left = c->exited_at + linger_s - now;

        if (c->exited && !c->told && !through && left > 0) {
            int ms = (int)(left * 1e3) + 1;

            wait_ms = wait_ms < 0 || ms < wait_ms ? ms : wait_ms;
            continue;
        }
        if (c->exited && !c->told) {
            ti_outbox_json(out, TI_FRAME_MESSAGE,
                           json_pack("{s:s, s:I, s:i}", "is", "ended", "stream",
                                     (json_int_t)c->stream, "status", c->status));
            c->told = true;
        }
        if (c->told && through) {
            release(c);
            *c = p->child[--p->n];
            i--;
        }
    }
    return wait_ms;
}

void ti_procs_free(struct ti_procs *p)
{
    for (int i = 0; i < p->n; i++)
        release(&p->child[i]);
    free(p->child);
    memset(p, 0, sizeof *p);
}
