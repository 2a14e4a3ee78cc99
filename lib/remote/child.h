/*
 * A child process with pipes, in the event loop: ssh, srun, a shell.
 *
 * The child leads its own session, so that a terminal's Ctrl-C does not reach it.  The kernel sends
 * it SIGTERM when this process dies.
 */
#ifndef TI_REMOTE_CHILD_H
#define TI_REMOTE_CHILD_H

#include <sys/resource.h>
#include <sys/types.h>

#include "common/err.h"
#include "remote/loop.h"
#include "remote/queue.h"

struct ti__child_callbacks {
    bool (*may_take)(void *arg); /* may `out` be read now?  If not, it was paused.  NULL: yes */
    void (*out)(void *arg, const char *data, size_t bytes);
    void (*err)(void *arg, const char *data, size_t bytes);
    void (*log)(void *arg, const char *data, size_t bytes); /* from log_path */
    void (*drained)(void *arg);
    void (*ended)(void *arg, int wait_status); /* the last call, after all output */
};

struct ti__stream {
    int fd; /* -1: closed */
    struct ti__watch watch;
};

struct ti__child {
    struct ti__loop *loop;
    const struct ti__child_callbacks *calls;
    void *arg;
    pid_t pid;
    int pidfd; /* -1: not supported, so we poll for the exit */
    struct ti__watch pid_watch;
    struct ti__timer timer;
    struct ti__stream in, out, err, log;
    struct ti__queue *input; /* the caller's */
    bool eof, paused, exited, ended;
    int status;
};

struct ti__child_how {
    const char *const *argv;
    const char *log_path;       /* a fifo to make for its log, or NULL */
    struct ti__queue *input;    /* NULL: standard input is /dev/null */
    const struct rlimit *files; /* its RLIMIT_NOFILE, or NULL: ours */
    bool is_ssh;                /* set malloc options for high throughput */
};

/* Starts a process.  `c` is the caller's memory, and must stay until ti__child_drop(). */
ti_status ti__child_start(struct ti__child *c, struct ti__loop *loop,
                          const struct ti__child_how *how, const struct ti__child_callbacks *calls,
                          void *arg, struct ti_err *err);

void ti__child_input(struct ti__child *c); /* the queue has more data, or its end */
void ti__child_eof(struct ti__child *c);
void ti__child_pause(struct ti__child *c, bool pause);

/* Closes its pipes, sends SIGTERM if it runs, and SIGKILL after a second.  `ended` is not called.
 * Fine on one never started (all zero). */
void ti__child_drop(struct ti__child *c);

/* Waits for dropped processes; kills them after a second. */
void ti__child_reap_dropped(void);

#endif
