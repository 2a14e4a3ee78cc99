#include "remote/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX  "tiara-"
#define LOCK    "lock"
#define YOUNG_S 60 /* may be about to be locked */

/* The files in it, and it. */
static void remove_flat(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    unlinkat(base, name, AT_REMOVEDIR);
}

/* As mkdtemp() names them: nobody else's of a like name. */
static bool is_named_so(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = sizeof PREFIX - 1;

    return strncmp(name, PREFIX, n) == 0 && strlen(name) == n + 6 && strspn(name + n, letters) == 6;
}

/* Ours, and whoever made it is dead. */
static bool is_left_behind(int base, const char *name)
{
    struct stat sb;
    bool free_again;
    int dir, lock;

    if (!is_named_so(name))
        return false;
    dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &sb) < 0 || sb.st_uid != geteuid() ||
        time(NULL) - sb.st_mtime < YOUNG_S) {
        if (dir >= 0)
            close(dir);
        return false;
    }
    lock = openat(dir, LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(dir);
    free_again = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (lock >= 0)
        close(lock);
    return free_again;
}

static void sweep(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (is_left_behind(dirfd(dir), entry->d_name))
            remove_flat(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

bool ti__folder_make(const char *base, char *dir, size_t bytes, int *lock)
{
    char path[128];
    int error;

    sweep(base);
    snprintf(dir, bytes, "%s/" PREFIX "XXXXXX", base);
    *lock = -1;
    if (!mkdtemp(dir)) {
        dir[0] = '\0';
        return false;
    }
    snprintf(path, sizeof path, "%s/" LOCK, dir);
    *lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    error = errno;
    ti__folder_remove(dir, *lock);
    *lock = -1;
    dir[0] = '\0';
    errno = error;
    return false;
}

void ti__folder_remove(const char *dir, int lock)
{
    if (!dir[0])
        return;
    remove_flat(AT_FDCWD, dir);
    if (lock >= 0)
        close(lock);
}
