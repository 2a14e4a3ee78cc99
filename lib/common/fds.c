#include "common/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first of our numbers; 0: the limit of the process is too low. */
static int first_high(void)
{
    rlim_t end = TI_FDS_END;
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < end)
        end = most.rlim_cur;
    return end > 4 * TI_FDS_OURS ? (int)end - TI_FDS_OURS : 0;
}

int ti_fds_high(int fd)
{
    int saved = errno, first = first_high(), high = -1;

    if (first)
        high = fcntl(fd, F_DUPFD_CLOEXEC, first);
    if (high >= 0)
        close(fd);
    errno = saved;
    return high >= 0 ? high : fd;
}

void ti_fds_reserve_low(struct ti_fds_low *low)
{
    int saved = errno, end = first_high(), fd = -1;

    memset(low, 0, sizeof *low);
    if (end)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd < end) {
        low->taken[fd / 64] |= UINT64_C(1) << fd % 64;
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    if (fd >= 0)
        close(fd);
    errno = saved;
}

void ti_fds_give_back(const struct ti_fds_low *low)
{
    int saved = errno;

    for (int fd = 0; fd < TI_FDS_END; fd++)
        if (low->taken[fd / 64] >> fd % 64 & 1)
            close(fd);
    errno = saved;
}

bool ti_fds_room(int n)
{
    int saved = errno, fd[64], have = 0;

    n = n < 64 ? n : 64;
    while (have < n && (fd[have] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        have++;
    for (int i = 0; i < have; i++)
        close(fd[i]);
    errno = saved;
    return have == n;
}
