/*
 * Children whose end somebody else may see first: who waits for any child hands
 * on what he saw, who waits for one asks here.  One thread.
 */
#ifndef TI_REAP_H
#define TI_REAP_H

#include <stdbool.h>
#include <sys/types.h>

/* Right after fork(): `pid` will be asked for.  False: no memory; then it may
 * get lost. */
bool ti_reap_expect(pid_t pid);

bool ti_reap_expects(pid_t pid);

/* Has it ended?  With its wait status, once; it is then forgotten.  A status of
 * -1: it is gone, and nobody told. */
bool ti_reap(pid_t pid, int *status);

/* What waitpid(-1, ...) said. */
void ti_reap_seen(pid_t pid, int status);

#endif
