#include "bundle/rank_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/node_traces.h"

#define BLOCK_BYTES (256 * 1024)

static bool stopped(const volatile int *stop)
{
    return (stop && __atomic_load_n(stop, __ATOMIC_RELAXED)) ||
           __atomic_load_n(&ti_gather_stop, __ATOMIC_RELAXED);
}

static void set_problem(struct ti_rank_scan *r, enum ti_rank_state state, const char *problem)
{
    r->state = state;
    free(r->problem);
    r->problem = strdup(problem);
}

ti_status ti_rank_scan_crc(int fd, const char *name, int64_t bytes, const volatile int *stop,
                           uint32_t *out, struct ti_err *err)
{
    uint8_t *block = malloc(BLOCK_BYTES);
    uLong crc = crc32(0, NULL, 0);
    ti_status st = block ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);

    for (int64_t at = 0; st == TI_OK && at < bytes;) {
        int64_t left = bytes - at;
        ssize_t n = pread(fd, block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, at);

        if (stopped(stop))
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            st = ti_err_errno(err, TI_ERR_IO, "'%s': cannot read it", name);
        else if (n == 0)
            st = ti_err_set(err, TI_ERR_IO, "'%s': it became shorter meanwhile", name);
        else
            crc = crc32_z(crc, block, (size_t)n);
        at += n;
    }
    free(block);
    *out = (uint32_t)crc;
    return st;
}

static bool is_stopped(void *stop)
{
    return stopped(stop);
}

/* ----------------------------------------------------------- what is kept -- */

static bool keep_counts(struct ti_rank_scan *r, const struct ti_scan *s)
{
    for (int op = 0; op < TI_OP_COUNT; op++)
        r->nops += s->op[op].events || s->op[op].bytes || s->op[op].got;
    r->op = malloc((size_t)(r->nops + 1) * sizeof *r->op);
    if (!r->op)
        return false;
    for (int op = 0, n = 0; op < TI_OP_COUNT; op++)
        if (s->op[op].events || s->op[op].bytes || s->op[op].got)
            r->op[n++] = (struct ti_rank_scan_op){(uint32_t)op, s->op[op]};
    return true;
}

static bool keep_info(struct ti_rank_scan_info *info, const struct ti_reader *reader,
                      const char *const *keys, size_t n)
{
    FILE *f = open_memstream(&info->text, &info->bytes);

    if (!f)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *value = ti_reader_info(reader, keys[i]);

        if (value)
            fprintf(f, "%s%c%s%c", keys[i], 0, value, 0);
    }
    return fclose(f) == 0;
}

static bool keep_infos(struct ti_rank_scan *r, const struct ti_reader *reader)
{
    static const char *const common[] = {
        "application", "command", "counter",  "event",   "unit",    "exact", "cpu",   "isa",
        "tunables",    "mpi",     "language", "library", "threads", "mode",  "extra", "estimate"};
    static const char *const own[] = {"host", "memory_bytes", "flush_seconds", "init_seconds",
                                      "app_seconds"};

    return keep_info(&r->common, reader, common, sizeof common / sizeof *common) &&
           keep_info(&r->own, reader, own, sizeof own / sizeof *own);
}

static const char *find(const struct ti_rank_scan_info *info, const char *key)
{
    for (const char *p = info->text, *end = p + info->bytes; p && p < end;) {
        const char *value = p + strlen(p) + 1;

        if (strcmp(p, key) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

const char *ti_rank_scan_info(const struct ti_rank_scan *r, const char *key)
{
    const char *value = find(&r->common, key);

    return value ? value : find(&r->own, key);
}

/* Copies the results of `s`, of a sound trace.  Returns false when memory is short. */
static bool keep(struct ti_rank_scan *r, const struct ti_reader *reader, struct ti_scan *s)
{
    const char *why = ti_reader_info(reader, "reason");
    bool ok = keep_counts(r, s) && keep_infos(r, reader);

    r->end = s->end;
    r->events = s->events;
    r->volume = s->volume;
    r->hash = s->hash;
    r->messages = s->messages;
    r->negative = s->negative;
    r->whole = s->whole;
    r->outside = s->outside;
    r->blocks = s->blocks;
    r->blocks_own = s->blocks_own;
    r->whole_known = s->whole_known;
    r->outside_known = s->outside_known;
    r->calibration = s->calibration;
    r->caveats = s->caveats;
    r->untraced = s->untraced;
    r->nuntraced = s->nuntraced;
    s->untraced = NULL;
    s->nuntraced = 0;
    r->state = s->end == TI_END_COMPLETE ? TI_RANK_OK : TI_RANK_CUT;
    if (r->state == TI_RANK_CUT) {
        char *problem = NULL;

        if (why && *why)
            ok = asprintf(&problem, "%s: %s", ti_end_text(s->end), why) >= 0 && ok;
        else
            problem = strdup(ti_end_text(s->end));
        r->problem = problem;
    }
    return ok;
}

/* ---------------------------------------------------------------- reading -- */

static ti_status open_file(int dir, const char *path, const char *name, int *fd,
                           struct ti_rank_scan *r, struct ti_reader **reader, struct ti_err *err)
{
    char *whole = NULL;
    ti_status st;

    *fd = -1;
    if (asprintf(&whole, "%s/%s", path, name) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", name);
    *fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &r->file) < 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", whole);
    else if (!S_ISREG(r->file.st_mode))
        st = ti_err_set(err, TI_ERR_IO, "'%s' is not a file", whole);
    else
        st = ti_reader_open_at(*fd, 0, r->file.st_size, whole, reader, err);
    free(whole);
    return st;
}

static void keep_header(struct ti_rank_scan *r, const struct ti_reader *reader)
{
    r->header = true;
    r->rank = ti_reader_rank(reader);
    r->nranks = ti_reader_nranks(reader);
    memcpy(r->run_id, ti_reader_run_id(reader), sizeof r->run_id);
}

static ti_status read_all(struct ti_rank_scan *r, struct ti_reader *reader, bool *enough,
                          const volatile int *stop, struct ti_err *err)
{
    struct ti_scan s = {0};
    ti_status st = ti_scan_read_until(reader, &s, is_stopped, (void *)(uintptr_t)stop, err);

    if (st == TI_OK)
        *enough = keep(r, reader, &s);
    ti_scan_free(&s);
    return st;
}

/* Returns the scan that ended with `st`; NULL: it was stopped, or memory is short. */
static struct ti_rank_scan *finish(struct ti_rank_scan *r, ti_status st, bool enough,
                                   const volatile int *stop, const struct ti_err *err)
{
    if (st != TI_OK)
        set_problem(r, st == TI_ERR_INPUT ? TI_RANK_DAMAGED : TI_RANK_UNREADABLE, err->text);
    if (stopped(stop) || !enough || (r->state != TI_RANK_OK && !r->problem)) {
        ti_rank_scan_free(r);
        return NULL;
    }
    return r;
}

struct ti_rank_scan *ti_rank_scan_file(int dir, const char *path, const char *name,
                                       const volatile int *stop)
{
    struct ti_rank_scan *r = calloc(1, sizeof *r);
    struct ti_reader *reader = NULL;
    struct ti_err err = {"", ""};
    bool enough = true;
    ti_status st;
    int fd;

    if (!r)
        return NULL;
    st = open_file(dir, path, name, &fd, r, &reader, &err);
    if (st == TI_OK) {
        keep_header(r, reader);
        st = ti_rank_scan_crc(fd, name, r->file.st_size, stop, &r->crc, &err);
    }
    if (st == TI_OK)
        st = read_all(r, reader, &enough, stop, &err);
    ti_reader_close(reader);
    if (fd >= 0)
        close(fd);
    return finish(r, st, enough, stop, &err);
}

struct ti_rank_scan *ti_rank_scan_merged(struct ti_node_traces *t, int64_t rank,
                                         const volatile int *stop)
{
    struct ti_rank_scan *r = calloc(1, sizeof *r);
    struct ti_reader *reader = NULL;
    struct ti_err err = {"", ""};
    struct ti_node_rank source;
    bool enough = true;
    ti_status st;

    if (!r || !ti_node_traces_has(t, rank, &source)) {
        free(r);
        return NULL;
    }
    r->from_node = source.from_node;
    r->file.st_size = source.bytes;
    r->crc = source.crc32c;
    st = ti_node_traces_reader(t, rank, &reader, &err);
    if (st == TI_OK) {
        keep_header(r, reader);
        st = read_all(r, reader, &enough, stop, &err);
    }
    ti_reader_close(reader);
    return finish(r, st, enough, stop, &err);
}

void ti_rank_scan_free(struct ti_rank_scan *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->nuntraced; i++)
        free(r->untraced[i].name);
    free(r->untraced);
    free(r->op);
    if (!r->shared)
        free(r->common.text);
    free(r->own.text);
    free(r->problem);
    free(r);
}

bool ti_rank_scan_is_current(const struct ti_rank_scan *r, const struct stat *sb)
{
    const struct stat *was = &r->file;

    return was->st_dev == sb->st_dev && was->st_ino == sb->st_ino && was->st_size == sb->st_size &&
           was->st_mtim.tv_sec == sb->st_mtim.tv_sec &&
           was->st_mtim.tv_nsec == sb->st_mtim.tv_nsec &&
           was->st_ctim.tv_sec == sb->st_ctim.tv_sec && was->st_ctim.tv_nsec == sb->st_ctim.tv_nsec;
}

size_t ti_rank_scan_bytes(const struct ti_rank_scan *r)
{
    size_t bytes = sizeof *r + (size_t)r->nops * sizeof *r->op + r->own.bytes +
                   (r->shared ? 0 : r->common.bytes);

    for (int i = 0; i < r->nuntraced; i++)
        bytes += sizeof r->untraced[i] + strlen(r->untraced[i].name);
    return bytes + (r->problem ? strlen(r->problem) : 0);
}
