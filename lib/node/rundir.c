#include "node/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/write.h"
#include "node/machine.h"
#include "trace/rankname.h"
#include "trace/trace.h"

#define TMP_NAME       "mpi-tmp"
#define TMP_PATH_MAX   60                  /* paths of sockets below it may have 107 bytes */
#define TMP_FREE_BYTES (INT64_C(64) << 20) /* Open MPI's session takes 10 MB and more */
#define SHM_RANK_BYTES (INT64_C(5) << 20)  /* that Open MPI needs for each rank */
#define PART_NAME      TI_RUN_JSON ".part"

void ti_rundir_unscratch(struct ti_rundir *d)
{
    ti_folder_remove(d->tmp, d->tmp_lock);
    ti_folder_remove(d->shm, d->shm_lock);
    d->tmp[0] = d->shm[0] = '\0';
    d->tmp_lock = d->shm_lock = -1;
}

/* --- taking -------------------------------------------------------------- */

enum owner { OTHERS, OURS, CLAIMED /* named like ours, with other contents */ };

/* Open a file of the directory for reading; -1 if it is no regular file. */
static int open_file(const struct ti_rundir *d, const char *name, struct stat *sb)
{
    int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && (fstat(fd, sb) < 0 || !S_ISREG(sb->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether a file begins with `magic`, or is a prefix of it. */
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

/* Whether the file `name`, RUN.json or NODE.json, is ours: it has a run id. */
static bool has_run_id(const struct ti_rundir *d, const char *name)
{
    struct stat sb;
    int fd = open_file(d, name, &sb);
    json_t *json = fd < 0 ? NULL : json_loadfd(fd, 0, NULL);
    const char *id = json_string_value(json_object_get(json, "run_id"));
    bool ours = id && strlen(id) == 2 * TI_RUN_ID_BYTES &&
                strspn(id, "0123456789abcdefABCDEF") == 2 * TI_RUN_ID_BYTES;

    json_decref(json);
    if (fd >= 0)
        close(fd);
    return ours;
}

static bool is_of_run(const struct ti_rundir *d)
{
    return has_run_id(d, TI_RUN_JSON) || has_run_id(d, TI_NODE_JSON);
}

static enum owner owner_of(const struct ti_rundir *d, const char *name, bool is_run)
{
    if (ti_rank_of_name(name) >= 0 || strcmp(name, TI_MERGED_NAME) == 0)
        return begins_with(d, name, TI_MAGIC) ? OURS : CLAIMED;
    if (strcmp(name, TI_RUN_JSON) == 0 || strcmp(name, TI_NODE_JSON) == 0)
        return has_run_id(d, name) ? OURS : CLAIMED;
    if (strcmp(name, TMP_NAME) == 0) /* ti-acquire may have been killed before it wrote RUN.json */
        return is_run || faccessat(d->fd, TMP_NAME "/" TI_FOLDER_LOCK, F_OK, 0) == 0 ? OURS
                                                                                     : CLAIMED;
    if (strcmp(name, PART_NAME) == 0)
        return begins_with(d, name, "{") ? OURS : CLAIMED;
    return OTHERS;
}

/* Count the entries of the directory by owner; the first CLAIMED one goes to `claimed`.  With
 * `remove`, entries of OURS are removed. */
static ti_status look_in(const struct ti_rundir *d, bool is_run, bool remove, int count[3],
                         char claimed[NAME_MAX + 1], struct ti_err *err)
{
    DIR *dir = ti_names_in(d->fd);
    struct dirent *entry;

    memset(count, 0, 3 * sizeof *count);
    if (!dir)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", d->given);
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
            ti_tree_remove(d->fd, name);
        else if (unlinkat(d->fd, name, 0) < 0) {
            ti_err_errno(err, TI_ERR_IO, "cannot remove '%s/%s'", d->given, name);
            closedir(dir);
            return TI_ERR_IO;
        }
    }
    closedir(dir);
    return TI_OK;
}

/* Whether a run may use the directory; changes nothing. */
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

static ti_status claim(struct ti_rundir *d, bool force, struct ti_err *err)
{
    char claimed[NAME_MAX + 1];
    int count[3];
    bool is_run;
    ti_status st;

    if (flock(d->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_INPUT, "another ti-acquire is at work in '%s'", d->given);
    is_run = is_of_run(d);
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
        st = may_use(d, force, is_of_run(d), err);
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
    d->fd = d->tmp_lock = d->shm_lock = -1;
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
             ? claim(d, force, err)
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

/* Make a folder below `base`; `out` becomes "" if that fails. */
static bool make_below(const char *base, char *out, int *lock)
{
    if (strlen(base) + sizeof "/tiara-XXXXXX" <= TMP_PATH_MAX &&
        ti_folder_make(base, out, PATH_MAX, lock))
        return true;
    out[0] = '\0';
    return false;
}

/* Make mpi-tmp in the run directory, marked as ours. */
static bool make_inside(struct ti_rundir *d)
{
    int lock;

    snprintf(d->tmp, sizeof d->tmp, "%.*s/" TMP_NAME, TMP_PATH_MAX, d->path);
    if (mkdir(d->tmp, 0700) < 0)
        return false;
    lock =
        openat(d->fd, TMP_NAME "/" TI_FOLDER_LOCK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock >= 0)
        close(lock); /* the lock of the run directory tells whether its owner lives */
    return lock >= 0;
}

ti_status ti_rundir_scratch(struct ti_rundir *d, int64_t np, struct ti_err *err)
{
    const char *base = getenv("TMPDIR");
    int64_t room = ti_disk_free("/dev/shm");

    if (strlen(d->path) + sizeof TMP_NAME <= TMP_PATH_MAX && !ti_disk_is_remote(d->path) &&
        ti_disk_free(d->path) >= TMP_FREE_BYTES) {
        if (!make_inside(d)) {
            ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", d->tmp);
            ti_rundir_unscratch(d);
            return TI_ERR_IO;
        }
    } else if (!(base && base[0] == '/' && make_below(base, d->tmp, &d->tmp_lock)) &&
               !make_below("/tmp", d->tmp, &d->tmp_lock)) {
        return ti_err_errno(err, TI_ERR_IO, "cannot create a temporary directory in '/tmp'");
    }
    if (room < np * SHM_RANK_BYTES || !make_below("/dev/shm", d->shm, &d->shm_lock))
        d->shm[0] = '\0';
    return TI_OK;
}

/* --- writing ------------------------------------------------------------- */

/* Create the temporary file.  An existing file of that name, such as somebody's link, is not
 * written. */
static int open_part(const struct ti_rundir *d)
{
    unlinkat(d->fd, PART_NAME, 0);
    return openat(d->fd, PART_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

ti_status ti_rundir_write(struct ti_rundir *d, const char *name, const json_t *json,
                          struct ti_err *err)
{
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    int fd = open_part(d);
    size_t bytes = text ? strlen(text) : 0;
    bool ok;

    if (text)
        text[bytes++] = '\n'; /* replaces the NUL */
    ok = text && fd >= 0 && ti_write_all(fd, text, bytes) && fsync(fd) == 0;
    if (fd >= 0 && close(fd) < 0)
        ok = false;
    if (ok && renameat(d->fd, PART_NAME, d->fd, name) < 0)
        ok = false;
    if (!ok) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s/%s'", d->given, name);
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
        look_in(d, is_of_run(d), true, count, claimed, NULL);
    ti_rundir_close(d);
    free(d);
    rmdir(path);
}

void ti_rundir_discard(struct ti_rundir *d, bool always)
{
    if (d->fd < 0)
        return;
    unlinkat(d->fd, TI_RUN_JSON, 0);
    unlinkat(d->fd, TI_NODE_JSON, 0);
    unlinkat(d->fd, PART_NAME, 0);
    if (always)
        unlinkat(d->fd, TI_RUN_LOG, 0);
    if (d->created || always)
        rmdir(d->path);
    ti_rundir_close(d);
}
