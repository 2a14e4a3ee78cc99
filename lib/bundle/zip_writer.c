#include "bundle/zip_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/zip.h"
#include "event/columns.h"
#include "trace/rankname.h"

#define BLOCK_BYTES (1024 * 1024)
#define FLUSH_BYTES (8 * 1024 * 1024) /* written out to the disk at a time */

/*
 * libarchive's write callback.  It hides errors, because libarchive would then not release its
 * memory; callers check wrote().
 */
static la_ssize_t write_block(struct archive *a, void *data, const void *block, size_t bytes)
{
    struct ti_zip_writer *w = data;
    const uint8_t *p = block;

    (void)a;
    for (size_t left = bytes; left && !w->error;) {
        ssize_t n = pwrite(w->fd, p, left, w->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            w->error = n < 0 ? errno : ENOSPC;
            break;
        }
        p += n;
        left -= (size_t)n;
        w->written += n;
    }
    if (w->written - w->flushing >= FLUSH_BYTES) {
        /* only a hint: the final sync waits for the data */
        sync_file_range(w->fd, w->flushing, w->written - w->flushing, SYNC_FILE_RANGE_WRITE);
        w->flushing = w->written;
    }
    return (la_ssize_t)bytes;
}

/* True if the libarchive call succeeded (`done`) and all writes did; else errno is set. */
static bool wrote(const struct ti_zip_writer *w, bool done)
{
    if (!done || w->error)
        errno = w->error ? w->error : archive_errno(w->zip) > 0 ? archive_errno(w->zip) : EIO;
    return done && !w->error;
}

void ti_zip_writer_drop(struct ti_zip_writer *w)
{
    w->error = ECANCELED; /* else freeing it writes its directory */
    archive_write_free(w->zip);
    w->zip = NULL;
}

bool ti_zip_writer_begin(struct ti_zip_writer *w, int fd)
{
    w->fd = fd;
    w->error = 0;
    w->written = w->flushing = 0;
    w->zip = archive_write_new();
    if (!w->zip) {
        errno = ENOMEM;
        return false;
    }
    return wrote(w, archive_write_set_format_zip(w->zip) == ARCHIVE_OK &&
                        archive_write_zip_set_compression_store(w->zip) == ARCHIVE_OK &&
                        archive_write_set_bytes_per_block(w->zip, BLOCK_BYTES) == ARCHIVE_OK &&
                        archive_write_set_bytes_in_last_block(w->zip, 1) == ARCHIVE_OK &&
                        archive_write_open(w->zip, w, NULL, write_block, NULL) == ARCHIVE_OK);
}

bool ti_zip_writer_member(struct ti_zip_writer *w, const char *name, int64_t bytes, time_t mtime)
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
    done = archive_write_header(w->zip, e) == ARCHIVE_OK;
    archive_entry_free(e);
    return wrote(w, done);
}

bool ti_zip_writer_put(struct ti_zip_writer *w, const void *data, size_t bytes)
{
    return wrote(w, archive_write_data(w->zip, data, bytes) == (la_ssize_t)bytes);
}

bool ti_zip_writer_end_member(struct ti_zip_writer *w)
{
    return wrote(w, archive_write_finish_entry(w->zip) == ARCHIVE_OK);
}

/* About how many bytes a deflated text has; -1 if memory is short. */
static int64_t deflated_bytes(const char *text, size_t bytes)
{
    uLong most = compressBound(bytes);
    Bytef *to = malloc(most);
    int rc = to ? compress(to, &most, (const Bytef *)text, bytes) : Z_MEM_ERROR;

    free(to);
    return rc == Z_OK ? (int64_t)most : -1;
}

bool ti_zip_writer_manifest(struct ti_zip_writer *w, const char *text, size_t bytes, time_t mtime)
{
    /* half of what is allowed, as the two compressions differ by some bytes */
    bool deflate = ti_zip_may_deflate((int64_t)bytes, deflated_bytes(text, bytes) / 2);

    return wrote(w, (deflate ? archive_write_zip_set_compression_deflate(w->zip)
                             : archive_write_zip_set_compression_store(w->zip)) == ARCHIVE_OK) &&
           ti_zip_writer_member(w, TI_MANIFEST_NAME, (int64_t)bytes, mtime) &&
           ti_zip_writer_put(w, text, bytes) && ti_zip_writer_end_member(w);
}

/* Reads the archive back, and adds its seal to the end record, of which the length of the comment
 * is the last number. */
static bool seal(struct ti_zip_writer *w)
{
    uint8_t last[2 + TI_ZIP_SEAL_BYTES + 1];
    struct ti_zip *z = NULL;
    bool done;

    errno = 0;
    done = ti_zip_open(w->fd, "the new archive", &z, NULL) == TI_OK &&
           ti_zip_seal(z, (char *)last + 2, NULL) == TI_OK;
    if (!done && !errno)
        errno = EIO;
    if (!done)
        w->error = errno;
    ti_zip_close(z);
    if (!done)
        return false;
    ti_put_u16(last, TI_ZIP_SEAL_BYTES);
    w->written -= 2;
    write_block(NULL, w, last, 2 + TI_ZIP_SEAL_BYTES);
    return wrote(w, true);
}

bool ti_zip_writer_close(struct ti_zip_writer *w)
{
    return wrote(w, archive_write_close(w->zip) == ARCHIVE_OK) && seal(w);
}
