/*
 * Work that may take its time or hang (a program's checksum, a counter's trial, a file
 * server that is down), done by a process of its own, whose JSON is read as it comes.
 */
#ifndef TI_TASK_H
#define TI_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

struct ti_task {
    pid_t pid; /* 0: none */
    int fd;    /* to wait for; -1 */
    json_int_t id;
    char is[32];
    char *text;
    size_t used, room;
};

/* Call work(arg) in a new process and send what it returns here. */
ti_status ti_task_start(struct ti_task *t, json_t *(*work)(void *arg), void *arg,
                        struct ti_err *err);

/* Read on.  True when it is done: *result is a new object, or NULL if the process died. */
bool ti_task_read(struct ti_task *t, json_t **result);

/* End it, if there is one. */
void ti_task_end(struct ti_task *t);

#endif
