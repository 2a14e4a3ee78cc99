/*
 * A replacement of clock_gettime() that saves system calls, in libti-smpi-preload.so.
 *
 * SMPI reads the CPU time of the thread before and after each MPI call, to measure computation
 * between the calls.  A replay needs no such measurement (smpi/simulate-computation:no), but SMPI
 * reads the clock anyway.  Each reading is a system call, and together they take a fifth of the
 * wall time.  ti-replay preloads this library into smpirun; it returns 0 for this clock only.
 *
 * jemalloc is linked into the library, if it is installed (see module.mk), for SimGrid allocates
 * and frees dozens of small objects for each event.  Compared with glibc's malloc(), a replay takes
 * 0.95 of the CPU time at 8 to 64 ranks, 0.9 at 1,024 and 0.85 at 16,384.  A heap of our own was
 * 1 % faster at 64 ranks and 10 % slower at 65,536.  mimalloc and tcmalloc are as fast at few
 * ranks, but take more than 15 and 7 GB at 65,536.
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
