#include "acquire/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/machine.h"
#include "formats/rankname.h"

#define TMP_NAME       "mpi-tmp"
#define TMP_PATH_MAX   60                  /* sockets below it may have 107 */
#define TMP_FREE_BYTES (INT64_C(64) << 20) /* Open MPI's session takes 10 MB and more */
#define SHM_RANK_BYTES (INT64_C(5) << 20)  /* what Open MPI asks for, a rank */
#define PART_NAME      TI_RUN_JSON ".part"

/* --- removing ------------------------------------------------------------ */

/* Remove `name` in directory `at` and all below it, following no links. */
static void remove_tree(int at, const char *name, int depth)
{
    struct dirent *entry;
    DIR *dir;
    int fd;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT || depth > 32)
        return;
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_tree(dirfd(dir), entry->d_name, depth + 1);
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void ti_rundir_unscratch(struct ti_rundir *d)
{
    if (d->tmp[0])
        remove_tree(AT_FDCWD, d->tmp, 0);
    if (d->shm[0])
        remove_tree(AT_FDCWD, d->shm, 0);
    d->tmp[0] = d->shm[0] = '\0';
}

/* --- taking -------------------------------------------------------------- */

/* What is in the directory: entries of ours (removed with `force`), others. */
static ti_status look_in(struct ti_rundir *d, bool force, int *ours, int *others,
                         struct ti_err *err)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool is_run = faccessat(d->fd, TI_RUN_JSON, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    struct dirent *entry;

    *ours = *others = 0;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", d->given);
    }
    while ((entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (ti_rank_of_name(name) < 0 && strcmp(name, TI_RUN_JSON) != 0 &&
            strcmp(name, PART_NAME) != 0 && !(is_run && strcmp(name, TMP_NAME) == 0)) {
            ++*others;
            continue;
        }
        ++*ours;
        if (force && strcmp(name, TMP_NAME) == 0)
            remove_tree(d->fd, name, 0);
        else if (force && unlinkat(d->fd, name, 0) < 0) {
            ti_err_errno(err, TI_ERR_IO, "cannot remove '%s/%s'", d->given, name);
            closedir(dir);
            return TI_ERR_IO;
        }
    }
    closedir(dir);
    return TI_OK;
}

static ti_status take(struct ti_rundir *d, bool force, struct ti_err *err)
{
    int ours, others;
    ti_status st;

    if (flock(d->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_INPUT, "another ti-acquire is at work in '%s'", d->given);
    st = look_in(d, force, &ours, &others, err);
    if (st != TI_OK)
        return st;
    if (!force && ours + others > 0) {
        ti_err_set(err, TI_ERR_INPUT, "the run directory '%s' is not empty", d->given);
        if (ours)
            ti_err_hint(err,
                        "it holds a run: 'ti-gather %s -o BUNDLE' gathers it, --force replaces it, "
                        "--trace-dir takes another directory",
                        d->given);
        else
            ti_err_hint(err, "--trace-dir takes another directory; --force uses this one and "
                             "leaves its files alone");
        return TI_ERR_INPUT;
    }
    if (faccessat(d->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write to the run directory '%s'", d->given);
    return TI_OK;
}

ti_status ti_rundir_open(const char *path, bool force, struct ti_rundir *d, struct ti_err *err)
{
    ti_status st;

    memset(d, 0, sizeof *d);
    d->fd = -1;
    if (!*path || strlen(path) > PATH_MAX / 2)
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is %s",
                          *path ? "too long" : "empty");
    strcpy(d->given, path);
    if (mkdir(path, 0777) == 0)
        d->created = true;
    else if (errno != EEXIST)
        return ti_err_errno(err, TI_ERR_IO, "cannot create the run directory '%s'", path);
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0)
        return ti_err_errno(err, errno == ENOTDIR ? TI_ERR_INPUT : TI_ERR_IO,
                            "cannot use the run directory '%s'", path);
    st = realpath(path, d->path)
             ? take(d, force, err)
             : ti_err_errno(err, TI_ERR_IO, "cannot use the run directory '%s'", path);
    if (st != TI_OK)
        ti_rundir_close(d);
    return st;
}

void ti_rundir_close(struct ti_rundir *d)
{
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

/* --- places for Open MPI ------------------------------------------------- */

/* A directory below `base`; "" in `out` if there can be none. */
static bool make_below(const char *base, const char *run_id, char *out)
{
    int n = snprintf(out, PATH_MAX, "%s/tiara-%.12s", base, run_id);

    if (n < PATH_MAX && n <= TMP_PATH_MAX && mkdir(out, 0700) == 0)
        return true;
    out[0] = '\0';
    return false;
}

ti_status ti_rundir_scratch(struct ti_rundir *d, const char *run_id, int64_t np, struct ti_err *err)
{
    const char *base = getenv("TMPDIR");
    int64_t room = ti_disk_free("/dev/shm");

    if (strlen(d->path) + sizeof TMP_NAME <= TMP_PATH_MAX && !ti_disk_is_remote(d->path) &&
        ti_disk_free(d->path) >= TMP_FREE_BYTES) {
        strcpy(d->tmp, d->path);
        strcat(d->tmp, "/" TMP_NAME);
        if (mkdir(d->tmp, 0700) < 0) {
            ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", d->tmp);
            d->tmp[0] = '\0';
            return TI_ERR_IO;
        }
    } else if (!(base && base[0] == '/' && make_below(base, run_id, d->tmp)) &&
               !make_below("/tmp", run_id, d->tmp)) {
        return ti_err_errno(err, TI_ERR_IO, "cannot create a temporary directory in '/tmp'");
    }
    if (room < np * SHM_RANK_BYTES || !make_below("/dev/shm", run_id, d->shm))
        d->shm[0] = '\0';
    return TI_OK;
}

/* --- RUN.json ------------------------------------------------------------ */

ti_status ti_rundir_write(struct ti_rundir *d, const json_t *json, struct ti_err *err)
{
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    int fd = openat(d->fd, PART_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t bytes = text ? strlen(text) : 0, done = 0;
    ssize_t got = 0;
    bool ok;

    if (text)
        text[bytes++] = '\n'; /* in place of the 0 */
    while (fd >= 0 && done < bytes && (got = write(fd, text + done, bytes - done)) > 0)
        done += (size_t)got;
    if (got == 0 && done < bytes)
        errno = ENOSPC;
    ok = text && fd >= 0 && done == bytes && fsync(fd) == 0;
    if (fd >= 0 && close(fd) < 0)
        ok = false;
    if (ok && renameat(d->fd, PART_NAME, d->fd, TI_RUN_JSON) < 0)
        ok = false;
    if (!ok) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s/%s'", d->given, TI_RUN_JSON);
        unlinkat(d->fd, PART_NAME, 0);
    }
    free(text);
    return ok ? TI_OK : TI_ERR_IO;
}

void ti_rundir_discard(struct ti_rundir *d, bool always)
{
    if (d->fd < 0)
        return;
    unlinkat(d->fd, TI_RUN_JSON, 0);
    unlinkat(d->fd, PART_NAME, 0);
    if (d->created || always)
        rmdir(d->path);
    ti_rundir_close(d);
}
