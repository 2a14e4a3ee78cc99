/*
 * The processes that ti-node was told to start, and the pipes to them.
 */
#ifndef TI_PROCS_H
#define TI_PROCS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/outbox.h"

/* More than this for one process's standard input is not held: no more is read from
 * the channel until it took some. */
#define TI_INPUT_FULL (1024 * 1024)

struct ti_child {
    uint32_t stream;
    pid_t pid;
    int fd[3]; /* our ends; -1: closed */
    unsigned char *input;
    size_t input_used, input_room;
    bool input_ends; /* once all is written */
    bool exited, told;
    int status;
    double exited_at;
};

struct ti_procs {
    struct ti_child *child;
    int n, room;
};

/*
 * Start `command` by /bin/sh as a process of run `run_id`, with `files` descriptors.
 * TI_ERR_INPUT if the stream is in use.
 */
ti_status ti_procs_start(struct ti_procs *p, uint32_t stream, const char *command,
                         const char *run_id, long files, pid_t *pid, struct ti_err *err);

bool ti_procs_has(const struct ti_procs *p, uint32_t stream);

/* A signal to it and to what it started in its process group; false: there is no such
 * stream, or its process has ended. */
bool ti_procs_signal(struct ti_procs *p, uint32_t stream, int sig);

/* For its standard input; none: its end.  Of a stream that is no more, nothing. */
void ti_procs_input(struct ti_procs *p, uint32_t stream, const void *data, size_t bytes);
bool ti_procs_input_full(const struct ti_procs *p);

/* What to wait for, appended to fds[*n], of which there is room for 3 a process: reading only
 * with `read`. */
void ti_procs_poll(const struct ti_procs *p, bool read, struct pollfd *fds, nfds_t *n);

/* Do what poll() said can be done, until the outbox is full. */
void ti_procs_serve(struct ti_procs *p, const struct pollfd *fds, nfds_t n, struct ti_outbox *out);

/* Reap what ended, of these and all other children; `other` is told of the latter. */
void ti_procs_reap(struct ti_procs *p, void (*other)(pid_t pid, int status, void *arg), void *arg);

/*
 * Tell of those that ended, once their output is through, or `linger_s` after their end if
 * somebody they left behind holds it open.  Milliseconds until there may be more to tell; -1.
 */
int ti_procs_tell(struct ti_procs *p, struct ti_outbox *out, double linger_s);

void ti_procs_free(struct ti_procs *p);

#endif
