#include "node/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/rankname.h"
#include "formats/trace.h"
#include "node/machine.h"

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

void ti_rundir_remove_tree(const char *path)
{
    remove_tree(AT_FDCWD, path, 0);
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

enum owner { OTHERS, OURS, CLAIMED /* named like ours, but not ours */ };

/* Open a file of the directory to look what it is; -1 unless it is a file. */
static int open_file(const struct ti_rundir *d, const char *name, struct stat *sb)
{
    int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && (fstat(fd, sb) < 0 || !S_ISREG(sb->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A file that begins with `magic`, as far as it goes. */
static bool begins_with(const struct ti_rundir *d, const char *name, const char *magic)
{
    char begin[TI_MAGIC_BYTES];
    struct stat sb;
    int fd = open_file(d, name, &sb);
    ssize_t n = fd < 0 ? -1 : pread(fd, begin, strlen(magic), 0);

    if (fd >= 0)
        close(fd);
    return n >= 0 && memcmp(begin, magic, (size_t)n) == 0;
}

/* RUN.json as we write it, by its run id. */
static bool is_run_json(const struct ti_rundir *d)
{
    struct stat sb;
    int fd = open_file(d, TI_RUN_JSON, &sb);
    json_t *json = fd < 0 ? NULL : json_loadfd(fd, 0, NULL);
    const char *id = json_string_value(json_object_get(json, "run_id"));
    bool ours = id && strlen(id) == 2 * TI_RUN_ID_BYTES &&
                strspn(id, "0123456789abcdefABCDEF") == 2 * TI_RUN_ID_BYTES;

    json_decref(json);
    if (fd >= 0)
        close(fd);
    return ours;
}

static enum owner owner_of(const struct ti_rundir *d, const char *name, bool is_run)
{
    if (ti_rank_of_name(name) >= 0)
        return begins_with(d, name, TI_MAGIC) ? OURS : CLAIMED;
    if (strcmp(name, TI_RUN_JSON) == 0 || strcmp(name, TMP_NAME) == 0)
        return is_run ? OURS : CLAIMED;
    if (strcmp(name, PART_NAME) == 0)
        return begins_with(d, name, "{") ? OURS : CLAIMED;
    return OTHERS;
}

/* Count what is in the directory, by its owner; the first that is only named like
 * ours goes to `claimed`.  With `remove`, ours is removed. */
static ti_status look_in(const struct ti_rundir *d, bool is_run, bool remove, int count[3],
                         char claimed[NAME_MAX + 1], struct ti_err *err)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    memset(count, 0, 3 * sizeof *count);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", d->given);
    }
    while ((entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        enum owner owner;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (strcmp(name, TI_RUN_LOG) == 0) {
            if (remove)
                unlinkat(d->fd, name, 0);
            continue;
        }
        owner = owner_of(d, name, is_run);
        if (owner == CLAIMED && !count[CLAIMED])
            snprintf(claimed, NAME_MAX + 1, "%s", name);
        count[owner]++;
        if (!remove || owner != OURS)
            continue;
        if (strcmp(name, TMP_NAME) == 0)
            remove_tree(d->fd, name, 0);
        else if (unlinkat(d->fd, name, 0) < 0) {
            ti_err_errno(err, TI_ERR_IO, "cannot remove '%s/%s'", d->given, name);
            closedir(dir);
            return TI_ERR_IO;
        }
    }
    closedir(dir);
    return TI_OK;
}

/* May a run use the directory?  Nothing is changed. */
static ti_status may_use(const struct ti_rundir *d, bool force, bool is_run, struct ti_err *err)
{
    char claimed[NAME_MAX + 1] = "";
    int count[3];
    ti_status st = look_in(d, is_run, false, count, claimed, err);

    if (st != TI_OK)
        return st;
    if (force && count[CLAIMED]) {
        ti_err_set(err, TI_ERR_INPUT, "'%s/%s' is not ti-acquire's, and is not replaced", d->given,
                   claimed);
        ti_err_hint(err, "move it away, or take another directory with --trace-dir");
        return TI_ERR_INPUT;
    }
    if (!force && count[OURS] + count[OTHERS] + count[CLAIMED] > 0) {
        ti_err_set(err, TI_ERR_INPUT, "the run directory '%s' is not empty", d->given);
        if (count[CLAIMED])
            ti_err_hint(err, "'%s' in it is not ti-acquire's; --trace-dir takes another directory",
                        claimed);
        else if (count[OURS])
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

static ti_status take(struct ti_rundir *d, bool force, struct ti_err *err)
{
    char claimed[NAME_MAX + 1];
    int count[3];
    bool is_run;
    ti_status st;

    if (flock(d->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_INPUT, "another ti-acquire is at work in '%s'", d->given);
    is_run = is_run_json(d);
    st = may_use(d, force, is_run, err);
    return st == TI_OK && force ? look_in(d, is_run, true, count, claimed, err) : st;
}

ti_status ti_rundir_peek(const char *path, bool force, struct ti_err *err)
{
    struct ti_rundir *d = calloc(1, sizeof *d);
    ti_status st = TI_OK;

    if (!d)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", path);
    snprintf(d->given, sizeof d->given, "%s", path);
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd >= 0)
        st = may_use(d, force, is_run_json(d), err);
    else if (errno != ENOENT)
        st = ti_err_errno(err, TI_ERR_INPUT, "cannot use the run directory '%s'", path);
    ti_rundir_close(d);
    free(d);
    return st;
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

/* Ours alone: what lies there under the name, a link of somebody else's, is not written to. */
static int open_part(const struct ti_rundir *d)
{
    unlinkat(d->fd, PART_NAME, 0);
    return openat(d->fd, PART_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

ti_status ti_rundir_write(struct ti_rundir *d, const json_t *json, struct ti_err *err)
{
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    int fd = open_part(d);
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

void ti_rundir_remove(const char *path)
{
    struct ti_rundir *d = calloc(1, sizeof *d);
    char claimed[NAME_MAX + 1];
    int count[3];

    if (!d)
        return;
    snprintf(d->given, sizeof d->given, "%s", path);
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd >= 0)
        look_in(d, is_run_json(d), true, count, claimed, NULL);
    ti_rundir_close(d);
    free(d);
    rmdir(path);
}

void ti_rundir_discard(struct ti_rundir *d, bool always)
{
    if (d->fd < 0)
        return;
    unlinkat(d->fd, TI_RUN_JSON, 0);
    unlinkat(d->fd, PART_NAME, 0);
    if (always)
        unlinkat(d->fd, TI_RUN_LOG, 0);
    if (d->created || always)
        rmdir(d->path);
    ti_rundir_close(d);
}
