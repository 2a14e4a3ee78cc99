/*
 * The processes that ti-node starts on request ("spawn"), and the pipes to them.
 */
#ifndef TI_NODE_PROCS_H
#define TI_NODE_PROCS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/outbox.h"

/* While more than this waits for the standard input of one process, or of all, nothing is read from
 * the channel. */
#define TI_INPUT_FULL     (1024 * 1024)
#define TI_INPUT_FULL_ALL (8 * 1024 * 1024)

struct ti_child {
    uint32_t stream;
    pid_t pid;
    int fd[3]; /* our ends of the pipes; -1: closed */
    unsigned char *input;
    size_t input_used, input_room;
    bool input_ends;   /* close the pipe once all input is written */
    bool exited, told; /* it has ended; "ended" was sent */
    int status;
    double exited_at;
};

struct ti_procs {
    struct ti_child *child;
    int n;
    size_t room;
};

/*
 * Start `command` with /bin/sh as a process of run `run_id`, with a limit of `files` descriptors.
 * TI_ERR_INPUT if the stream is in use.
 */
ti_status ti_procs_start(struct ti_procs *p, uint32_t stream, const char *command,
                         const char *run_id, long files, pid_t *pid, struct ti_err *err);

bool ti_procs_has(const struct ti_procs *p, uint32_t stream);

/* Signal a process and its process group; false if there is no such stream, or if its process has
 * ended. */
bool ti_procs_signal(struct ti_procs *p, uint32_t stream, int sig);

/* Queue data for the standard input of a process; 0 bytes: close it.  Ignored if there is no such
 * stream. */
void ti_procs_input(struct ti_procs *p, uint32_t stream, const void *data, size_t bytes);
bool ti_procs_input_full(const struct ti_procs *p);

/* Append descriptors for poll() to fds, from *n on; at most 3 a process.  Output is only watched
 * with `read`. */
void ti_procs_poll(const struct ti_procs *p, bool read, struct pollfd *fds, nfds_t *n);

/* Read and write what poll() reported, until the outbox is full. */
void ti_procs_serve(struct ti_procs *p, const struct pollfd *fds, nfds_t n, struct ti_outbox *out);

/* Reap all children that have ended; other(pid, status, arg) is called for those that are not in
 * `p`. */
void ti_procs_reap(struct ti_procs *p, void (*other)(pid_t pid, int status, void *arg), void *arg);

/*
 * Send "ended" for processes that have ended: once their output was read, or `linger_s` after the
 * end if another process still holds the pipes.  Returns the milliseconds until the next such
 * moment; -1: none is known.
 */
int ti_procs_tell(struct ti_procs *p, struct ti_outbox *out, double linger_s);

void ti_procs_free(struct ti_procs *p);

#endif
