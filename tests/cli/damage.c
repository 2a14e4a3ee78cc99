/*
 * Preloaded: a file that is renamed to "*.tib" is damaged at once, as DAMAGE says: "cut" takes
 * its last byte off; a number is the place of a flipped bit, in thousandths of its length.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed(const char *name)
{
    perror(name);
    _exit(99);
}

static void damage(const char *name)
{
    const char *how = getenv("DAMAGE");
    size_t n = strlen(name);
    struct stat sb;
    unsigned char c;
    off_t at;
    int fd;

    if (!how || n < 4 || strcmp(name + n - 4, ".tib") != 0)
        return;
    fd = open(name, O_RDWR);
    if (fd < 0 || fstat(fd, &sb) != 0)
        failed(name);
    at = sb.st_size / 1000 * atoi(how);
    if (strcmp(how, "cut") == 0 ? ftruncate(fd, sb.st_size - 1) != 0
                                : pread(fd, &c, 1, at) != 1 || (c ^= 4, pwrite(fd, &c, 1, at) != 1))
        failed(name);
    close(fd);
}

static int rename_and_damage(int olddir, const char *old, int newdir, const char *new,
                             unsigned int how)
{
    int rc = (int)syscall(SYS_renameat2, olddir, old, newdir, new, how);

    if (rc == 0)
        damage(new);
    return rc;
}

int renameat2(int olddir, const char *old, int newdir, const char *new, unsigned int how)
{
    return rename_and_damage(olddir, old, newdir, new, how);
}

int rename(const char *old, const char *new)
{
    return rename_and_damage(AT_FDCWD, old, AT_FDCWD, new, 0);
}
