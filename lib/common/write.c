#include "common/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

char *ti_read_all(int fd, size_t most, size_t *bytes)
{
    size_t room = 64 * 1024, used = 0;
    char *text = malloc(room), *more = text;
    ssize_t n = 0;

    while (more && (n = read(fd, text + used, room - used - 1)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        used += n > 0 ? (size_t)n : 0;
        if (n < 0 || used > most) {
            errno = n < 0 ? errno : EFBIG;
            more = NULL;
        } else if (used + 1 == room && (more = realloc(text, 2 * room))) {
            text = more;
            room *= 2;
        }
    }
    if (!more) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    if (bytes)
        *bytes = used;
    return text;
}

char *ti_read_file(const char *path, size_t most, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error;
    char *text;

    if (fd < 0)
        return NULL;
    text = ti_read_all(fd, most, bytes);
    error = errno;
    close(fd);
    errno = error;
    return text;
}
