/*
 * Work that may take long or hang (a program's checksum, a counter's trial, a file server that is
 * down).  A process of its own does it and sends its result as JSON.
 */
#ifndef TI_NODE_TASK_H
#define TI_NODE_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

struct ti_task {
    pid_t pid; /* 0: none */
    int fd;    /* for poll(); -1: none */
    json_int_t id;
    char is[32];
    char *text;
    size_t used, room;
};

/* Call work(arg) in a new process; its result is sent to this one. */
ti_status ti_task_start(struct ti_task *t, json_t *(*work)(void *arg), void *arg,
                        struct ti_err *err);

/* In the work's process: tell that it is at work; a signal handler may call it.  In the parent,
 * after ti_task_read() returned false: whether it told so last. */
void ti_task_tick(void);
bool ti_task_ticked(const struct ti_task *t);

/* Read what has arrived; call it when `fd` is readable.  True when the task is done: *result is a
 * new object, or NULL if the process died. */
bool ti_task_read(struct ti_task *t, json_t **result);

/* Kill the process, if there is one. */
void ti_task_end(struct ti_task *t);

#endif
