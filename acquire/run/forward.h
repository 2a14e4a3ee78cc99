/*
 * Forwards the program's output to a terminal that has the progress line, too, or to the file or
 * pipe that gets the objects of --progress json.
 *
 * Both would write into each other's lines.  So mpirun writes into pipes, and the output is
 * copied after the progress line was removed.  Without progress, or if the output goes elsewhere,
 * mpirun inherits our descriptors and nothing is copied.
 *
 * One thread.
 */
#ifndef TI_ACQUIRE_RUN_FORWARD_H
#define TI_ACQUIRE_RUN_FORWARD_H

#include <stdbool.h>

#include "common/err.h"

struct ti_forward {
    int from[2]; /* read end for standard output, standard error; -1: none, or it has ended */
    int into[2]; /* mpirun's ends, until ti_forward_started(); 0: it has our own */
    int to[2];   /* our descriptors */
    bool open_line; /* the last byte passed on was no newline: there is no place for progress */
};

/*
 * Make pipes for what would mix with progress (ti_progress_meets()).  `out` and `errors`
 * are our descriptors for the program's standard output and error; -1: no pipe is made for it.
 * TI_ERR_IO, and *p is closed.
 */
ti_status ti_forward_open(struct ti_forward *p, int out, int errors, struct ti_err *err);

/* mpirun was started, or could not be: close its ends. */
void ti_forward_started(struct ti_forward *p);

/* Pass on one piece of what can be read from p->from[i], which must not block; at its end it is
 * closed, and p->from[i] is -1. */
void ti_forward_one(struct ti_forward *p, int i);

/* Pass on output for `ms` milliseconds, then the output that is already there, for at most 0.1 s.
 * Returns early when `wake`, a descriptor or -1, can be read. */
void ti_forward_some(struct ti_forward *p, int wake, int ms);

/* The last of it, once mpirun has ended; and close all. */
void ti_forward_close(struct ti_forward *p);

#endif
