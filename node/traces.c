#include "node/traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "formats/rankname.h"
#include "formats/trace.h"
#include "node/rundir.h"

enum { AT_RUN_ID = 24 }; /* in a trace's header, see formats/trace.h */

/* --- ranges --------------------------------------------------------------- */

bool ti_ranges_ok(const json_t *list)
{
    const json_t *range;
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
    }
    /* none of them again and again: a frame has room for thousands of ranges */
    return ti_ranges_count(list) <= TI_RANKS_MAX;
}

int64_t ti_ranges_count(const json_t *list)
{
    const json_t *range;
    int64_t n = 0;
    size_t i;

    json_array_foreach(list, i, range) n += json_integer_value(json_array_get(range, 1)) -
                                            json_integer_value(json_array_get(range, 0)) + 1;
    return n;
}

/* --- files --------------------------------------------------------------- */

static bool is_of_run(int fd, const char *run_id)
{
    unsigned char header[TI_HEADER_BYTES];
    char text[2 * TI_RUN_ID_BYTES + 1];

    if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, TI_MAGIC, strlen(TI_MAGIC)) != 0)
        return false;
    for (int i = 0; i < TI_RUN_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", header[AT_RUN_ID + i]);
    return strcmp(text, run_id) == 0;
}

ti_status ti__trace_open(int dir, int64_t rank, const char *run_id, int *fd, struct stat *sb,
                         struct ti_err *err)
{
    char name[TI_RANK_NAME_BYTES];

    ti_rank_name(rank, name);
    *fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && errno == ENOENT)
        return ti_err_set(err, TI_ERR_INPUT, "no trace");
    if (*fd < 0 || fstat(*fd, sb) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", name);
    if (!S_ISREG(sb->st_mode) || !is_of_run(*fd, run_id))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is no trace of this run", name);
    return TI_OK;
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
    if (json_object_get(request, "ranks") && !ti_ranges_ok(json_object_get(request, "ranks")))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    snprintf(id, 40, "%s", i);
    *dir = open(d, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open the run directory '%s'", d);
    return TI_OK;
}

/* --- what there is -------------------------------------------------------- */

static bool has_end(int fd, int64_t bytes)
{
    char mark[TI_MAGIC_BYTES];

    return bytes >= TI_HEADER_BYTES + TI_MAGIC_BYTES &&
           pread(fd, mark, sizeof mark, bytes - TI_MAGIC_BYTES) == (ssize_t)sizeof mark &&
           memcmp(mark, TI_MAGIC_END, sizeof mark) == 0;
}

static void list_rank(int dir, int64_t rank, const char *run_id, json_t *traces)
{
    struct stat sb;
    int fd = -1;

    if (ti__trace_open(dir, rank, run_id, &fd, &sb, NULL) == TI_OK)
        json_array_append_new(
            traces, json_pack("[I, I, I, I, b]", (json_int_t)rank, (json_int_t)sb.st_size,
                              (json_int_t)sb.st_ino,
                              (json_int_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec,
                              has_end(fd, sb.st_size)));
    if (fd >= 0)
        close(fd);
}

json_t *ti_traces_list(const json_t *request, const char *directory, const char *run_id,
                       struct ti_err *err)
{
    char id[40], name[TI_RANK_NAME_BYTES];
    json_t *traces;
    struct dirent *entry;
    DIR *d;
    int dir;

    if (ti__traces_folder(request, directory, run_id, &dir, id, err) != TI_OK)
        return errno == ENOENT ? json_pack("{s:b, s:[]}", "exists", 0, "traces") : NULL;
    d = fdopendir(dir);
    if (!d) {
        ti_err_errno(err, TI_ERR_IO, "cannot read the run directory");
        close(dir);
        return NULL;
    }
    traces = json_array();
    while ((entry = readdir(d)) != NULL) {
        int64_t rank = ti_rank_of_name(entry->d_name);

        if (rank >= 0 && strcmp(entry->d_name, ti_rank_name(rank, name)) == 0)
            list_rank(dir, rank, id, traces);
    }
    closedir(d);
    return json_pack("{s:b, s:o}", "exists", 1, "traces", traces);
}

/* Of what is there, if it stays as it is. */
static bool crc_of(int fd, int64_t bytes, uint32_t *crc)
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

    if (ti__trace_open(dir, rank, run_id, &fd, &sb, NULL) == TI_OK && crc_of(fd, sb.st_size, &crc))
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

static void remove_rank(int dir, int64_t rank, const char *run_id, int64_t *removed)
{
    char name[TI_RANK_NAME_BYTES];
    struct ti_err err;
    struct stat sb;
    int fd;

    if (ti__trace_open(dir, rank, run_id, &fd, &sb, &err) == TI_OK &&
        unlinkat(dir, ti_rank_name(rank, name), 0) == 0)
        ++*removed;
    if (fd >= 0)
        close(fd);
}

/* RUN.json, if it is of this run and no trace of it is left. */
static void remove_run_json(int dir, const char *run_id)
{
    int fd = openat(dir, TI_RUN_JSON, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    json_t *run = fd < 0 ? NULL : json_loadfd(fd, 0, NULL), *range;
    const char *id = json_string_value(json_object_get(run, "run_id"));
    bool left = false;
    size_t i;

    json_array_foreach(json_object_get(run, "ranks"), i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   !left && r <= json_integer_value(json_array_get(range, 1)); r++)
    {
        char name[TI_RANK_NAME_BYTES];

        left = faccessat(dir, ti_rank_name(r, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    if (id && strcmp(id, run_id) == 0 && !left)
        unlinkat(dir, TI_RUN_JSON, 0);
    json_decref(run);
    if (fd >= 0)
        close(fd);
}

ti_status ti_traces_remove(const json_t *request, const char *directory, const char *run_id,
                           int64_t *removed, struct ti_err *err)
{
    const json_t *range;
    char id[40], path[64], real[4096];
    ssize_t n;
    size_t i;
    int dir;
    ti_status st;

    *removed = 0;
    if (!ti_ranges_ok(json_object_get(request, "ranks")))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    st = ti__traces_folder(request, directory, run_id, &dir, id, err);
    if (st != TI_OK)
        return st;
    json_array_foreach(json_object_get(request, "ranks"), i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
        remove_rank(dir, r, id, removed);
    remove_run_json(dir, id);
    snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
    n = readlink(path, real, sizeof real - 1);
    close(dir);
    if (n > 0) {
        real[n] = '\0';
        rmdir(real); /* if nothing else is in it */
    }
    return TI_OK;
}
