#include "node/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/folder.h"
#include "common/json.h"
#include "common/map.h"
#include "common/order.h"
#include "node/rundir.h"
#include "session/messages.h"
#include "trace/rankname.h"
#include "trace/trace.h"

/* --- ranges --------------------------------------------------------------- */

bool ti__ranks_ok(const json_t *list, int64_t most)
{
    const json_t *range;
    int64_t sum = 0;
    size_t i;

    if (!json_is_array(list))
        return false;
    json_array_foreach(list, i, range)
    {
        const json_t *first = json_array_get(range, 0), *last = json_array_get(range, 1);

        if (json_array_size(range) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
            json_integer_value(first) < 0 || json_integer_value(last) >= TI_RANKS_MAX ||
            json_integer_value(first) > json_integer_value(last))
            return false;
        sum += json_integer_value(last) - json_integer_value(first) + 1;
    }
    /* ranges may overlap, and a frame has room for thousands of them: limit their sum */
    return sum <= most;
}

/* --- files --------------------------------------------------------------- */

static bool is_of_run(int fd, const char *run_id)
{
    char id[TI_RUN_ID_TEXT];

    return ti_rank_file_run(fd, id) && strcmp(id, run_id) == 0;
}

ti_status ti__trace_open(int dir, int64_t rank, const char *run_id, int *fd, struct stat *sb,
                         struct ti_err *err)
{
    char name[TI_RANK_NAME_BYTES];

    ti_rank_name(rank, name);
    *fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && errno == ENOENT)
        return ti_err_set(err, TI_ERR_INPUT, TI_MSG_NO_TRACE);
    if (*fd < 0 || fstat(*fd, sb) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", name);
    if (!S_ISREG(sb->st_mode) || !is_of_run(*fd, run_id))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is no trace of this run", name);
    return TI_OK;
}

bool ti__trace_changed(int fd, const struct stat *was)
{
    struct stat is;

    return fstat(fd, &is) < 0 || is.st_size != was->st_size ||
           is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
}

ti_status ti__traces_folder(const json_t *request, const char *directory, const char *run_id,
                            int *dir, char id[40], struct ti_err *err)
{
    const char *d = json_string_value(json_object_get(request, "directory")),
               *i = json_string_value(json_object_get(request, "run_id"));

    *dir = -1;
    errno = 0;
    d = d ? d : directory;
    i = i ? i : run_id;
    if (!d || !*d || !i || strlen(i) != 2 * TI_RUN_ID_BYTES)
        return ti_err_set(err, TI_ERR_INPUT, "of which run? \"directory\" and \"run_id\" tell");
    if (json_object_get(request, "ranks") &&
        !ti__ranks_ok(json_object_get(request, "ranks"), TI_RANKS_MAX))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    snprintf(id, 40, "%s", i);
    *dir = open(d, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open the run directory '%s'", d);
    return TI_OK;
}

/* A file with the name of a rank's trace; its contents are not known. */
struct file {
    int64_t rank;
    bool asked, gone; /* to be removed; removed */
};

struct files {
    struct file *file; /* ascending */
    size_t n, room;
};

TI_ORDER_BY(by_rank, struct file, rank)

/* List the directory once, before anything is removed: a request may name millions of ranks that
 * have no file. */
static ti_status find_files(int dir, struct files *out, struct ti_err *err)
{
    DIR *d = ti_names_in(dir);
    const struct dirent *entry;
    ti_status st = TI_OK;

    *out = (struct files){.file = NULL};
    while (d && (errno = 0, entry = readdir(d)) != NULL) {
        int64_t rank = ti_rank_of_own_name(entry->d_name);

        if (rank < 0)
            continue;
        out->file = ti_grow(out->file, &out->room, out->n + 1, sizeof *out->file);
        out->file[out->n++] = (struct file){.rank = rank};
    }
    if (!d || errno != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read the run directory");
    if (d)
        closedir(d);
    if (st != TI_OK) {
        free(out->file);
        *out = (struct files){.file = NULL};
    }
    if (out->n)
        qsort(out->file, out->n, sizeof *out->file, by_rank);
    return st;
}

void ti__traces_there(int dir, int64_t **rank, size_t *n)
{
    struct files there;

    *rank = NULL;
    if (find_files(dir, &there, NULL) != TI_OK)
        return;
    *n = there.n;
    *rank = malloc((there.n + 1) * sizeof **rank);
    for (size_t i = 0; *rank && i < there.n; i++)
        (*rank)[i] = there.file[i].rank;
    free(there.file);
}

/* --- what there is -------------------------------------------------------- */

static void list_rank(int dir, int64_t rank, const char *run_id, json_t *traces)
{
    struct stat sb;
    int fd = -1;

    if (ti__trace_open(dir, rank, run_id, &fd, &sb, NULL) == TI_OK)
        json_array_append_new(
            traces, json_pack("[I, I, I, I, b]", (json_int_t)rank, (json_int_t)sb.st_size,
                              (json_int_t)sb.st_ino,
                              (json_int_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec,
                              ti_rank_file_ends(fd, sb.st_size)));
    if (fd >= 0)
        close(fd);
}

json_t *ti_traces_list(const json_t *request, const char *directory, const char *run_id,
                       struct ti_err *err)
{
    struct files there;
    json_t *traces;
    char id[40];
    int dir;

    if (ti__traces_folder(request, directory, run_id, &dir, id, err) != TI_OK)
        return errno == ENOENT ? json_pack("{s:b, s:[]}", "exists", 0, "traces") : NULL;
    if (find_files(dir, &there, err) != TI_OK) {
        close(dir);
        return NULL;
    }
    traces = json_array();
    for (size_t i = 0; i < there.n; i++)
        list_rank(dir, there.file[i].rank, id, traces);
    free(there.file);
    close(dir);
    return json_pack("{s:b, s:o}", "exists", 1, "traces", traces);
}

bool ti__trace_crc(int fd, int64_t bytes, uint32_t *crc)
{
    static unsigned char buf[256 * 1024];
    int64_t at = 0;

    *crc = 0;
    while (at < bytes) {
        ssize_t n = pread(fd, buf, sizeof buf, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        n = n < bytes - at ? n : (ssize_t)(bytes - at);
        *crc = ti_crc32c(*crc, buf, (size_t)n);
        at += n;
    }
    return true;
}

static void crc_rank(int dir, int64_t rank, const char *run_id, json_t *list)
{
    struct stat sb;
    uint32_t crc;
    int fd = -1;

    if (ti__trace_open(dir, rank, run_id, &fd, &sb, NULL) == TI_OK &&
        ti__trace_crc(fd, sb.st_size, &crc))
        json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)rank, (json_int_t)sb.st_size,
                                              (json_int_t)crc));
    if (fd >= 0)
        close(fd);
}

json_t *ti_traces_crc(const json_t *request, const char *directory, const char *run_id,
                      struct ti_err *err)
{
    const json_t *range;
    json_t *list;
    char id[40];
    size_t i;
    int dir;

    if (ti__traces_folder(request, directory, run_id, &dir, id, err) != TI_OK)
        return NULL;
    list = json_array();
    json_array_foreach(json_object_get(request, "ranks"), i, range)
    {
        for (int64_t r = json_integer_value(json_array_get(range, 0));
             r <= json_integer_value(json_array_get(range, 1)); r++)
            crc_rank(dir, r, id, list);
    }
    close(dir);
    return json_pack("{s:o}", "crc", list);
}

/* --- removing ------------------------------------------------------------ */

/* Call a function for each file in the ranges, which are valid but may overlap. */
static void each_in(struct files *f, const json_t *ranges,
                    void (*call)(struct file *file, void *arg), void *arg)
{
    const json_t *range;
    size_t i, k;

    json_array_foreach(ranges, i, range)
    {
        int64_t first = json_integer_value(json_array_get(range, 0)),
                last = json_integer_value(json_array_get(range, 1));

        TI_FIRST(k, 0, f->n, f->file[k].rank < first);
        for (; k < f->n && f->file[k].rank <= last; k++)
            call(&f->file[k], arg);
    }
}

static void ask_for(struct file *file, void *arg)
{
    (void)arg;
    file->asked = true;
}

static bool remove_rank(int dir, int64_t rank, const char *run_id)
{
    char name[TI_RANK_NAME_BYTES];
    struct ti_err err;
    struct stat sb;
    int fd;
    bool gone = ti__trace_open(dir, rank, run_id, &fd, &sb, &err) == TI_OK &&
                unlinkat(dir, ti_rank_name(rank, name), 0) == 0;

    if (fd >= 0)
        close(fd);
    return gone;
}

struct left {
    int dir;
    bool any;
};

/* Another process may have removed the file meanwhile. */
static void look_if_left(struct file *file, void *arg)
{
    struct left *left = arg;
    char name[TI_RANK_NAME_BYTES];

    if (!file->gone && !left->any)
        left->any =
            faccessat(left->dir, ti_rank_name(file->rank, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Remove NODE.json if it is of this run and no trace is left: none that it names, or if it names
 * none, no trace at all.  Returns whether it is removed. */
static bool remove_node_json(int dir, const char *run_id, struct files *there)
{
    int fd = openat(dir, TI_NODE_JSON, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    json_t *run = fd < 0 ? NULL : ti_json_read(fd, NULL), *ranks = json_object_get(run, "ranks");
    const char *id = json_string_value(json_object_get(run, "run_id"));
    struct left left = {.dir = dir};
    bool gone;

    if (ti__ranks_ok(ranks, TI_RANKS_MAX))
        each_in(there, ranks, look_if_left, &left);
    for (size_t i = 0; !ti__ranks_ok(ranks, TI_RANKS_MAX) && i < there->n; i++)
        look_if_left(&there->file[i], &left);
    gone = id && strcmp(id, run_id) == 0 && !left.any && unlinkat(dir, TI_NODE_JSON, 0) == 0;
    json_decref(run);
    if (fd >= 0)
        close(fd);
    return gone;
}

/* Remove the directory if it is empty. */
static void remove_folder(int dir)
{
    char path[64], real[4096];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
    n = readlink(path, real, sizeof real - 1);
    if (n <= 0)
        return;
    real[n] = '\0';
    rmdir(real);
}

ti_status ti_traces_remove(const json_t *request, const char *directory, const char *run_id,
                           int64_t *removed, struct ti_err *err)
{
    struct files there;
    char id[40];
    bool ours;
    int dir;
    ti_status st;

    *removed = 0;
    if (!ti__ranks_ok(json_object_get(request, "ranks"), TI_RANKS_MAX))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    st = ti__traces_folder(request, directory, run_id, &dir, id, err);
    if (st != TI_OK)
        return st;
    st = find_files(dir, &there, err);
    each_in(&there, json_object_get(request, "ranks"), ask_for, NULL);
    for (size_t i = 0; i < there.n; i++) {
        struct file *file = &there.file[i];

        file->gone = file->asked && remove_rank(dir, file->rank, id);
        *removed += file->gone;
    }
    if (st == TI_OK) {
        /* An empty directory in which nothing was of the run is somebody else's. */
        ours = *removed > 0 || !json_object_get(request, "directory");
        ours |= remove_node_json(dir, id, &there);
        if (ours)
            remove_folder(dir);
    }
    free(there.file);
    close(dir);
    return st;
}
