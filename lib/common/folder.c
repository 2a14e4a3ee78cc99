#include "common/folder.h"

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
#define YOUNG_S 60 /* a folder younger than this may not be locked yet */

static DIR *names_of(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

DIR *ti_names_in(int fd)
{
    return names_of(fd, ".");
}

/* The lock goes last: a folder without one that is not empty is not known as ours. */
static void remove_tree(int at, const char *name, int depth)
{
    struct dirent *entry;
    DIR *dir;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT || depth > 32)
        return;
    dir = names_of(at, name);
    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, TI_FOLDER_LOCK) != 0)
            remove_tree(dirfd(dir), entry->d_name, depth + 1);
    remove_tree(dirfd(dir), TI_FOLDER_LOCK, depth + 1);
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void ti_tree_remove(int at, const char *name)
{
    remove_tree(at, name, 0);
}

static int64_t tree_bytes(int at, const char *name, int depth)
{
    DIR *dir = names_of(at, name);
    struct dirent *entry;
    int64_t sum = 0;
    struct stat sb;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += S_ISDIR(sb.st_mode) && depth < 32 ? tree_bytes(dirfd(dir), entry->d_name, depth + 1)
                                                 : (int64_t)sb.st_blocks * 512;
    }
    if (dir)
        closedir(dir);
    return sum;
}

int64_t ti_tree_bytes(int at, const char *name)
{
    return tree_bytes(at, name, 0);
}

/* Exactly the names that mkdtemp() makes, so that similar names of others are left alone. */
static bool is_our_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = sizeof PREFIX - 1;

    return strncmp(name, PREFIX, n) == 0 && strlen(name) == n + 6 && strspn(name + n, letters) == 6;
}

/* Whether `name` is a folder of ours whose owner has died: its lock is free, or it is empty. */
static bool is_left_behind(int base, const char *name)
{
    struct stat sb;
    bool free_again;
    int dir, lock;

    if (!is_our_name(name))
        return false;
    dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &sb) < 0 || sb.st_uid != geteuid() ||
        time(NULL) - sb.st_mtime < YOUNG_S) {
        if (dir >= 0)
            close(dir);
        return false;
    }
    lock = openat(dir, TI_FOLDER_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(dir);
    if (lock < 0)
        return unlinkat(base, name, AT_REMOVEDIR) == 0;
    free_again = flock(lock, LOCK_EX | LOCK_NB) == 0;
    close(lock);
    return free_again;
}

static void sweep(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (is_left_behind(dirfd(dir), entry->d_name))
            ti_tree_remove(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

static int create_lock(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock;

    if (fd < 0)
        return -1;
    lock = openat(fd, TI_FOLDER_LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(fd);
    return lock;
}

bool ti_folder_make(const char *base, char *dir, size_t bytes, int *lock)
{
    int error;

    sweep(base);
    *lock = -1;
    errno = ENAMETOOLONG;
    if (snprintf(dir, bytes, "%s/" PREFIX "XXXXXX", base) >= (int)bytes || !mkdtemp(dir)) {
        dir[0] = '\0';
        return false;
    }
    *lock = create_lock(dir);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    error = errno;
    ti_folder_remove(dir, *lock);
    *lock = -1;
    dir[0] = '\0';
    errno = error;
    return false;
}

void ti_folder_remove(const char *dir, int lock)
{
    if (!dir[0])
        return;
    ti_tree_remove(AT_FDCWD, dir);
    if (lock >= 0)
        close(lock);
}
