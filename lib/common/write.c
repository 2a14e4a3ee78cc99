#include "common/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

static _Noreturn void become(char *const *argv, int from, int out, const char *variable,
                             const char *value)
{
    int null = open("/dev/null", O_RDWR);

    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
        (from == STDOUT_FILENO || dup2(null, STDOUT_FILENO) >= 0) && dup2(out, from) >= 0 &&
        (!variable || setenv(variable, value, 1) == 0)) {
        execvp(argv[0], argv);
        dprintf(from, "%s", strerror(errno));
    }
    _exit(127);
}

int ti_read_output(char *const *argv, int from, const char *variable, const char *value,
                   char **text)
{
    int fd[2], status = -1;
    pid_t pid;

    *text = NULL;
    if (pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(argv, from, fd[1], variable, value);
    close(fd[1]);
    if (pid > 0)
        *text = ti_read_all(fd[0], SIZE_MAX, NULL);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return *text ? status : -1;
}
