#include "common/write.h"

#include <errno.h>
#include <unistd.h>

bool ti_write_all(int fd, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    while (bytes) {
        ssize_t n = write(fd, p, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}
