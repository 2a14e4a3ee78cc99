/*
 * The log of a run: what was planned, started and said, each line with the time
 * since the log was begun.  What cannot be written is lost without a word.
 */
#ifndef TI_RUNLOG_H
#define TI_RUNLOG_H

#include <stddef.h>
#include <stdio.h>

#include "common/err.h"

struct ti_runlog {
    FILE *file; /* NULL: none */
    double began;
};

/* `path` is made anew. */
ti_status ti_runlog_open(struct ti_runlog *log, const char *path, struct ti_err *err);
void ti_runlog_close(struct ti_runlog *log);

/* `log` is a struct ti_runlog: as in ti_fleet_callbacks. */
void ti_runlog_note(void *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Text of many lines, as it is. */
void ti_runlog_text(struct ti_runlog *log, const void *data, size_t bytes);

#endif
