/*
 * The log of a run: plans, starts and messages, each line with the seconds since the log was
 * opened. Lines that cannot be written are lost silently.
 */
#ifndef TI_ACQUIRE_RUN_RUNLOG_H
#define TI_ACQUIRE_RUN_RUNLOG_H

#include <stddef.h>
#include <stdio.h>

#include "common/err.h"

struct ti_runlog {
    FILE *file; /* NULL: none */
    double began;
};

/* Create or truncate `path`. */
ti_status ti_runlog_open(struct ti_runlog *log, const char *path, struct ti_err *err);
void ti_runlog_close(struct ti_runlog *log);

/* Add a line.  `log` is a struct ti_runlog; the type fits the fleet's callback. */
void ti_runlog_note(void *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add text of several lines unchanged. */
void ti_runlog_text(struct ti_runlog *log, const void *data, size_t bytes);

#endif
