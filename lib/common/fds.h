/*
 * File descriptors of the library in the application's process.  The application expects low
 * numbers for its own files.  It may close every descriptor that it does not know, and then get
 * the same number for another file.  So our descriptors have high numbers, which open() does not
 * choose, and each use checks that the descriptor still is ours.
 */
#ifndef TI_COMMON_FDS_H
#define TI_COMMON_FDS_H

#include <stdbool.h>
#include <stdint.h>

/* Our numbers are the TI_FDS_OURS highest below TI_FDS_END, or below RLIMIT_NOFILE if that is
 * lower. */
#define TI_FDS_END  1024
#define TI_FDS_OURS 24

/* Move `fd` to a high number and close the old one; returns the new number.  Returns `fd` itself
 * when no high number is free.  The result is closed on exec.  Leaves errno alone. */
int ti_fds_high(int fd);

/*
 * Occupy all free low numbers, and release them.  In between, files that another library opens get
 * high numbers; so do files that other threads open.  Does nothing where the limit of the process
 * is too low.
 */
struct ti_fds_low {
    uint64_t taken[TI_FDS_END / 64];
};
void ti_fds_reserve_low(struct ti_fds_low *low);
void ti_fds_give_back(const struct ti_fds_low *low);

/* Whether `n` more descriptors can be opened; `n` is at most 64. */
bool ti_fds_room(int n);

#endif
