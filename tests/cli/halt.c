/*
 * Preloaded: stops the process, once, when it has written HALT bytes into files "*.ti.part":
 * whoever waits for that finds it in the middle of what it fetches, however quick that is.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long written;

static int is_part(int fd)
{
    static const char end[] = ".ti.part";
    const ssize_t length = sizeof end - 1;
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > length && memcmp(path + n - length, end, (size_t)length) == 0;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    ssize_t n = syscall(SYS_write, fd, data, bytes);
    const char *halt = getenv("HALT");
    long limit = halt ? atol(halt) : 0, before;

    if (n > 0 && limit > 0 && is_part(fd)) {
        before = atomic_fetch_add(&written, n);
        if (before < limit && before + n >= limit)
            kill(getpid(), SIGSTOP);
    }
    return n;
}
