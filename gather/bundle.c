#include "gather/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include "common/cli.h"
#include "formats/rankname.h"
#include "formats/zip.h"
#include "formats/zip_write.h"
#include "gather/output.h"
#include "gather/reading.h"

#define BLOCK_BYTES  TI_ZIP_BLOCK_BYTES
#define FORCE_HINT   "--force replaces it"
#define MANIFEST_KEY (-1) /* first in the directory */

/* What is in it of a rank. */
struct held {
    bool in;
    uint32_t crc32;
    int64_t bytes;
};

struct ti_bundle {
    const char *output; /* the caller's */
    char *path;         /* "OUTPUT.part" */
    bool force;
    int fd;
    bool ours; /* the file: removed unless it gets its name */

    pthread_mutex_t lock; /* of all that follows, while ti_bundle_add() may be called */
    bool closed;          /* nothing is added any more */
    struct ti_zip_writer *zip;
    struct held *held; /* by rank */
    int64_t nheld;
    int64_t nranks; /* of the run that they are of; 0: there are none */
    uint8_t run_id[TI_RUN_ID_BYTES];
};

static ti_status cannot_write(const struct ti_bundle *b, struct ti_err *err)
{
    int cause = errno;

    ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", b->path);
    if (cause == ENOSPC || cause == EDQUOT)
        ti_err_hint(err, "make room, or name a bundle on another disk with -o");
    return TI_ERR_IO;
}

/* ---------------------------------------------------------------- members -- */

enum copied { COPIED, CHANGED, UNREADABLE, UNWRITABLE, INTERRUPTED };

/* The file's contents into the member that was begun. */
static enum copied copy_data(struct ti_bundle *b, int fd, int64_t bytes, uint32_t want)
{
    uLong crc = crc32(0, NULL, 0);
    char more;

    while (bytes > 0) {
        size_t room;
        uint8_t *to = ti_zip_room(b->zip, &room);
        ssize_t n;

        if (!to)
            return UNWRITABLE;
        n = read(fd, to, bytes < (int64_t)room ? (size_t)bytes : room);
        if (__atomic_load_n(&ti_gather_stop, __ATOMIC_RELAXED))
            return INTERRUPTED;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return UNREADABLE;
        if (n == 0)
            return CHANGED;
        crc = crc32_z(crc, to, (size_t)n);
        ti_zip_put(b->zip, (size_t)n);
        bytes -= n;
    }
    return crc == want && read(fd, &more, 1) == 0 ? COPIED : CHANGED;
}

static bool make_room(struct ti_bundle *b, int64_t rank)
{
    int64_t want = b->nheld ? b->nheld : 64;
    struct held *grown;

    if (rank < b->nheld)
        return true;
    while (want <= rank)
        want *= 2;
    grown = realloc(b->held, (size_t)want * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + b->nheld, 0, (size_t)(want - b->nheld) * sizeof *grown);
    b->held = grown;
    b->nheld = want;
    return true;
}

/* File `name` in `dir`, which was read when it was `file`: all of it, or nothing. */
static enum copied copy_rank(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                             const struct stat *file, uint32_t crc)
{
    char member[TI_RANK_NAME_BYTES];
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum copied how = fd < 0 ? UNREADABLE : UNWRITABLE;
    int cause;

    if (fd >= 0 && make_room(b, rank)) {
        if (ti_zip_member_begin(b->zip, ti_rank_name(rank, member), rank, file->st_size, crc,
                                file->st_mtime) == 0)
            how = copy_data(b, fd, file->st_size, crc);
        cause = errno;
        if (how != COPIED)
            ti_zip_member_undo(b->zip);
        errno = cause;
    }
    cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    if (how == COPIED)
        b->held[rank] = (struct held){true, crc, file->st_size};
    return how;
}

/* Begin anew, with nothing. */
static ti_status empty(struct ti_bundle *b, struct ti_err *err)
{
    ti_zip_writer_free(b->zip);
    b->zip = ti_zip_writer_new(b->fd);
    if (b->nheld)
        memset(b->held, 0, (size_t)b->nheld * sizeof *b->held);
    b->nranks = 0;
    if (b->zip && ftruncate(b->fd, 0) == 0)
        return TI_OK;
    return cannot_write(b, err);
}

static bool belongs(struct ti_bundle *b, int64_t rank, const struct ti_reading *r)
{
    if ((r->state != TI_RANK_OK && r->state != TI_RANK_CUT) || r->rank != rank)
        return false;
    if (!b->nranks) {
        b->nranks = r->nranks;
        memcpy(b->run_id, r->run_id, sizeof b->run_id);
    }
    return b->nranks == r->nranks && memcmp(b->run_id, r->run_id, sizeof b->run_id) == 0;
}

void ti_bundle_add(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                   const struct ti_reading *r)
{
    pthread_mutex_lock(&b->lock);
    if (!b->closed && !(rank < b->nheld && b->held[rank].in) && belongs(b, rank, r) &&
        copy_rank(b, dir, name, rank, &r->file, r->crc32) == UNWRITABLE) {
        /* those that are still to come need the room more; what is wrong is said in the end */
        empty(b, NULL);
        b->closed = true;
    }
    pthread_mutex_unlock(&b->lock);
}

/* Whether all that is in it is to be. */
static bool agrees(const struct ti_bundle *b, const struct ti_run *run)
{
    for (int64_t i = 0; i < b->nheld; i++)
        if (b->held[i].in && (i >= run->nranks || !ti_run_gathers(run, i) ||
                              b->held[i].crc32 != run->rank[i].crc32 ||
                              b->held[i].bytes != run->rank[i].file.st_size))
            return false;
    return true;
}

static ti_status explain(const struct ti_bundle *b, const struct ti_run *run,
                         const struct ti_run_rank *rank, enum copied how, struct ti_err *err)
{
    switch (how) {
    case COPIED:
        return TI_OK;
    case CHANGED:
        ti_err_set(err, TI_ERR_IO, "'%s/%s' changed while it was gathered", run->path, rank->name);
        ti_err_hint(err, "is the application still running? gather when it has ended");
        return TI_ERR_IO;
    case UNREADABLE:
        return ti_err_errno(err, TI_ERR_IO, "cannot open or read '%s/%s'", run->path, rank->name);
    case INTERRUPTED:
        return ti_err_set(err, TI_ERR_IO, "interrupted");
    default:
        return cannot_write(b, err);
    }
}

static void progress(const struct ti_run *run, int64_t done, int64_t bytes)
{
    static double last;
    char size[32], all[32];
    double now;

    if (!ti_progress_on() || ((now = ti_run_now()) < last + 0.1))
        return;
    last = now;
    ti_progress("gathered %" PRId64 " of %" PRId64 " traces, %s of %s", done, run->gathered,
                ti_format_size(bytes, size, sizeof size),
                ti_format_size(run->bytes, all, sizeof all));
}

static ti_status add_the_rest(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    int64_t done = 0, bytes = 0;
    ti_status st = agrees(b, run) ? TI_OK : empty(b, err);

    for (int64_t i = 0; i < run->nranks && st == TI_OK; i++) {
        const struct ti_run_rank *rank = &run->rank[i];

        if (!ti_run_gathers(run, i))
            continue;
        progress(run, done++, bytes);
        bytes += rank->file.st_size;
        if (i >= b->nheld || !b->held[i].in)
            st = explain(b, run, rank,
                         copy_rank(b, run->fd, rank->name, i, &rank->file, rank->crc32), err);
    }
    ti_progress_clear();
    return st;
}

static ti_status sync_file(const struct ti_bundle *b, struct ti_err *err)
{
    return fsync(b->fd) == 0 || errno == EINVAL || errno == ENOTSUP ? TI_OK : cannot_write(b, err);
}

/* Last, so that it tells how long the rest took, and what is left to bring to the disk is short. */
static ti_status add_manifest(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    size_t bytes = 0, at = 0;
    char *manifest = ti_manifest_text(run, &bytes, &at), seconds[TI_SECONDS_BYTES + 1];
    ti_status st = TI_OK;

    if (!manifest) {
        errno = ENOMEM;
        return cannot_write(b, err);
    }
    if (at) {
        snprintf(seconds, sizeof seconds, "%*.3f", TI_SECONDS_BYTES, ti_run_now() - run->started);
        memcpy(manifest + at, seconds, TI_SECONDS_BYTES);
    }
    if (ti_zip_member_begin(b->zip, "MANIFEST.json", MANIFEST_KEY, (int64_t)bytes,
                            (uint32_t)crc32_z(crc32(0, NULL, 0), (const uint8_t *)manifest, bytes),
                            (time_t)run->started) < 0)
        st = cannot_write(b, err);
    for (size_t done = 0; st == TI_OK && done < bytes;) {
        size_t room;
        void *to = ti_zip_room(b->zip, &room);

        if (!to) {
            st = cannot_write(b, err);
            break;
        }
        room = room < bytes - done ? room : bytes - done;
        memcpy(to, manifest + done, room);
        ti_zip_put(b->zip, room);
        done += room;
    }
    free(manifest);
    if (st == TI_OK && ti_zip_finish(b->zip) < 0)
        st = cannot_write(b, err);
    return st;
}

/* Can what was written be read?  (Its traces' content: ti_bundle_remove_sources.) */
static ti_status read_back(const struct ti_bundle *out, const struct ti_run *run,
                           struct ti_err *err)
{
    struct ti_zip *z;
    char *manifest = NULL;
    ti_status st = ti_zip_open(out->fd, out->path, &z, err);

    if (st != TI_OK)
        return st;
    st = ti_zip_load(z, 0, INT64_MAX - 1, &manifest, err);
    if (st == TI_OK && ti_zip_count(z) != run->gathered + 1)
        st = ti_err_set(err, TI_ERR_IO, "'%s' was not written whole", out->path);
    for (int64_t i = 0, member = 1; st == TI_OK && i < run->nranks; i++) {
        const struct ti_zip_member *m;
        int64_t offset;

        if (!ti_run_gathers(run, i))
            continue;
        m = ti_zip_member(z, member);
        st = ti_zip_data(z, member++, &offset, err);
        if (st == TI_OK && (m->crc32 != run->rank[i].crc32 ||
                            m->bytes != run->rank[i].file.st_size || ti_rank_of_name(m->name) != i))
            st = ti_err_set(err, TI_ERR_IO, "'%s' was not written whole", out->path);
    }
    free(manifest);
    ti_zip_close(z);
    return st;
}

/* Nobody else may have the file: what we locked must be what has the name. */
static ti_status open_part(struct ti_bundle *b, struct ti_err *err)
{
    struct stat is, named;

    b->fd = open(b->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (b->fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", b->path);
    if (flock(b->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_IO, "'%s' is being written by another ti-gather", b->path);
    if (fstat(b->fd, &is) != 0 || lstat(b->path, &named) != 0 || !S_ISREG(is.st_mode) ||
        is.st_dev != named.st_dev || is.st_ino != named.st_ino)
        return ti_err_set(err, TI_ERR_IO, "'%s' was taken by somebody else", b->path);
    if (!ti_output_begins(b->fd, &is)) {
        ti_err_set(err, TI_ERR_IO, "'%s' is there and is not part of a bundle", b->path);
        ti_err_hint(err, "move it away, or give another name with -o");
        return TI_ERR_IO;
    }
    b->ours = true;
    return empty(b, err);
}

static ti_status sync_directory(const char *path)
{
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    int fd;

    if (slash)
        slash[slash == copy] = '\0';
    fd = copy ? open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (fd < 0)
        return TI_ERR_IO;
    fsync(fd); /* some file systems cannot; the file itself is safe */
    close(fd);
    return TI_OK;
}

/* Give the finished file its name. */
static ti_status publish(const struct ti_bundle *b, struct ti_err *err)
{
    const char *output = b->output;

    if (!b->force) {
        if (renameat2(AT_FDCWD, b->path, AT_FDCWD, output, RENAME_NOREPLACE) == 0)
            goto named;
        if (errno == EEXIST)
            return ti_err_set(err, TI_ERR_IO, "'%s' exists", output);
    }
    if (ti_output_check(output, b->force, FORCE_HINT, err) != TI_OK)
        return TI_ERR_IO;
    if (rename(b->path, output) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot rename '%s' to '%s'", b->path, output);
named:
    sync_directory(output);
    return TI_OK;
}

ti_status ti_bundle_begin(const char *output, bool force, struct ti_bundle **out,
                          struct ti_err *err)
{
    struct ti_bundle *b = calloc(1, sizeof *b);
    ti_status st;

    *out = NULL;
    if (!b || asprintf(&b->path, "%s.part", output) < 0) {
        free(b);
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    }
    b->output = output;
    b->force = force;
    b->fd = -1;
    pthread_mutex_init(&b->lock, NULL);
    st = ti_output_check(output, force, FORCE_HINT, err);
    if (st == TI_OK)
        st = open_part(b, err);
    if (st != TI_OK) {
        ti_bundle_free(b);
        return st;
    }
    *out = b;
    return TI_OK;
}

void ti_bundle_free(struct ti_bundle *b)
{
    if (!b)
        return;
    if (b->ours)
        unlink(b->path);
    if (b->fd >= 0)
        close(b->fd);
    pthread_mutex_destroy(&b->lock);
    ti_zip_writer_free(b->zip);
    free(b->held);
    free(b->path);
    free(b);
}

ti_status ti_bundle_finish(struct ti_bundle *b, const struct ti_run *run, int64_t *bytes,
                           struct ti_err *err)
{
    ti_status st;

    pthread_mutex_lock(&b->lock);
    b->closed = true;
    pthread_mutex_unlock(&b->lock);
    st = add_the_rest(b, run, err);
    if (st == TI_OK && ti_zip_flush(b->zip) < 0)
        st = cannot_write(b, err);
    if (st == TI_OK)
        st = sync_file(b, err);
    if (st == TI_OK)
        st = add_manifest(b, run, err);
    if (st == TI_OK)
        st = read_back(b, run, err);
    if (st == TI_OK)
        st = sync_file(b, err);
    if (st == TI_OK)
        st = publish(b, err);
    if (st != TI_OK)
        return st;
    b->ours = false;
    *bytes = ti_zip_written(b->zip);
    return TI_OK;
}

ti_status ti_bundle_write(const struct ti_run *run, const char *output, bool force, int64_t *bytes,
                          struct ti_err *err)
{
    struct ti_bundle *b;
    ti_status st = ti_bundle_begin(output, force, &b, err);

    if (st == TI_OK)
        st = ti_bundle_finish(b, run, bytes, err);
    ti_bundle_free(b);
    return st;
}

/* --------------------------------------------------------------- --remove -- */

static ti_status compare_member(const struct ti_zip *z, int64_t member, int fd,
                                const struct ti_run_rank *rank, uint8_t *block, const char *output,
                                struct ti_err *err)
{
    uLong crc = crc32(0, NULL, 0);
    int64_t at, left = ti_zip_member(z, member)->bytes;
    ti_status st = ti_zip_data(z, member, &at, err);

    while (st == TI_OK && left > 0) {
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        st = ti_gather_stop ? ti_err_set(err, TI_ERR_IO, "interrupted")
                            : ti_pread_all(fd, block, n, at, output, err);
        if (st == TI_OK)
            crc = crc32_z(crc, block, n);
        at += (int64_t)n;
        left -= (int64_t)n;
    }
    if (st == TI_OK &&
        (crc != rank->crc32 || ti_zip_member(z, member)->bytes != rank->file.st_size))
        st = ti_err_set(err, TI_ERR_IO, "'%s' does not hold what was in '%s'", output, rank->name);
    return st;
}

static bool unchanged(const struct stat *was, const struct stat *is)
{
    return was->st_dev == is->st_dev && was->st_ino == is->st_ino && was->st_size == is->st_size &&
           was->st_mtim.tv_sec == is->st_mtim.tv_sec && was->st_mtim.tv_nsec == is->st_mtim.tv_nsec;
}

static ti_status unlink_sources(struct ti_run *run, int64_t *removed, struct ti_err *err)
{
    for (int64_t i = 0; i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        struct stat sb;

        if (rank->state != TI_RANK_OK)
            continue; /* what is cut off may be all there is of it, or still grow */
        if (fstatat(run->fd, rank->name, &sb, AT_SYMLINK_NOFOLLOW) != 0 ||
            !unchanged(&rank->file, &sb)) {
            ti_warn("'%s/%s' is not what was gathered, and is kept", run->path, rank->name);
            continue;
        }
        if (unlinkat(run->fd, rank->name, 0) != 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot remove '%s/%s'", run->path, rank->name);
        ++*removed;
    }
    return TI_OK;
}

ti_status ti_bundle_remove_sources(struct ti_run *run, const char *output, int64_t *removed,
                                   struct ti_err *err)
{
    uint8_t *block = malloc(BLOCK_BYTES);
    int fd = open(output, O_RDONLY | O_CLOEXEC);
    struct ti_zip *z = NULL;
    int64_t member = 1;
    ti_status st;

    *removed = 0;
    if (!block || fd < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s' back", output);
        goto out;
    }
    st = ti_zip_open(fd, output, &z, err);
    if (st == TI_OK && ti_zip_count(z) != run->gathered + 1)
        st = ti_err_set(err, TI_ERR_IO, "'%s' does not hold all traces", output);
    for (int64_t i = 0; st == TI_OK && i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            st = compare_member(z, member++, fd, &run->rank[i], block, output, err);
    if (st == TI_OK)
        st = unlink_sources(run, removed, err);
out:
    ti_zip_close(z);
    if (fd >= 0)
        close(fd);
    free(block);
    return st;
}
