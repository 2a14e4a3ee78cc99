/*
 * Preloaded: what comes on a socket comes just after a read that found nothing, and before
 * the next one: where there is nothing to read, that is said only when there is, or after 1 s.
 * Not in its children.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void only_here(void)
{
    unsetenv("LD_PRELOAD");
}

ssize_t read(int fd, void *buf, size_t bytes)
{
    ssize_t n = syscall(SYS_read, fd, buf, bytes);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    socklen_t size = sizeof(int);
    int type;

    if (n >= 0 || errno != EAGAIN || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return n;
    poll(&p, 1, 1000);
    errno = EAGAIN;
    return -1;
}
