#include "bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/manifest.h"
#include "bundle/merging.h"
#include "bundle/node_traces.h"
#include "bundle/part.h"
#include "bundle/rank_scan.h"
#include "bundle/read_back.h"
#include "bundle/zip_writer.h"
#include "common/cli.h"
#include "merged/encode.h"
#include "trace/rankname.h"

#define BLOCK_BYTES (1024 * 1024)
#define PARTIAL     "not all ranks are here and complete"

/* The trace of a rank that is in the bundle. */
struct held {
    bool in;
    uint32_t crc;
    int64_t bytes;
    uint32_t record; /* CRC-32C of its record, if ranks are merged */
};

struct ti_bundle {
    struct ti_part part;
    const struct ti_qualities *quality; /* of ranks that are merged; NULL: they never are */
    struct ti_node_traces *from_nodes;  /* ranks that came merged; NULL: none */
    bool whole_only;                    /* merge complete runs only */

    pthread_mutex_t lock; /* protects all that follows, until `closed` */
    bool closed;          /* ti_bundle_add() adds nothing any more */
    struct ti_zip_writer zip;
    bool merge;                /* ranks are merged: else their files are stored */
    struct ti_merging merging; /* begun with the first rank */
    uint8_t *block;
    bool broken;       /* a member was begun and not ended, or the merger failed */
    struct held *held; /* by rank */
    int64_t nheld;
    int64_t nranks; /* of the run, taken from the first trace added; 0: none added */
    uint8_t run_id[TI_RUN_ID_BYTES];
};

/* Empties the file and begins again. */
static ti_status restart(struct ti_bundle *b, struct ti_err *err)
{
    ti_zip_writer_drop(&b->zip);
    ti_merging_end(&b->merging);
    if (b->nheld)
        memset(b->held, 0, (size_t)b->nheld * sizeof *b->held);
    b->nranks = 0;
    b->broken = true;
    if (ftruncate(b->part.fd, 0) != 0 || !ti_zip_writer_begin(&b->zip, b->part.fd))
        return ti_part_cannot_write(&b->part, err);
    b->broken = false;
    return TI_OK;
}

/* Merge ranks from now on, or store their files.  What was added another way is dropped. */
static ti_status set_merge(struct ti_bundle *b, bool merge, struct ti_err *err)
{
    bool was = b->merge;

    b->merge = merge;
    return was == merge ? TI_OK : restart(b, err);
}

/* ---------------------------------------------------------------- members -- */

/* FAILED: the error is set. */
enum copied { COPIED, CHANGED, UNREADABLE, UNWRITABLE, INTERRUPTED, UNFIT, FAILED };

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
        if (!ti_zip_writer_put(&b->zip, b->block, (size_t)n))
            return UNWRITABLE;
        bytes -= n;
    }
    if (crc != want || read(fd, b->block, 1) != 0)
        return CHANGED;
    return ti_zip_writer_end_member(&b->zip) ? COPIED : UNWRITABLE;
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
    if (!ti_zip_writer_member(&b->zip, ti_rank_name(rank, member), file->st_size, file->st_mtime))
        return UNWRITABLE;
    how = copy_data(b, fd, file->st_size, crc);
    if (how != COPIED)
        return how;
    b->held[rank] = (struct held){.in = true, .crc = crc, .bytes = file->st_size};
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

/* ---------------------------------------------------------------- merging -- */

/* Makes the record of an open file, and checks by its CRC that it is the one that was scanned. */
static enum copied encode_file(const struct ti_bundle *b, int fd, const char *name,
                               const struct stat *file, uint32_t crc, struct ti_record *out,
                               struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st = ti_reader_open_at(fd, 0, file->st_size, name, &r, err);
    struct ti_err ignored;
    struct stat is;
    uint32_t now;

    if (st == TI_OK) {
        st = ti_folded_encode(r, b->quality, out, err);
        ti_reader_close(r);
    }
    if (ti_rank_scan_crc(fd, name, file->st_size, NULL, &now, &ignored) == TI_OK && now == crc &&
        fstat(fd, &is) == 0 && is.st_size == file->st_size)
        return st == TI_OK ? COPIED : st == TI_ERR_INPUT ? UNFIT : FAILED;
    if (st == TI_OK)
        ti_record_free(out);
    return ti_gather_stop ? INTERRUPTED : CHANGED;
}

/* Safe from several threads. */
static enum copied encode_rank(const struct ti_bundle *b, int dir, const char *name, int64_t rank,
                               const struct stat *file, uint32_t crc, struct ti_record *out,
                               struct ti_err *err)
{
    enum copied how;
    int fd, cause;

    if (ti_node_traces_has(b->from_nodes, rank, NULL)) {
        ti_status st = ti_node_traces_record(b->from_nodes, rank, b->quality, out, err);

        if (st == TI_ERR_INPUT) /* or the rank was forgotten meanwhile */
            return ti_node_traces_has(b->from_nodes, rank, NULL) ? UNFIT : CHANGED;
        return st == TI_OK ? COPIED : FAILED;
    }
    fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    how = fd < 0 ? UNREADABLE : encode_file(b, fd, name, file, crc, out, err);
    cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return how;
}

/* Adds the record to those that are merged, and releases it. */
static enum copied merge_record(struct ti_bundle *b, int64_t rank, const struct stat *file,
                                uint32_t crc, struct ti_record *record, struct ti_err *err)
{
    struct held held = {true, crc, file->st_size, ti_merging_crc(record)};
    ti_status st = TI_OK;

    if (!make_room(b, rank)) {
        ti_record_free(record);
        return UNWRITABLE;
    }
    if (!b->merging.merger)
        st = ti_merging_begin(&b->merging, (uint32_t)b->nranks, b->run_id, b->part.folder, err);
    if (st == TI_OK)
        st = ti_merging_add(&b->merging, record, err);
    ti_record_free(record);
    b->broken = st == TI_ERR_IO;
    if (st != TI_OK)
        return st == TI_ERR_INPUT ? UNFIT : FAILED;
    b->held[rank] = held;
    return COPIED;
}

/* ------------------------------------------------------------------ ranks -- */

static bool is_held(const struct ti_bundle *b, int64_t rank)
{
    return rank < b->nheld && b->held[rank].in;
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

/* Merges the trace of a rank.  Others may add theirs while it is encoded. */
static enum copied add_record(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                              const struct ti_rank_scan *r)
{
    struct ti_record record;
    struct ti_err ignored;
    enum copied how;

    pthread_mutex_unlock(&b->lock);
    how = encode_rank(b, dir, name, rank, &r->file, r->crc, &record, &ignored);
    pthread_mutex_lock(&b->lock);
    if (how == COPIED && !b->closed && b->merge && !is_held(b, rank) && is_gatherable(b, rank, r))
        return merge_record(b, rank, &r->file, r->crc, &record, &ignored);
    if (how == COPIED)
        ti_record_free(&record);
    return b->closed || !b->merge ? COPIED : how;
}

void ti_bundle_add(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                   const struct ti_rank_scan *r)
{
    enum copied how = COPIED;
    struct stat is;

    pthread_mutex_lock(&b->lock);
    if (!b->closed && b->whole_only && r->state == TI_RANK_CUT)
        b->closed = set_merge(b, false, NULL) != TI_OK;
    if (!b->closed && !is_held(b, rank) && is_gatherable(b, rank, r) &&
        (r->from_node || (fstatat(dir, name, &is, 0) == 0 && ti_rank_scan_is_current(r, &is)))) {
        how = b->merge ? add_record(b, dir, name, rank, r)
                       : copy_rank(b, dir, name, rank, &r->file, r->crc);
        /* finish() adds again what was in it; once closed, it may be at work on it */
        if (!b->closed && b->broken && restart(b, NULL) != TI_OK)
            how = UNWRITABLE;
        /* stop on a write error: fetched traces need the room; finish() reports it */
        b->closed = b->closed || how == UNWRITABLE || how == FAILED || how == UNFIT;
    }
    pthread_mutex_unlock(&b->lock);
}

/* True if all its members are traces to gather of `run`. */
static bool has_only(const struct ti_bundle *b, const struct ti_run *run)
{
    for (int64_t i = 0; i < b->nheld; i++)
        if (b->held[i].in &&
            (i >= run->nranks || !ti_run_gathers(run, i) || b->held[i].crc != run->rank[i].crc ||
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
    case UNFIT:
        return TI_ERR_INPUT;
    case FAILED:
        return ti_part_hint(errno, TI_ERR_IO, err);
    default:
        return ti_part_cannot_write(&b->part, err);
    }
}

static void progress(const char *what, const struct ti_run *run, int64_t done, int64_t bytes)
{
    char note[64];

    snprintf(note, sizeof note, "%" PRId64 " of %" PRId64 " ranks", done, run->gathered);
    ti_progress_show(&(struct ti_progress){
        .step = what, .unit = "bytes", .done = bytes, .of = run->bytes, .note = note});
}

static ti_status add_rank(struct ti_bundle *b, const struct ti_run *run, int64_t i,
                          struct ti_err *err)
{
    const struct ti_run_rank *rank = &run->rank[i];
    struct ti_record record;
    enum copied how;

    if (!b->merge) {
        how = copy_rank(b, run->fd, rank->name, i, &rank->file, rank->crc);
    } else {
        how = encode_rank(b, run->fd, rank->name, i, &rank->file, rank->crc, &record, err);
        if (how == COPIED)
            how = merge_record(b, i, &rank->file, rank->crc, &record, err);
    }
    return explain(b, run, rank, how, err);
}

static ti_status add_the_rest(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    int64_t done = 0, bytes = 0;
    ti_status st = has_only(b, run) ? TI_OK : restart(b, err);

    if (!b->merging.merger) {
        b->nranks = run->nranks;
        memcpy(b->run_id, run->run_id, sizeof b->run_id);
    }
    for (int64_t i = 0; i < run->nranks && st == TI_OK; i++) {
        if (!ti_run_gathers(run, i))
            continue;
        progress(b->merge ? "merging" : "gathering", run, done++, bytes);
        bytes += run->rank[i].file.st_size;
        if (!is_held(b, i))
            st = add_rank(b, run, i, err);
    }
    ti_progress_end(st == TI_OK);
    return st;
}

/* Writes the merged trace, and notes what it is to be when it is read back. */
static ti_status store_merged(struct ti_bundle *b, struct ti_run *run, struct ti_err *err)
{
    ti_status st = ti_merging_store(&b->merging, &b->zip, b->part.path, &run->merged.bytes, err);

    if (st != TI_OK)
        return ti_part_hint(errno, st, err);
    run->merged.groups = ti_merger_groups(b->merging.merger);
    run->merged.copies = b->merging.copies;
    for (int64_t i = 0; i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            run->rank[i].record = b->held[i].record;
    return TI_OK;
}

/* Whether to merge, now that it is known which ranks are there. */
static ti_status choose_form(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    const struct ti_qualities *q = b->quality;

    if (!b->whole_only)
        return TI_OK;
    if (run->complete == run->nranks)
        return set_merge(b, true, err);
    if (q->volumes.kind != TI_EXACT || q->extras.kind != TI_EXACT)
        ti_warn("ranks are not merged, their files are stored with all values: " PARTIAL);
    else
        ti_say("ranks are not merged, their files are stored: " PARTIAL);
    return set_merge(b, false, err);
}

/* Whether the disk, or a limit on the size of files, has no room for a merge that was not asked for:
 * it takes up to three times the bytes of the files. */
static bool is_too_large(const struct ti_bundle *b, ti_status st)
{
    return st == TI_ERR_IO && b->merge && b->whole_only &&
           (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
}

static ti_status add_traces(struct ti_bundle *b, struct ti_run *run, struct ti_err *err)
{
    ti_status st = choose_form(b, run, err);

    run->merged.groups = 0;
    if (st == TI_OK)
        st = add_the_rest(b, run, err);
    if (st == TI_OK && b->merge)
        st = store_merged(b, run, err);
    if (st == TI_ERR_INPUT && ti_node_traces_next(b->from_nodes, 0) >= 0) {
        ti_err_hint(err, "'--merge none' fetches and stores files");
    } else if (st == TI_ERR_INPUT || is_too_large(b, st)) {
        ti_warn("ranks are not merged, their files are stored: %s", err->text);
        st = set_merge(b, false, err);
        if (st == TI_OK)
            st = add_the_rest(b, run, err);
    }
    return st;
}

/* The manifest is last because it has the duration of the rest; little is then left to sync. */
static ti_status add_manifest(struct ti_bundle *b, const struct ti_run *run, struct ti_err *err)
{
    size_t bytes = 0;
    char *manifest = ti_manifest_text(run, &bytes);
    ti_status st = TI_OK;

    if (manifest && run->merged.groups)
        ti_merging_manifest(&b->merging, &manifest, &bytes);
    if (!manifest) {
        errno = ENOMEM;
        return ti_part_cannot_write(&b->part, err);
    }
    if (!ti_zip_writer_manifest(&b->zip, manifest, bytes, (time_t)run->started) ||
        !ti_zip_writer_close(&b->zip))
        st = ti_part_cannot_write(&b->part, err);
    free(manifest);
    return st;
}

ti_status ti_bundle_begin(const char *output, bool force, struct ti_bundle **out,
                          struct ti_err *err)
{
    struct ti_bundle *b = calloc(1, sizeof *b);
    ti_status st;

    *out = NULL;
    if (!b || !(b->block = malloc(BLOCK_BYTES))) {
        free(b);
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    }
    pthread_mutex_init(&b->lock, NULL);
    st = ti_part_open(&b->part, output, force, err);
    if (st == TI_OK)
        st = restart(b, err);
    if (st != TI_OK) {
        ti_bundle_free(b);
        return st;
    }
    *out = b;
    return TI_OK;
}

void ti_bundle_merge(struct ti_bundle *b, const struct ti_qualities *q, bool whole_only,
                     struct ti_node_traces *from_nodes)
{
    b->quality = q;
    b->merge = true;
    b->whole_only = whole_only;
    b->from_nodes = from_nodes;
}

void ti_bundle_free(struct ti_bundle *b)
{
    if (!b)
        return;
    ti_zip_writer_drop(&b->zip);
    ti_merging_end(&b->merging);
    ti_part_close(&b->part);
    pthread_mutex_destroy(&b->lock);
    free(b->block);
    free(b->held);
    free(b);
}

ti_status ti_bundle_finish(struct ti_bundle *b, struct ti_run *run, int64_t *bytes,
                           struct ti_err *err)
{
    ti_status st;

    pthread_mutex_lock(&b->lock);
    b->closed = true;
    pthread_mutex_unlock(&b->lock);
    st = b->part.force ? ti_bundle_check_replaced(b->part.output, run, err) : TI_OK;
    if (st == TI_OK)
        st = add_traces(b, run, err);
    if (st == TI_OK)
        st = ti_part_sync(&b->part, err);
    if (st == TI_OK)
        st = add_manifest(b, run, err);
    if (st == TI_OK)
        st = ti_bundle_read_back(b->part.fd, b->part.path, run, err);
    if (st == TI_OK)
        st = ti_part_sync(&b->part, err);
    if (st == TI_OK)
        st = ti_part_publish(&b->part, err);
    *bytes = b->zip.written;
    return st;
}

