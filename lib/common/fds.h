/*
 * Descriptors in a process that is not ours.  The application shares their numbers: it
 * expects low ones for its own files, may close all that it does not know, and may get one of
 * ours again.  So ours have high numbers, which open() gives to nobody; what uses one checks
 * whose it is.
 */
#ifndef TI_FDS_H
#define TI_FDS_H

#include <stdbool.h>
#include <stdint.h>

/* Ours are among the TI_FDS_OURS below TI_FDS_END, or below the limit of the process. */
#define TI_FDS_END  1024
#define TI_FDS_OURS 24

/* The same file by a high number, the old one closed; `fd` itself where there is none.  Closed
 * on exec.  Leaves errno alone. */
int ti_fds_high(int fd);

/*
 * Have all free low numbers taken, so that what a library opens meanwhile gets a high one, and
 * give them back.  Where the process may not have so many, nothing is taken.  Another
 * thread's files get high numbers, too.
 */
struct ti_fds_low {
    uint64_t taken[TI_FDS_END / 64];
};
void ti_fds_take_low(struct ti_fds_low *low);
void ti_fds_give_back(const struct ti_fds_low *low);

/* Whether `n` more can be opened. */
bool ti_fds_room(int n);

#endif
