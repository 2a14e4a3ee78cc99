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
#include "common/json.h"
#include "common/write.h"
#include "node/launch.h"
#include "node/machine.h"
#include "trace/foreign.h"
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

/* The contents of the file `name`, RUN.json or NODE.json, if it is ours: it has a run id. */
static json_t *run_in(const struct ti_rundir *d, const char *name)
{
    struct stat sb;
    int fd = open_file(d, name, &sb);
    json_t *json = fd < 0 ? NULL : ti_json_read(fd, NULL);
    const char *id = json_string_value(json_object_get(json, "run_id"));

    if (fd >= 0)
        close(fd);
    if (id && strlen(id) == 2 * TI_RUN_ID_BYTES &&
        strspn(id, "0123456789abcdefABCDEF") == 2 * TI_RUN_ID_BYTES)
        return json;
    json_decref(json);
    return NULL;
}

static bool has_run_id(const struct ti_rundir *d, const char *name)
{
    json_t *json = run_in(d, name);

    json_decref(json);
    return json;
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

static ti_status check_foreign(const char *path, struct ti_err *err)
{
    const char *other = ti_foreign(path);

    if (!other)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "the run directory '%s' is not safe: '%s' belongs to another user, in a folder that "
               "everybody can write to",
               path, other);
    ti_err_hint(err,
                "its owner could read and replace traces; --trace-dir takes another directory");
    return TI_ERR_INPUT;
}

ti_status ti_rundir_peek(const char *path, bool force, struct ti_err *err)
{
    struct ti_rundir *d = calloc(1, sizeof *d);
    ti_status st = TI_OK;

    if (!d)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", path);
    d->fd = -1;
    snprintf(d->given, sizeof d->given, "%s", path);
    st = check_foreign(path, err);
    if (st == TI_OK)
        d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (st == TI_OK && d->fd >= 0)
        st = may_use(d, force, is_of_run(d), err);
    else if (st == TI_OK && errno != ENOENT)
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
    if (!*path || strlen(path) > TI_RUNDIR_NAME_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is %s",
                          *path ? "too long" : "empty");
    strcpy(d->given, path);
    if (mkdir(path, 0700) == 0)
        d->created = true;
    else if (errno != EEXIST)
        return ti_err_errno(err, TI_ERR_IO, "cannot create the run directory '%s'", path);
    if (check_foreign(path, err) != TI_OK)
        return TI_ERR_INPUT;
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
static bool make_below(const char *base, const char *run_id, char *out, int *lock)
{
    if (strlen(base) + sizeof "/tiara-XXXXXX" <= TMP_PATH_MAX &&
        ti_folder_make(base, out, PATH_MAX, lock) && ti_write_all(*lock, run_id, strlen(run_id)))
        return true;
    ti_folder_remove(out, *lock);
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

ti_status ti_rundir_scratch(struct ti_rundir *d, const char *run_id, int64_t np, struct ti_err *err)
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
    } else if (!(base && base[0] == '/' && make_below(base, run_id, d->tmp, &d->tmp_lock)) &&
               !make_below("/tmp", run_id, d->tmp, &d->tmp_lock)) {
        return ti_err_errno(err, TI_ERR_IO, "cannot create a temporary directory in '/tmp'");
    }
    if (room < np * SHM_RANK_BYTES || !make_below("/dev/shm", run_id, d->shm, &d->shm_lock))
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

/* --- what runs left ------------------------------------------------------ */

#define ID_PART 12 /* digits of the run id that are in the names of folders on nodes */

/* Whether an id is of the run with that id, or these first digits of one; NULL: of any. */
static bool is_wanted(const char *id, const char *run_id)
{
    size_t n = run_id ? strlen(run_id) : 0, m = strlen(id);

    return !run_id || (m >= ID_PART && strncmp(id, run_id, n < m ? n : m) == 0);
}

/* Whether another process holds the lock of an open file or directory. */
static bool is_locked(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

/* Add a directory, if it is one of a run. */
static void add_directory(int base, const char *path, const char *name, const char *run_id,
                          json_t *list)
{
    static struct ti_rundir d;
    json_t *run = NULL;
    struct stat sb;

    d = (struct ti_rundir){.fd =
                               openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (d.fd < 0 || fstat(d.fd, &sb) < 0 || sb.st_uid != geteuid() ||
        (!(run = run_in(&d, TI_RUN_JSON)) && !(run = run_in(&d, TI_NODE_JSON)) &&
         faccessat(d.fd, TMP_NAME "/" TI_FOLDER_LOCK, F_OK, 0) < 0)) {
        if (d.fd >= 0)
            close(d.fd);
        return;
    }
    if (is_wanted(ti_json_string(run, "run_id"), run_id))
        json_array_append_new(
            list,
            json_pack("{s:o, s:s, s:I, s:s, s:I, s:b, s:b}", "path", ti_json_text(path), "run_id",
                      ti_json_string(run, "run_id"), "np", (json_int_t)ti_json_integer(run, "np"),
                      "state", ti_json_string(run, "state"), "bytes",
                      (json_int_t)ti_tree_bytes(d.fd, "."), "nodes",
                      json_array_size(json_object_get(run, "nodes")) > 0, "busy", is_locked(d.fd)));
    json_decref(run);
    close(d.fd);
}

/* Add a folder for Open MPI, if it is one: "tiara-XXXXXX" with a lock, or with part of a run id. */
static void add_folder(int base, const char *path, const char *name, const char *run_id,
                       json_t *list)
{
    static const char digits[] = "0123456789abcdef";
    const char *rest = strncmp(name, "tiara-", 6) == 0  ? name + 6
                       : strncmp(name, "ompi-", 5) == 0 ? name + 5
                                                        : NULL;
    bool named = rest && strspn(rest, digits) == ID_PART && rest[ID_PART] == '.';
    char id[TI_RUN_ID_TEXT] = "", lock_name[NAME_MAX + sizeof "/" TI_FOLDER_LOCK];
    struct stat sb;
    int lock;

    if (!rest || fstatat(base, name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(sb.st_mode) ||
        sb.st_uid != geteuid())
        return;
    snprintf(lock_name, sizeof lock_name, "%s/" TI_FOLDER_LOCK, name);
    lock = openat(base, lock_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (named)
        memcpy(id, rest, ID_PART);
    else if (lock >= 0 && (pread(lock, id, sizeof id - 1, 0) < 0 || strspn(id, digits) < ID_PART))
        id[0] = '\0';
    if ((named || (lock >= 0 && name[0] == 't' && strlen(rest) == 6)) && (*id || !run_id) &&
        is_wanted(id, run_id))
        json_array_append_new(list, json_pack("{s:o, s:s, s:I, s:b}", "path", ti_json_text(path),
                                              "run_id", id, "bytes",
                                              (json_int_t)ti_tree_bytes(base, name), "busy",
                                              lock >= 0 && is_locked(lock)));
    if (lock >= 0)
        close(lock);
}

typedef void look_fn(int base, const char *path, const char *name, const char *run_id,
                     json_t *list);

static void look_below(const char *base, look_fn *look, const char *run_id, json_t *list)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    char path[PATH_MAX];

    while (dir && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (name[0] == '.' || snprintf(path, sizeof path, "%s/%s", base, name) >= (int)sizeof path)
            continue;
        look(dirfd(dir), strncmp(path, "./", 2) == 0 ? path + 2 : path, name, run_id, list);
    }
    if (dir)
        closedir(dir);
}

struct wanted {
    const char *run_id;
    json_t *list;
};

static void add_process(const struct ti_run_process *p, void *arg)
{
    const struct wanted *w = arg;

    if (is_wanted(p->run_id, w->run_id))
        json_array_append_new(w->list, json_pack("{s:i, s:o, s:o, s:b}", "pid", (int)p->pid,
                                                 "run_id", ti_json_text(p->run_id), "command",
                                                 ti_json_text(p->command), "busy", p->kept));
}

/* All that is left of a run is busy if one thing is. */
static void spread_busy(const json_t *from, json_t *to)
{
    const json_t *one;
    json_t *other;
    size_t i, k;

    json_array_foreach(from, i, one)
    {
        const char *id = ti_json_string(one, "run_id");

        if (!json_is_true(json_object_get(one, "busy")) || !*id)
            continue;
        json_array_foreach(to, k, other)
        {
            const char *theirs = ti_json_string(other, "run_id");

            if (*theirs && is_wanted(theirs, id))
                json_object_set_new(other, "busy", json_true());
        }
    }
}

json_t *ti_left_find(const char *const *bases, const char *run_id)
{
    const char *tmp = getenv("TMPDIR");
    json_t *list[3] = {json_array(), json_array(), json_array()};
    struct wanted wanted = {run_id, list[2]};

    for (; *bases; bases++)
        look_below(*bases, add_directory, run_id, list[0]);
    look_below("/dev/shm", add_folder, run_id, list[1]);
    look_below("/tmp", add_folder, run_id, list[1]);
    if (tmp && tmp[0] == '/' && strcmp(tmp, "/tmp") != 0)
        look_below(tmp, add_folder, run_id, list[1]);
    ti_launch_any(add_process, &wanted);
    for (int i = 0; i < 9; i++)
        spread_busy(list[i / 3], list[i % 3]);
    return json_pack("{s:o, s:o, s:o}", "directories", list[0], "folders", list[1], "processes",
                     list[2]);
}

static void fail(json_t *left, const char *path, const char *why)
{
    json_array_append_new(left, json_sprintf("'%s': %s", path, why));
}

/* End the processes of each run in the list, once. */
static void end_processes(const json_t *processes, json_t *left)
{
    const json_t *one;
    size_t i;

    json_array_foreach(processes, i, one)
    {
        struct ti_proc proc = {.pid = 0};
        int found, alive;

        if (json_is_true(json_object_get(one, "busy")))
            continue;
        snprintf(proc.run_id, sizeof proc.run_id, "%s", ti_json_string(one, "run_id"));
        alive = ti_launch_sweep(&proc, 0, &found);
        if (alive)
            json_array_append_new(left, json_sprintf("%d processes of run %s could not be ended",
                                                     alive, proc.run_id));
    }
}

static void remove_directory(const char *path, json_t *left)
{
    struct ti_rundir *d = malloc(sizeof *d);
    struct ti_err err = {"", ""};

    if (d && ti_rundir_open(path, true, d, &err) == TI_OK) {
        ti_rundir_discard(d, true);
        if (access(path, F_OK) == 0)
            fail(left, path, "other files are in it");
    } else {
        json_array_append_new(left, ti_json_text(d ? err.text : "no memory"));
    }
    free(d);
}

void ti_left_remove(json_t *all)
{
    const json_t *one, *directories = json_object_get(all, "directories");
    const json_t *folders = json_object_get(all, "folders");
    json_t *left = json_array();
    size_t i;

    end_processes(json_object_get(all, "processes"), left);
    json_array_foreach(directories, i, one) if (!json_is_true(json_object_get(one, "busy")))
        remove_directory(ti_json_string(one, "path"), left);
    json_array_foreach(folders, i, one) if (!json_is_true(json_object_get(one, "busy")))
    {
        const char *path = ti_json_string(one, "path");

        ti_tree_remove(AT_FDCWD, path);
        if (access(path, F_OK) == 0)
            fail(left, path, "it could not be removed");
    }
    json_object_set_new(all, "left", left);
}
