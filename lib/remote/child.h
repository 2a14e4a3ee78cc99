/*
 * A child process with pipes, in the loop: ssh, srun, a shell.
 *
 * It leads a session of its own, so that a terminal's Ctrl-C does not reach it,
 * and gets SIGTERM when we die.
 */
#ifndef TI_REMOTE_CHILD_H
#define TI_REMOTE_CHILD_H

#include <sys/resource.h>
#include <sys/types.h>

#include "common/err.h"
#include "remote/loop.h"
#include "remote/queue.h"

struct ti__child_callbacks {
    bool (*may_take)(void *arg); /* may more of `out` be read?  If not, it was paused.  Or NULL */
    void (*out)(void *arg, const char *data, size_t bytes);
    void (*err)(void *arg, const char *data, size_t bytes);
    void (*log)(void *arg, const char *data, size_t bytes); /* from log_path */
    void (*drained)(void *arg);
    void (*ended)(void *arg, int wait_status); /* the last; after all output */
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
    int pidfd; /* -1: the kernel has none, and is asked now and then */
    struct ti__watch pid_watch;
    struct ti__timer timer;
    struct ti__stream in, out, err, log;
    struct ti__queue *input; /* the caller's */
    bool eof, paused, exited, ended;
    int status;
};

struct ti__child_how {
    const char *const *argv;
    const char *log_path;       /* a fifo is made there for what it logs, or NULL */
    struct ti__queue *input;    /* NULL: standard input is /dev/null */
    const struct rlimit *files; /* the limit that it gets, or NULL */
    bool is_ssh;                /* that much is to go through: glibc in it keeps its memory */
};

/* `c` is the caller's memory. */
ti_status ti__child_start(struct ti__child *c, struct ti__loop *loop,
                          const struct ti__child_how *how, const struct ti__child_callbacks *calls,
                          void *arg, struct ti_err *err);

void ti__child_input(struct ti__child *c); /* there is more in the queue, or its end */
void ti__child_eof(struct ti__child *c);
void ti__child_pause(struct ti__child *c, bool pause);

/* Drop all that concerns it; a running one gets SIGTERM, and SIGKILL if it takes
 * too long.  Its `ended` is not called.  Fine on one never started (all zero). */
void ti__child_drop(struct ti__child *c);

/* Wait for those that were dropped; at most a second, then they are killed. */
void ti__child_reap_dropped(void);

#endif
