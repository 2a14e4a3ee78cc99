#include "gather/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include "common/cli.h"
#include "formats/columns.h"
#include "formats/rankname.h"
#include "formats/zip.h"
#include "gather/output.h"

#define BLOCK_BYTES    (1024 * 1024)
#define FORCE_HINT     "--force replaces it"
#define DESCRIPTOR_SIG UINT32_C(0x08074b50) /* of what may follow a member's data */

/* The bundle being written. */
struct output {
    const char *path; /* "OUTPUT.part" */
    int fd;
    int error; /* errno of the write that failed */
    bool drop; /* given up: write no more */
    uint8_t *block;
};

static ti_status write_all(int fd, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    while (bytes) {
        ssize_t n = write(fd, p, bytes);

        if (n < 0 && errno == EINTR && !ti_gather_stop)
            continue;
        if (n < 0)
            return TI_ERR_IO;
        if (n == 0) {
            errno = ENOSPC;
            return TI_ERR_IO;
        }
        p += n;
        bytes -= (size_t)n;
    }
    return TI_OK;
}

/*
 * libarchive's way to the file.  It is not told of errors, since it would not
 * release its memory then; whoever calls it looks at out->error, and what
 * follows an error is dropped.
 */
static la_ssize_t write_block(struct archive *a, void *data, const void *block, size_t bytes)
{
    struct output *out = data;

    (void)a;
    if (!out->error && !out->drop && write_all(out->fd, block, bytes) != TI_OK)
        out->error = errno ? errno : EIO;
    return (la_ssize_t)bytes;
}

static ti_status cannot_write(const struct output *out, struct archive *a, struct ti_err *err)
{
    if (out->error) {
        errno = out->error;
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
        if (out->error == ENOSPC || out->error == EDQUOT)
            ti_err_hint(err, "make room, or name a bundle on another disk with -o");
        return TI_ERR_IO;
    }
    return ti_err_set(err, TI_ERR_IO, "cannot write '%s': %s", out->path,
                      archive_error_string(a) ? archive_error_string(a) : "unknown error");
}

static ti_status begin_member(const struct output *out, struct archive *a, const char *name,
                              int64_t bytes, time_t mtime, struct ti_err *err)
{
    struct archive_entry *e = archive_entry_new();
    int rc;

    if (!e) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
    }
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, bytes);
    archive_entry_set_mtime(e, mtime, 0);
    rc = archive_write_header(a, e);
    archive_entry_free(e);
    return rc == ARCHIVE_OK && !out->error ? TI_OK : cannot_write(out, a, err);
}

static ti_status changed(const struct ti_run *run, const struct ti_run_rank *rank,
                         struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "'%s/%s' changed while it was gathered", run->path, rank->name);
    ti_err_hint(err, "is the application still running? gather when it has ended");
    return TI_ERR_IO;
}

static ti_status copy_rank(const struct ti_run *run, const struct ti_run_rank *rank,
                           const struct output *out, struct archive *a, struct ti_err *err)
{
    int fd = openat(run->fd, rank->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int64_t left = rank->file.st_size;
    uLong crc = crc32(0, NULL, 0);
    ti_status st = TI_OK;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s/%s'", run->path, rank->name);
    while (left > 0 && st == TI_OK) {
        ssize_t n = read(fd, out->block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES);

        if (ti_gather_stop)
            st = ti_err_set(err, TI_ERR_IO, "interrupted");
        else if (n < 0 && errno != EINTR)
            st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s/%s'", run->path, rank->name);
        else if (n == 0)
            st = changed(run, rank, err);
        else if (n > 0) {
            crc = crc32_z(crc, out->block, (size_t)n);
            left -= n;
            if (archive_write_data(a, out->block, (size_t)n) != n || out->error)
                st = cannot_write(out, a, err);
        }
    }
    if (st == TI_OK && (crc != rank->crc32 || read(fd, out->block, 1) > 0))
        st = changed(run, rank, err);
    close(fd);
    return st;
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

static ti_status write_members(const struct ti_run *run, const struct output *out,
                               struct archive *a, const char *manifest, size_t manifest_bytes,
                               struct ti_err *err)
{
    int64_t done = 0, bytes = 0;
    ti_status st =
        begin_member(out, a, "MANIFEST.json", (int64_t)manifest_bytes, (time_t)run->started, err);

    if (st == TI_OK &&
        (archive_write_data(a, manifest, manifest_bytes) != (la_ssize_t)manifest_bytes ||
         out->error))
        st = cannot_write(out, a, err);
    for (int64_t i = 0; i < run->nranks && st == TI_OK; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        char name[TI_RANK_NAME_BYTES];

        if (!ti_run_gathers(run, i))
            continue;
        progress(run, done++, bytes);
        bytes += rank->file.st_size;
        st = begin_member(out, a, ti_rank_name(i, name), rank->file.st_size, rank->file.st_mtime,
                          err);
        if (st == TI_OK)
            st = copy_rank(run, rank, out, a, err);
    }
    if (st == TI_OK && (archive_write_finish_entry(a) != ARCHIVE_OK || out->error))
        st = cannot_write(out, a, err);
    if (st == TI_OK && (archive_write_close(a) != ARCHIVE_OK || out->error))
        st = cannot_write(out, a, err);
    ti_progress_clear();
    return st;
}

static ti_status write_archive(const struct ti_run *run, struct output *out, const char *manifest,
                               size_t manifest_bytes, struct ti_err *err)
{
    struct archive *a = archive_write_new();
    ti_status st;

    if (!a) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
    }
    if (archive_write_set_format_zip(a) != ARCHIVE_OK ||
        archive_write_zip_set_compression_store(a) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(a, BLOCK_BYTES) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK ||
        archive_write_open(a, out, NULL, write_block, NULL) != ARCHIVE_OK)
        st = cannot_write(out, a, err);
    else
        st = write_members(run, out, a, manifest, manifest_bytes, err);
    out->drop = st != TI_OK;
    archive_write_free(a);
    return st;
}

static ti_status put_u32(const struct output *out, int64_t at, uint32_t was, uint32_t is,
                         struct ti_err *err)
{
    uint8_t p[4];
    ti_status st = ti_pread_all(out->fd, p, sizeof p, at, out->path, err);

    if (st != TI_OK)
        return st;
    if (ti_get_u32(p) != was)
        return TI_OK; /* 0, or not there at all: it is elsewhere */
    ti_put_u32(p, is);
    if (pwrite(out->fd, p, sizeof p, at) != sizeof p)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
    return TI_OK;
}

/*
 * The manifest comes first, but how long the gathering took is known last:
 * write it over its place and put the manifest's CRC right.  Sizes do not
 * change.
 */
static ti_status fill_in_seconds(const struct ti_run *run, const struct output *out, char *manifest,
                                 size_t bytes, size_t at, struct ti_err *err)
{
    char seconds[TI_SECONDS_BYTES + 1];
    const struct ti_zip_member *m;
    struct ti_zip *z;
    int64_t data;
    uint32_t crc;
    ti_status st = ti_zip_open(out->fd, out->path, &z, err);

    if (st != TI_OK)
        return st;
    m = ti_zip_member(z, 0);
    st = ti_zip_data(z, 0, &data, err);
    if (st == TI_OK) {
        uint8_t sig[4];

        snprintf(seconds, sizeof seconds, "%*.3f", TI_SECONDS_BYTES, ti_run_now() - run->started);
        memcpy(manifest + at, seconds, TI_SECONDS_BYTES);
        crc = (uint32_t)crc32_z(crc32(0, NULL, 0), (const uint8_t *)manifest, bytes);
        if (pwrite(out->fd, seconds, TI_SECONDS_BYTES, data + (int64_t)at) != TI_SECONDS_BYTES)
            st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
        if (st == TI_OK)
            st = put_u32(out, m->header + 14, m->crc32, crc, err);
        if (st == TI_OK)
            st = ti_pread_all(out->fd, sig, sizeof sig, data + (int64_t)bytes, out->path, err);
        if (st == TI_OK && ti_get_u32(sig) == DESCRIPTOR_SIG)
            st = put_u32(out, data + (int64_t)bytes + 4, m->crc32, crc, err);
        if (st == TI_OK)
            st = put_u32(out, m->entry + 16, m->crc32, crc, err);
    }
    ti_zip_close(z);
    return st;
}

/* Can what was written be read?  (Its traces' content: ti_bundle_remove_sources.) */
static ti_status read_back(const struct ti_run *run, const struct output *out, struct ti_err *err)
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
static ti_status open_output(struct output *out, struct ti_err *err)
{
    struct stat is, named;

    out->fd =
        open(out->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (out->fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", out->path);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ti_err_set(err, TI_ERR_IO, "'%s' is being written by another ti-gather", out->path);
    if (fstat(out->fd, &is) != 0 || lstat(out->path, &named) != 0 || !S_ISREG(is.st_mode) ||
        is.st_dev != named.st_dev || is.st_ino != named.st_ino)
        return ti_err_set(err, TI_ERR_IO, "'%s' was taken by somebody else", out->path);
    if (!ti_output_begins(out->fd, &is)) {
        ti_err_set(err, TI_ERR_IO, "'%s' is there and is not part of a bundle", out->path);
        ti_err_hint(err, "move it away, or give another name with -o");
        return TI_ERR_IO;
    }
    if (ftruncate(out->fd, 0) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", out->path);
        unlink(out->path);
        return TI_ERR_IO;
    }
    return TI_OK;
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
static ti_status publish(const struct output *out, const char *output, bool force,
                         struct ti_err *err)
{
    if (!force) {
        if (renameat2(AT_FDCWD, out->path, AT_FDCWD, output, RENAME_NOREPLACE) == 0)
            goto named;
        if (errno == EEXIST)
            return ti_err_set(err, TI_ERR_IO, "'%s' exists", output);
    }
    if (ti_output_check(output, force, FORCE_HINT, err) != TI_OK)
        return TI_ERR_IO;
    if (rename(out->path, output) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot rename '%s' to '%s'", out->path, output);
named:
    sync_directory(output);
    return TI_OK;
}

ti_status ti_bundle_write(struct ti_run *run, const char *output, bool force, int64_t *bytes,
                          struct ti_err *err)
{
    struct output out = {.fd = -1};
    size_t manifest_bytes = 0, seconds_at = 0;
    char *manifest = ti_manifest_text(run, &manifest_bytes, &seconds_at), *part = NULL;
    struct stat sb;
    ti_status st;

    out.block = malloc(BLOCK_BYTES);
    if (!manifest || !out.block || asprintf(&part, "%s.part", output) < 0) {
        errno = ENOMEM;
        free(manifest);
        free(out.block);
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", output);
    }
    out.path = part;
    st = ti_output_check(output, force, FORCE_HINT, err);
    if (st == TI_OK)
        st = open_output(&out, err);
    if (st != TI_OK)
        goto out;
    st = write_archive(run, &out, manifest, manifest_bytes, err);
    if (st == TI_OK && seconds_at)
        st = fill_in_seconds(run, &out, manifest, manifest_bytes, seconds_at, err);
    if (st == TI_OK)
        st = read_back(run, &out, err);
    if (st == TI_OK && fsync(out.fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", part);
    if (st == TI_OK && fstat(out.fd, &sb) == 0)
        *bytes = sb.st_size;
    if (st == TI_OK)
        st = publish(&out, output, force, err);
    if (st != TI_OK)
        unlink(part);
out:
    if (out.fd >= 0)
        close(out.fd);
    free(part);
    free(out.block);
    free(manifest);
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
