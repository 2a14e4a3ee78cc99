/*
 * Preloaded: the process is killed by SIGKILL in place of the call number KILLED_AT, counted from
 * 1, that writes, syncs, renames, cuts or removes a file.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void count(void)
{
    static int calls;
    const char *at = getenv("KILLED_AT");

    if (at && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == atoi(at))
        kill(getpid(), SIGKILL);
}

#define COUNTED(type, name, parameters, arguments)                                                 \
    type name parameters                                                                           \
    {                                                                                              \
        type(*next) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name);                      \
                                                                                                   \
        count();                                                                                   \
        return next arguments;                                                                     \
    }

COUNTED(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))
COUNTED(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
COUNTED(int, rename, (const char *old, const char *new), (old, new))
COUNTED(int, renameat2,
        (int olddir, const char *old, int newdir, const char *new, unsigned int how),
        (olddir, old, newdir, new, how))
COUNTED(int, unlink, (const char *name), (name))
COUNTED(int, unlinkat, (int dir, const char *name, int how), (dir, name, how))
