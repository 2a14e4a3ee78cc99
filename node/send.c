#include "node/send.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "formats/rankname.h"
#include "formats/trace.h"
#include "node/rundir.h"

#define PIECE (64 * 1024)

enum { AT_RUN_ID = 24 }; /* in a trace's header, see formats/trace.h */

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

static bool is_within(const json_t *value, json_int_t most)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= most;
}

bool ti_from_ok(const json_t *list)
{
    const json_t *item;
    size_t i;

    if (!list || json_is_null(list))
        return true;
    if (!json_is_array(list))
        return false;
    json_array_foreach(list, i, item)
    {
        if (json_array_size(item) != 3 || !is_within(json_array_get(item, 0), TI_RANKS_MAX - 1) ||
            !is_within(json_array_get(item, 1), INT64_MAX) ||
            !is_within(json_array_get(item, 2), UINT32_MAX))
            return false;
    }
    return true;
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

static ti_status open_rank(int dir, int64_t rank, const char *run_id, int *fd, struct stat *sb,
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

/* The directory of the request, or else the one that was opened; *dir is -1 and errno ENOENT
 * if it is not there. */
static ti_status open_directory(const json_t *request, const char *directory, const char *run_id,
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

/* --- sending ------------------------------------------------------------- */

ti_status ti_send_start(struct ti_send *s, const json_t *request, const char *directory,
                        const char *run_id, struct ti_err *err)
{
    ti_status st;

    if (s->active)
        return ti_err_set(err, TI_ERR_INPUT, "one \"send\" at a time");
    memset(s, 0, sizeof *s);
    s->fd = -1;
    if (!ti_ranges_ok(json_object_get(request, "ranks")))
        return ti_err_set(err, TI_ERR_INPUT, "\"ranks\" must be a list of [FIRST, LAST]");
    if (!ti_from_ok(json_object_get(request, "from")))
        return ti_err_set(err, TI_ERR_INPUT, "\"from\" must be a list of [RANK, BYTES, CRC32C]");
    st = open_directory(request, directory, run_id, &s->dir, s->run_id, err);
    if (st != TI_OK)
        return st;
    s->from = json_incref(json_object_get(request, "from"));
    s->ranks = json_incref(json_object_get(request, "ranks"));
    s->rank = -1;
    s->active = true;
    return TI_OK;
}

void ti_send_end(struct ti_send *s)
{
    if (!s->active)
        return;
    if (s->fd >= 0)
        close(s->fd);
    close(s->dir);
    json_decref(s->ranks);
    json_decref(s->from);
    s->active = false;
}

/* Go to the next rank; false when there is none. */
static bool next_rank(struct ti_send *s)
{
    const json_t *range = json_array_get(s->ranks, s->range);
    int64_t first, last;

    if (!range)
        return false;
    first = json_integer_value(json_array_get(range, 0));
    last = json_integer_value(json_array_get(range, 1));
    if (s->rank < first || s->rank > last)
        s->rank = first;
    else if (s->rank < last)
        s->rank++;
    else {
        s->range++;
        s->rank = -1;
        return next_rank(s);
    }
    return true;
}

static void tell_failed(const struct ti_send *s, struct ti_outbox *out, const char *why)
{
    ti_outbox_json(
        out, TI_FRAME_MESSAGE,
        json_pack("{s:s, s:I, s:s}", "is", "sent", "rank", (json_int_t)s->rank, "error", why));
}

static void tell_sent(struct ti_send *s, struct ti_outbox *out)
{
    s->sent++;
    ti_outbox_json(out, TI_FRAME_MESSAGE,
                   json_pack("{s:s, s:I, s:I, s:I}", "is", "sent", "rank", (json_int_t)s->rank,
                             "bytes", (json_int_t)s->at, "crc32c", (json_int_t)s->crc));
}

static void tell_sending(const struct ti_send *s, struct ti_outbox *out)
{
    ti_outbox_json(out, TI_FRAME_MESSAGE,
                   json_pack("{s:s, s:I, s:I, s:I}", "is", "sending", "rank", (json_int_t)s->rank,
                             "from", (json_int_t)s->at, "bytes", (json_int_t)s->size));
}

/* What of the rank is there already; asked for in the order of "from" as a rule. */
static void look_up_known(struct ti_send *s)
{
    size_t n = json_array_size(s->from);

    s->known = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = (s->hint + i) % n;
        const json_t *item = json_array_get(s->from, at);

        if (json_integer_value(json_array_get(item, 0)) != s->rank)
            continue;
        s->hint = at + 1;
        s->known = json_integer_value(json_array_get(item, 1));
        s->known_crc = (uint32_t)json_integer_value(json_array_get(item, 2));
        return;
    }
}

static void begin_file(struct ti_send *s, struct ti_outbox *out)
{
    struct ti_err err;

    s->at = 0;
    s->crc = 0;
    if (open_rank(s->dir, s->rank, s->run_id, &s->fd, &s->before, &err) != TI_OK) {
        tell_failed(s, out, err.text);
        if (s->fd >= 0)
            close(s->fd);
        s->fd = -1;
        return;
    }
    s->size = s->before.st_size;
    posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    look_up_known(s);
    if (s->known > s->size)
        s->known = 0;
    if (!s->known)
        tell_sending(s, out);
}

static bool changed(const struct ti_send *s)
{
    struct stat now;

    return fstat(s->fd, &now) < 0 || now.st_size != s->before.st_size ||
           now.st_mtim.tv_sec != s->before.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != s->before.st_mtim.tv_nsec;
}

/* All that is there already was read: from here on it is sent, or from the beginning. */
static void compared(struct ti_send *s, struct ti_outbox *out)
{
    s->known = 0;
    if (s->crc != s->known_crc) {
        s->at = 0;
        s->crc = 0;
    }
    tell_sending(s, out);
}

/* A piece of the file; what was appended since it was opened is left. */
static void send_piece(struct ti_send *s, struct ti_outbox *out)
{
    static unsigned char buf[PIECE];
    int64_t until = s->known ? s->known : s->size;
    size_t want = until - s->at < PIECE ? (size_t)(until - s->at) : PIECE;
    ssize_t n = want ? pread(s->fd, buf, want, s->at) : 0;
    char why[128];

    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        s->crc = ti_crc32c(s->crc, buf, (size_t)n);
        s->at += n;
        if (!s->known)
            ti_outbox_frame(out, TI_FRAME_DATA, (uint32_t)s->rank, buf, (size_t)n);
        else if (s->at == s->known)
            compared(s, out);
        return;
    }
    if (n < 0) {
        snprintf(why, sizeof why, "cannot read it: %s", strerror(errno));
        tell_failed(s, out, why);
    } else if (want) {
        tell_failed(s, out, "it became shorter while it was sent");
    } else if (changed(s)) {
        tell_failed(s, out, "it changed while it was sent");
    } else {
        tell_sent(s, out);
    }
    close(s->fd);
    s->fd = -1;
}

void ti_send_more(struct ti_send *s, int pieces, struct ti_outbox *out)
{
    while (s->active && pieces && !ti_outbox_full(out) && !out->broken) {
        pieces--;
        if (s->fd >= 0) {
            send_piece(s, out);
        } else if (next_rank(s)) {
            begin_file(s, out);
        } else {
            ti_outbox_json(out, TI_FRAME_MESSAGE,
                           json_pack("{s:s, s:I, s:I}", "is", "send", "id", s->id, "sent",
                                     (json_int_t)s->sent));
            ti_send_end(s);
        }
    }
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

    if (open_rank(dir, rank, run_id, &fd, &sb, NULL) == TI_OK)
        json_array_append_new(
            traces, json_pack("[I, I, I, I, b]", (json_int_t)rank, (json_int_t)sb.st_size,
                              (json_int_t)sb.st_ino,
                              (json_int_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec,
                              has_end(fd, sb.st_size)));
    if (fd >= 0)
        close(fd);
}

json_t *ti_send_list(const json_t *request, const char *directory, const char *run_id,
                     struct ti_err *err)
{
    char id[40], name[TI_RANK_NAME_BYTES];
    json_t *traces;
    struct dirent *entry;
    DIR *d;
    int dir;

    if (open_directory(request, directory, run_id, &dir, id, err) != TI_OK)
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

    if (open_rank(dir, rank, run_id, &fd, &sb, NULL) == TI_OK && crc_of(fd, sb.st_size, &crc))
        json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)rank, (json_int_t)sb.st_size,
                                              (json_int_t)crc));
    if (fd >= 0)
        close(fd);
}

json_t *ti_send_crc(const json_t *request, const char *directory, const char *run_id,
                    struct ti_err *err)
{
    const json_t *range;
    json_t *list;
    char id[40];
    size_t i;
    int dir;

    if (open_directory(request, directory, run_id, &dir, id, err) != TI_OK)
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

    if (open_rank(dir, rank, run_id, &fd, &sb, &err) == TI_OK &&
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

ti_status ti_send_remove(const json_t *request, const char *directory, const char *run_id,
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
    st = open_directory(request, directory, run_id, &dir, id, err);
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
