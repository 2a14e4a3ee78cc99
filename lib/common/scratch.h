/*
 * The directory that the files for smpirun live in, and signals.
 *
 * A temporary one is made under TMPDIR and removed, with everything in it, by
 * ti_scratch_close(), at exit(), and after SIGINT, SIGTERM, SIGHUP or
 * SIGPIPE.  One that a killed process left is removed as folder.h says.
 */
#ifndef TI_COMMON_SCRATCH_H
#define TI_COMMON_SCRATCH_H

#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"

/* Use `keep` (created if need be, must be empty) and leave it there, or a
 * temporary one when `keep` is NULL.  One a process. */
ti_status ti_scratch_open(const char *keep, struct ti_err *err);
void ti_scratch_close(void);

/* Use a temporary one beside `output`, which must not exist (TI_ERR_USAGE).  Its file `name`, or
 * with NULL all of it, becomes `output` by ti_scratch_publish(): whole, or not at all. */
ti_status ti_scratch_open_beside(const char *output, struct ti_err *err);
ti_status ti_scratch_publish(const char *name, const char *output, struct ti_err *err);
const char *ti_scratch_dir(void); /* absolute */

/* A temporary file without a name in `folder`; NULL: that of TMPDIR, or /tmp.  Returns its
 * descriptor, or -1 and sets err. */
int ti_scratch_unnamed(const char *folder, struct ti_err *err);

/* DIR/name into a buffer that is good until the next call. */
const char *ti_scratch_path(const char *name);

/* Create the file DIR/name, and close it when it is written.  ti_scratch_finish() returns `st` if
 * that is an error, else TI_OK or TI_ERR_IO. */
ti_status ti_scratch_create(const char *name, FILE **out, struct ti_err *err);
ti_status ti_scratch_finish(FILE *f, const char *name, ti_status st, struct ti_err *err);

/* From here on signals only set a mark: ti_stopped() tells which one, 0 if
 * none.  `ti_stop_die` ends the process by that signal. */
void ti_stop_catch(void);
int ti_stopped(void);
int ti_stop_count(void);
void ti_stop_die(void);

/* TI_ERR_IO "interrupted" once a signal came, else TI_OK. */
ti_status ti_stop_check(struct ti_err *err);

#endif
