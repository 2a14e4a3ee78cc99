/*
 * Errors: a status for the program, a sentence for the person.
 *
 * A function that can fail returns a ti_status and fills a `struct ti_err`.  Only main() prints it
 * and exits.  The sentence names what failed, its subject in quotes, and the cause, in lower case
 * and without a full stop.  The optional hint says what to do.
 */
#ifndef TI_COMMON_ERR_H
#define TI_COMMON_ERR_H

#include <stdbool.h>

#include "common/status.h"

struct ti_err {
    char text[1024];
    char hint[512];
};

/* Set the sentence (printf style), clear the hint, return `st`.  `err` may be
 * NULL.  Longer text is cut.  Leaves errno alone. */
ti_status ti_err_set(struct ti_err *err, ti_status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with ": " and strerror(errno) at the end. */
ti_status ti_err_errno(struct ti_err *err, ti_status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "context: " in front of the sentence; returns `st`. */
ti_status ti_err_prefix(struct ti_err *err, ti_status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Add what to do about it. */
void ti_err_hint(struct ti_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "cannot WHAT: Cannot allocate memory"; sets errno to ENOMEM, and returns TI_ERR_IO.  _was_memory:
 * whether a call that has just returned `st` failed so.  Set errno to 0 before that call. */
ti_status ti_err_memory(struct ti_err *err, const char *what);
bool ti_err_was_memory(ti_status st);

/* Replace control characters by '?', except newline and tab.  Text from a trace or from another
 * machine must not send commands to the terminal.  All functions above call this. */
void ti_strip_controls(char *text);

/* Make sentence and hint one line each: what another machine says may have several. */
void ti_err_one_line(struct ti_err *err);

/* For a state that correct code cannot reach: print file, line and `what`, and abort(). */
#define TI_BUG(what) ti_bug(__FILE__, __LINE__, what)
_Noreturn void ti_bug(const char *file, int line, const char *what);

#endif
