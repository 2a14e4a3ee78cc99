/*
 * The clock of a node that lies: ti-node is linked with this and -Wl,--wrap=clock_gettime,
 * --wrap=time.  The time since the epoch is off by the seconds in /run/bed/clock, at once when they
 * change; the monotonic clock is the kernel's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
time_t __wrap_time(time_t *t);

static time_t offset_s(void)
{
    char text[32] = "";
    int fd = open("/run/bed/clock", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = __real_clock_gettime(clock, t);

    if (rc == 0 && clock == CLOCK_REALTIME)
        t->tv_sec += offset_s();
    return rc;
}

time_t __wrap_time(time_t *t)
{
    struct timespec now;

    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
