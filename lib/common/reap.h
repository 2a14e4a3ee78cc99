/*
 * Exit statuses of child processes, shared by two parts of a program.  One part calls
 * waitpid(-1, ...) and may reap children of the other part.  The status of such a child is kept
 * here until its owner asks for it.  For one thread.
 */
#ifndef TI_COMMON_REAP_H
#define TI_COMMON_REAP_H

#include <stdbool.h>
#include <sys/types.h>

/* Announce, right after fork(), that ti_reap(pid) will be called.  False: no memory; then the
 * status may get lost. */
bool ti_reap_expect(pid_t pid);

/* Whether `pid` was announced and not yet returned by ti_reap(). */
bool ti_reap_expects(pid_t pid);

/* Whether `pid` has ended; does not block.  If so, *status is its wait status, and `pid` is
 * forgotten.  *status -1: the process is gone and its status was lost. */
bool ti_reap(pid_t pid, int *status);

/* Hand in what waitpid(-1, ...) returned.  Ignored unless `pid` was announced. */
void ti_reap_seen(pid_t pid, int status);

#endif
