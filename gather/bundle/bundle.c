#include "gather/bundle/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include "common/cli.h"
#include "common/crc32c.h"
#include "formats/rankname.h"
#include "formats/zip.h"
#include "gather/bundle/output.h"
#include "gather/bundle/rank_scan.h"

#define BLOCK_BYTES (1024 * 1024)
#define FLUSH_BYTES (8 * 1024 * 1024) /* written out to the disk at a time */
#define FORCE_HINT  "--force replaces it"
#define MANIFEST    "MANIFEST.json"

/* The member of a rank. */
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
    bool ours; /* we created the file: remove it unless it is finished */

    pthread_mutex_t lock; /* protects all that follows, until `closed` */
    bool closed;          /* ti_bundle_add() adds nothing any more */
    struct archive *zip;
    uint8_t *block;
    int64_t written, flushing; /* bytes of the file; of them, with write-out started */
    int error;                 /* errno of the write that failed: nothing is written after it */
    bool broken;               /* a member was begun and not ended */
    struct held *held;        /* by rank */
    int64_t nheld;
    int64_t nranks; /* of the run, taken from the first trace added; 0: none added */
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

/* ---------------------------------------------------------------- archive -- */

/*
 * libarchive's write callback.  It hides errors, because libarchive would then not release its
 * memory; callers check wrote().
 */
static la_ssize_t write_block(struct archive *a, void *data, const void *block, size_t bytes)
{
    struct ti_bundle *b = data;
    const uint8_t *p = block;

    (void)a;
    for (size_t left = bytes; left && !b->error;) {
        ssize_t n = pwrite(b->fd, p, left, b->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            b->error = n < 0 ? errno : ENOSPC;
            break;
        }
        p += n;
        left -= (size_t)n;
        b->written += n;
    }
    if (b->written - b->flushing >= FLUSH_BYTES) {
        /* only a hint: the final sync waits for the data */
        sync_file_range(b->fd, b->flushing, b->written - b->flushing, SYNC_FILE_RANGE_WRITE);
        b->flushing = b->written;
    }
    return (la_ssize_t)bytes;
}

/* True if the libarchive call succeeded (`done`) and all writes did; else errno is set. */
static bool wrote(const struct ti_bundle *b, bool done)
{
    if (!done || b->error)
        errno = b->error ? b->error : archive_errno(b->zip) > 0 ? archive_errno(b->zip) : EIO;
    return done && !b->error;
}

/* Frees the archive without writing to the file. */
static void drop_archive(struct ti_bundle *b)
{
    b->error = ECANCELED; /* else freeing it writes its directory */
    archive_write_free(b->zip);
    b->zip = NULL;
}

static bool begin_archive(struct ti_bundle *b)
{
    b->error = 0;
    b->written = b->flushing = 0;
    b->zip = archive_write_new();
    if (!b->zip) {
        errno = ENOMEM;
        return false;
    }
    return wrote(b, archive_write_set_format_zip(b->zip) == ARCHIVE_OK &&
                        archive_write_zip_set_compression_store(b->zip) == ARCHIVE_OK &&
                        archive_write_set_bytes_per_block(b->zip, BLOCK_BYTES) == ARCHIVE_OK &&
                        archive_write_set_bytes_in_last_block(b->zip, 1) == ARCHIVE_OK &&
                        archive_write_open(b->zip, b, NULL, write_block, NULL) == ARCHIVE_OK);
}

/* Empties the file and begins again. */
static ti_status restart(struct ti_bundle *b, struct ti_err *err)
{
    drop_archive(b);
    if (b->nheld)
        memset(b->held, 0, (size_t)b->nheld * sizeof *b->held);
    b->nranks = 0;
    b->broken = true;
    if (ftruncate(b->fd, 0) != 0 || !begin_archive(b))
        return cannot_write(b, err);
    b->broken = false;
    return TI_OK;
}

/* ---------------------------------------------------------------- members -- */

enum copied { COPIED, CHANGED, UNREADABLE, UNWRITABLE, INTERRUPTED };

static bool begin_member(struct ti_bundle *b, const char *name, int64_t bytes, time_t mtime)
{
    struct archive_entry *e = archive_entry_new();
    bool done;

    if (!e) {
        errno = ENOMEM;
        return false;
    }
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    if (bytes != UINT32_MAX) /* libarchive writes no zip64 header for exactly this size */
        archive_entry_set_size(e, bytes);
    archive_entry_set_mtime(e, mtime, 0);
    done = archive_write_header(b->zip, e) == ARCHIVE_OK;
    archive_entry_free(e);
    return wrote(b, done);
}

static bool put(struct ti_bundle *b, const void *data, size_t bytes)
{
    return wrote(b, archive_write_data(b->zip, data, bytes) == (la_ssize_t)bytes);
}

static bool end_member(struct ti_bundle *b)
{
    return wrote(b, archive_write_finish_entry(b->zip) == ARCHIVE_OK);
}

/* Copies the file's contents into the member that was begun. */
static enum copied copy_data(struct ti_bundle *b, int fd, int64_t bytes, uint32_t want)
{
    uLong crc = crc32(0, NULL, 0);

    while (bytes > 0) {
        ssize_t n = read(fd, b->block, bytes < BLOCK_BYTES ? (size_t)bytes : BLOCK_BYTES);

        if (__atomic_load_n(&ti_gather_stop, __ATOMIC_RELAXED))
            return INTERRUPTED;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return UNREADABLE;
        if (n == 0)
            return CHANGED;
        crc = crc32_z(crc, b->block, (size_t)n);
        if (!put(b, b->block, (size_t)n))
            return UNWRITABLE;
        bytes -= n;
    }
    if (crc != want || read(fd, b->block, 1) != 0)
        return CHANGED;
    return end_member(b) ? COPIED : UNWRITABLE;
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

/* Adds the open file `fd`, which was scanned in state `file`. */
static enum copied copy_file(struct ti_bundle *b, int fd, int64_t rank, const struct stat *file,
                             uint32_t crc)
{
    char member[TI_RANK_NAME_BYTES];
    struct stat is;
    enum copied how;

    if (fstat(fd, &is) != 0)
        return UNREADABLE;
    if (is.st_size != file->st_size)
        return CHANGED;
    if (!make_room(b, rank))
        return UNWRITABLE;
    b->broken = true;
    if (!begin_member(b, ti_rank_name(rank, member), file->st_size, file->st_mtime))
        return UNWRITABLE;
    how = copy_data(b, fd, file->st_size, crc);
    if (how != COPIED)
        return how;
    b->held[rank] = (struct held){true, crc, file->st_size};
    b->broken = false;
    return COPIED;
}

/* Sets errno for UNREADABLE and UNWRITABLE. */
static enum copied copy_rank(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                             const struct stat *file, uint32_t crc)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum copied how = fd < 0 ? UNREADABLE : copy_file(b, fd, rank, file, crc);
    int cause = errno;

    if (fd >= 0)
        close(fd);
    errno = cause;
    return how;
}

static bool is_gatherable(struct ti_bundle *b, int64_t rank, const struct ti_rank_scan *r)
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
                   const struct ti_rank_scan *r)
{
    struct stat is;

    pthread_mutex_lock(&b->lock);
    if (!b->closed && !(rank < b->nheld && b->held[rank].in) && is_gatherable(b, rank, r) &&
        fstatat(dir, name, &is, 0) == 0 && ti_rank_scan_is_current(r, &is)) {
        /* stop on a write error: fetched traces need the room; finish() reports it */
        b->closed = copy_rank(b, dir, name, rank, &r->file, r->crc32) == UNWRITABLE;
        /* finish() adds again what was in it */
        if (b->broken && restart(b, NULL) != TI_OK)
            b->closed = true;
    }
    pthread_mutex_unlock(&b->lock);
}

/* True if all its members are traces to gather of `run`. */
static bool has_only(const struct ti_bundle *b, const struct ti_run *run)
{
    for (int64_t i = 0; i < b->nheld; i++)
        if (b->held[i].in && (i >= run->nranks || !ti_run_gathers(run, i) ||
                              b->held[i].crc32 != run->rank[i].crc32 ||
                              b->held[i].bytes != run->rank[i].file.st_size))
            return false;
    return !b->broken;
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

    if (!ti_progress_on() || ((now = ti_wall()) < last + 0.1))
        return;
    last = now;
    ti_progress("gathered %" PRId64 " of %" PRId64 " traces, %s of %s", done, run->gathered,
                ti_format_size(bytes, size, sizeof size),
                ti_format_size(run->bytes, all, sizeof all));
}

static ti_status add_the_rest(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    int64_t done = 0, bytes = 0;
    ti_status st = has_only(b, run) ? TI_OK : restart(b, err);

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

static void run_id_text(const uint8_t id[TI_RUN_ID_BYTES], char text[2 * TI_RUN_ID_BYTES + 1])
{
    for (int i = 0; i < TI_RUN_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

/* The manifest is last because it has the duration of the rest; little is then left to sync. */
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
        snprintf(seconds, sizeof seconds, "%*.3f", TI_SECONDS_BYTES, ti_wall() - run->started);
        memcpy(manifest + at, seconds, TI_SECONDS_BYTES);
    }
    if (!begin_member(b, MANIFEST, (int64_t)bytes, (time_t)run->started) ||
        !put(b, manifest, bytes) || !end_member(b) ||
        !wrote(b, archive_write_close(b->zip) == ARCHIVE_OK))
        st = cannot_write(b, err);
    free(manifest);
    return st;
}

/*
 * Index of the member of each rank of `run`, and in [nranks] that of the manifest; -1: none.
 * Returns NULL when memory is short.
 */
static int64_t *find_members(const struct ti_zip *z, const struct ti_run *run)
{
    int64_t *member = malloc(((size_t)run->nranks + 1) * sizeof *member);

    if (!member)
        return NULL;
    for (int64_t i = 0; i <= run->nranks; i++)
        member[i] = -1;
    for (int64_t i = 0; i < ti_zip_count(z); i++) {
        const char *name = ti_zip_member(z, i)->name;
        int64_t rank = ti_rank_of_name(name);

        if (rank >= 0 && rank < run->nranks)
            member[rank] = i;
        else if (strcmp(name, MANIFEST) == 0)
            member[run->nranks] = i;
    }
    return member;
}

/* Opens a bundle and checks by its directory that it has exactly the traces of `run`.  *member as
 * of find_members(). */
static ti_status open_back(int fd, const char *path, const struct ti_run *run, struct ti_zip **z,
                           int64_t **member, struct ti_err *err)
{
    ti_status st = ti_zip_open(fd, path, z, err);
    bool whole;

    if (st != TI_OK)
        return st;
    *member = find_members(*z, run);
    if (!*member) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s' back", path);
    }
    whole = ti_zip_count(*z) == run->gathered + 1 && (*member)[run->nranks] >= 0;
    for (int64_t i = 0; whole && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        const struct ti_zip_member *m = (*member)[i] < 0 ? NULL : ti_zip_member(*z, (*member)[i]);

        if (ti_run_gathers(run, i))
            whole = m && m->crc32 == rank->crc32 && m->bytes == rank->file.st_size;
    }
    return whole ? TI_OK : ti_err_set(err, TI_ERR_IO, "'%s' does not hold what was gathered", path);
}

/* True if the manifest has the run id, ranks and np of `run`. */
static bool is_manifest_of(const char *text, const struct ti_run *run)
{
    json_t *manifest = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *id = json_string_value(json_object_get(manifest, "run_id"));
    char ours[2 * TI_RUN_ID_BYTES + 1];
    bool is;

    run_id_text(run->run_id, ours);
    is = id && strcmp(id, ours) == 0 &&
         json_integer_value(json_object_get(manifest, "np")) == run->nranks &&
         json_array_size(json_object_get(manifest, "ranks")) == (size_t)run->gathered;
    json_decref(manifest);
    return is;
}

/* Reads directory, manifest and member headers back; ti_bundle_remove_sources() reads the traces.
 */
static ti_status read_back(const struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    struct ti_zip *z = NULL;
    int64_t *member = NULL, offset;
    char *manifest = NULL;
    ti_status st = open_back(b->fd, b->path, run, &z, &member, err);

    if (st == TI_OK)
        st = ti_zip_load(z, member[run->nranks], INT64_MAX - 1, &manifest, err);
    if (st == TI_OK && !is_manifest_of(manifest, run))
        st = ti_err_set(err, TI_ERR_IO, "the manifest of '%s' is not what was written", b->path);
    for (int64_t i = 0; st == TI_OK && i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            st = ti_zip_data(z, member[i], &offset, err);
    free(manifest);
    free(member);
    ti_zip_close(z);
    return st == TI_ERR_INPUT ? TI_ERR_IO : st;
}

/* Opens and locks OUTPUT.part.  Another process may rename or remove it in between, so the locked
 * file must be the one that has the name. */
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
    return restart(b, err);
}

/* Syncs the name, too, before sources are removed.  Some file systems cannot, and a directory may
 * be writable but not readable: that is no error. */
static ti_status sync_directory(const char *path, struct ti_err *err)
{
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    ti_status st = TI_OK;
    int fd;

    if (slash)
        slash[slash == copy] = '\0';
    fd = copy ? open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (fd < 0)
        return TI_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        st = ti_err_errno(err, TI_ERR_IO, "cannot bring the name of '%s' to the disk", path);
    close(fd);
    return st;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Renames the finished file to its name. */
static ti_status publish(struct ti_bundle *b, struct ti_err *err)
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
    b->ours = false;
    return sync_directory(output, err);
}

ti_status ti_bundle_begin(const char *output, bool force, struct ti_bundle **out,
                          struct ti_err *err)
{
    struct ti_bundle *b = calloc(1, sizeof *b);
    ti_status st;

    *out = NULL;
    if (!b || !(b->block = malloc(BLOCK_BYTES)) || asprintf(&b->path, "%s.part", output) < 0) {
        if (b)
            free(b->block);
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
    drop_archive(b);
    if (b->ours)
        unlink(b->path);
    if (b->fd >= 0)
        close(b->fd);
    pthread_mutex_destroy(&b->lock);
    free(b->block);
    free(b->held);
    free(b->path);
    free(b);
}

/* True if bundle `z` has traces of `run`.  Reads a trace's header, as the manifest may be damaged.
 */
static bool is_of(const struct ti_zip *z, int fd, const struct ti_run *run)
{
    bool is = false, opened = false;

    for (int64_t i = 0; i < ti_zip_count(z) && !opened; i++) {
        const struct ti_zip_member *m = ti_zip_member(z, i);
        struct ti_reader *r = NULL;
        int64_t at;

        if (ti_rank_of_name(m->name) < 0 || ti_zip_data(z, i, &at, NULL) != TI_OK ||
            ti_reader_open_at(fd, at, m->bytes, m->name, &r, NULL) != TI_OK)
            continue;
        opened = true;
        is = memcmp(ti_reader_run_id(r), run->run_id, TI_RUN_ID_BYTES) == 0;
        ti_reader_close(r);
    }
    return is;
}

/* Finds the *n ranks for which `z` has a better trace than the run directory. */
static void find_lost(const struct ti_zip *z, const struct ti_run *run, int64_t *rank, int64_t *n)
{
    *n = 0;
    for (int64_t i = 0; i < ti_zip_count(z); i++) {
        const struct ti_zip_member *m = ti_zip_member(z, i);
        int64_t r = ti_rank_of_name(m->name);
        const struct ti_run_rank *here = r >= 0 && r < run->nranks ? &run->rank[r] : NULL;

        /* one of several local files is as good */
        if (here && here->state != TI_RANK_OK && here->state != TI_RANK_DUPLICATE &&
            (here->state != TI_RANK_CUT || here->file.st_size < m->bytes))
            rank[(*n)++] = r;
    }
}

/* Refuses to replace a bundle that has the only traces of some ranks, as after --remove. */
static ti_status check_replaced(const struct ti_bundle *b, const struct ti_run *run,
                                struct ti_err *err)
{
    int fd = b->force ? open(b->output, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    char ranks[256];
    struct ti_zip *z = NULL;
    int64_t *rank = NULL, n = 0;
    ti_status st = TI_OK;

    if (fd < 0 || ti_zip_open(fd, b->output, &z, NULL) != TI_OK)
        goto out; /* publish() reports what is wrong with it */
    rank = malloc(((size_t)ti_zip_count(z) + 1) * sizeof *rank);
    if (!rank)
        st = ti_err_errno(err, TI_ERR_IO, "cannot look into '%s', which is to be replaced",
                          b->output);
    else if (is_of(z, fd, run))
        find_lost(z, run, rank, &n);
    if (n) {
        qsort(rank, (size_t)n, sizeof *rank, by_number);
        st = ti_err_set(err, TI_ERR_IO,
                        "'%s' has %s %s of this run, of which there is no such trace here, and is "
                        "not replaced",
                        b->output, n == 1 ? "rank" : "ranks",
                        ti_ranks_text(rank, n, ranks, sizeof ranks));
        ti_err_hint(err,
                    "\"unzip -n '%.160s' 'rank-*' -d '%.160s'\" brings what it has back; or "
                    "give another name with -o",
                    b->output, run->path);
    }
out:
    free(rank);
    ti_zip_close(z);
    if (fd >= 0)
        close(fd);
    return st;
}

ti_status ti_bundle_finish(struct ti_bundle *b, const struct ti_run *run, int64_t *bytes,
                           struct ti_err *err)
{
    ti_status st;

    pthread_mutex_lock(&b->lock);
    b->closed = true;
    pthread_mutex_unlock(&b->lock);
    st = check_replaced(b, run, err);
    if (st == TI_OK)
        st = add_the_rest(b, run, err);
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
    *bytes = b->written;
    return st;
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
                                struct ti_run_rank *rank, uint8_t *block, const char *output,
                                struct ti_err *err)
{
    uLong crc = crc32(0, NULL, 0);
    int64_t at, left = ti_zip_member(z, member)->bytes;
    ti_status st = ti_zip_data(z, member, &at, err);

    rank->crc32c = 0;
    while (st == TI_OK && left > 0) {
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        if (ti_gather_stop) {
            st = ti_err_set(err, TI_ERR_IO, "interrupted");
            ti_err_hint(err, "the bundle is whole, and nothing was removed");
        } else {
            st = ti_pread_all(fd, block, n, at, output, err);
        }
        if (st == TI_OK) {
            crc = crc32_z(crc, block, n);
            rank->crc32c = ti_crc32c(rank->crc32c, block, n);
        }
        at += (int64_t)n;
        left -= (int64_t)n;
    }
    if (st == TI_OK && crc != rank->crc32)
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
            continue; /* an incomplete trace may be the only copy, or still grow */
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
    int64_t *member = NULL;
    ti_status st;

    *removed = 0;
    if (!block || fd < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s' back", output);
        goto out;
    }
    st = open_back(fd, output, run, &z, &member, err);
    for (int64_t i = 0; st == TI_OK && i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            st = compare_member(z, member[i], fd, &run->rank[i], block, output, err);
    if (st == TI_ERR_INPUT)
        st = TI_ERR_IO; /* we wrote it: not a fault of the input */
    if (st == TI_OK)
        st = unlink_sources(run, removed, err);
out:
    free(member);
    ti_zip_close(z);
    if (fd >= 0)
        close(fd);
    free(block);
    return st;
}
