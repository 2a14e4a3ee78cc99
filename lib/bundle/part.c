#include "bundle/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "bundle/output.h"
#include "trace/foreign.h"

#define FORCE_HINT "--force replaces it"

ti_status ti_part_hint(int cause, ti_status st, struct ti_err *err)
{
    if (st == TI_ERR_IO && (cause == ENOSPC || cause == EDQUOT))
        ti_err_hint(err, "make room, or name a bundle on another disk with -o");
    return st;
}

ti_status ti_part_cannot_write(const struct ti_part *p, struct ti_err *err)
{
    int cause = errno;

    return ti_part_hint(cause, ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", p->path), err);
}

ti_status ti_part_sync(const struct ti_part *p, struct ti_err *err)
{
    return fsync(p->fd) == 0 || errno == EINVAL || errno == ENOTSUP ? TI_OK
                                                                    : ti_part_cannot_write(p, err);
}

/* Another process may rename or remove the file in between, so the locked file must be the one that
 * has the name. */
static ti_status create(struct ti_part *p, struct ti_err *err)
{
    struct stat is, named;
    const char *other;

    p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (p->fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", p->path);
    if (flock(p->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_IO, "'%s' is being written by another ti-gather", p->path);
    if (fstat(p->fd, &is) != 0 || lstat(p->path, &named) != 0 || !S_ISREG(is.st_mode) ||
        is.st_dev != named.st_dev || is.st_ino != named.st_ino)
        return ti_err_set(err, TI_ERR_IO, "'%s' was taken by somebody else", p->path);
    other = ti_foreign(p->path);
    if (other) {
        ti_err_set(err, TI_ERR_IO,
                   "'%s' is not safe: '%s' belongs to another user, in a folder that everybody can "
                   "write to",
                   p->path, other);
        ti_err_hint(err, "give another name with -o");
        return TI_ERR_IO;
    }
    if (!ti_output_begins(p->fd, &is)) {
        ti_err_set(err, TI_ERR_IO, "'%s' is there and is not part of a bundle", p->path);
        ti_err_hint(err, "move it away, or give another name with -o");
        return TI_ERR_IO;
    }
    p->ours = true;
    return TI_OK;
}

/* The folder of a file: free() it.  NULL when memory is short. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
}

ti_status ti_part_open(struct ti_part *p, const char *output, bool force, struct ti_err *err)
{
    ti_status st;

    *p = (struct ti_part){.output = output, .force = force, .fd = -1};
    if (asprintf(&p->path, "%s.part", output) < 0)
        p->path = NULL;
    p->folder = folder_of(output);
    if (!p->path || !p->folder) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    }
    st = ti_output_check(output, force, FORCE_HINT, err);
    return st == TI_OK ? create(p, err) : st;
}

/* Syncs the name, too, before sources are removed.  Some file systems cannot, and a directory may
 * be writable but not readable: that is no error. */
static ti_status sync_directory(const struct ti_part *p, struct ti_err *err)
{
    ti_status st = TI_OK;
    int fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return TI_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        st = ti_err_errno(err, TI_ERR_IO, "cannot bring the name of '%s' to the disk", p->output);
    close(fd);
    return st;
}

ti_status ti_part_publish(struct ti_part *p, struct ti_err *err)
{
    const char *output = p->output;

    if (!p->force) {
        if (renameat2(AT_FDCWD, p->path, AT_FDCWD, output, RENAME_NOREPLACE) == 0)
            goto named;
        if (errno == EEXIST)
            return ti_err_set(err, TI_ERR_IO, "'%s' exists", output);
    }
    if (ti_output_check(output, p->force, FORCE_HINT, err) != TI_OK)
        return TI_ERR_IO;
    if (rename(p->path, output) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot rename '%s' to '%s'", p->path, output);
named:
    p->ours = false;
    return sync_directory(p, err);
}

void ti_part_close(struct ti_part *p)
{
    if (p->ours)
        unlink(p->path);
    if (p->fd >= 0)
        close(p->fd);
    free(p->path);
    free(p->folder);
    *p = (struct ti_part){.fd = -1};
}
