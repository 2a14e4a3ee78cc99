/*
 * Processes that cannot be found, because each starts the next and ends before anybody has read
 * /proc that far.  We inherit and reap them, and a process that has ended still tells its process
 * group until it is reaped.  The next one is in the same group, unless it makes one of its own, and
 * the kernel kills a group as a whole: nobody in it can start a process meanwhile.
 */
#ifndef TI_NODE_ORPHANS_H
#define TI_NODE_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

/* Reap a child as waitpid(-1, status, WNOHANG) does. */
pid_t ti_orphans_reap(int *status);

/* From now on, kill the group of each process of the run that has ended, before it is reaped; or no
 * longer. */
void ti_orphans_kill(bool on);

/* Whether, since the last such question, a process of the run was reaped whose group has others. */
bool ti_orphans_go_on(void);

#endif
