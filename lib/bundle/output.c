#include "bundle/output.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ti_output_begins(int fd, const struct stat *sb)
{
    char begin[4];

    return sb->st_size == 0 || (pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
                                memcmp(begin, "PK\3\4", sizeof begin) == 0);
}

ti_status ti_output_check(const char *path, bool force, const char *hint, struct ti_err *err)
{
    struct stat sb;
    bool ours;
    int fd;

    if (lstat(path, &sb) != 0)
        return TI_OK; /* errors show when it is created */
    if (stat(path, &sb) != 0)
        return ti_err_set(err, TI_ERR_IO, "'%s' is a dangling symbolic link", path);
    if (!S_ISREG(sb.st_mode)) {
        ti_err_set(err, TI_ERR_IO, "'%s' is a %s, and is not replaced", path,
                   S_ISDIR(sb.st_mode)    ? "directory"
                   : S_ISFIFO(sb.st_mode) ? "fifo"
                   : S_ISSOCK(sb.st_mode) ? "socket"
                                          : "device");
        ti_err_hint(err, "-o gives another name");
        return TI_ERR_IO;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && force)
        return ti_err_errno(err, TI_ERR_IO, "cannot tell whether '%s' is a bundle", path);
    ours = fd >= 0 && fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && ti_output_begins(fd, &sb);
    if (fd >= 0)
        close(fd);
    if (!force) {
        ti_err_set(err, TI_ERR_IO, "'%s' exists", path);
        ti_err_hint(err, "%s", ours ? hint : "it is not a bundle; -o gives another name");
        return TI_ERR_IO;
    }
    if (ours)
        return TI_OK;
    ti_err_set(err, TI_ERR_IO, "'%s' is not a bundle, and is not replaced", path);
    ti_err_hint(err, "-o gives another name");
    return TI_ERR_IO;
}

bool ti_is_bundle_name(const char *name)
{
    size_t n = strlen(name), suffix = strlen(TI_BUNDLE_SUFFIX);

    return n > suffix && strcmp(name + n - suffix, TI_BUNDLE_SUFFIX) == 0;
}
