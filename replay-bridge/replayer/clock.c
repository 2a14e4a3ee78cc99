/*
 * libti-smpi-clock.so: a clock that is not read.
 *
 * SMPI reads the CPU time of the thread before and after each MPI call, to know how long the
 * program has computed between them.  A replay does not want to know
 * (smpi/simulate-computation:no), but SMPI reads all the same, and each reading is a system call: a
 * fifth of all time.  ti-replay has this library preloaded into smpirun, which says 0 for that one
 * clock.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){0};
    return 0;
}
