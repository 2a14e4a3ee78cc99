#include "trace/writer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/fds.h"
#include "trace/metadata.h"

/*
 * The application may close all descriptors (closefrom(), a loop) and get our number for a file of
 * its own.  So each use of the descriptor is preceded by is_own(), and a lost descriptor is
 * replaced by opening the file again by name.
 */
static bool is_own(const struct ti_writer *w, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino;
}

/* Compares inode and header: the inode number of a removed file is used again. */
static bool open_again(struct ti_writer *w)
{
    uint8_t header[TI_HEADER_BYTES];
    int fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return false;
    if (!is_own(w, fd) || pread(fd, header, sizeof header, 0) != sizeof header ||
        memcmp(header, w->header, sizeof header) != 0) {
        close(fd);
        errno = ESTALE;
        return false;
    }
    w->fd = ti_fds_high(fd);
    return true;
}

/* Cut the file to its complete chunks.  A failure here cannot be handled. */
static void cut(struct ti_writer *w)
{
    if (is_own(w, w->fd) && ftruncate(w->fd, (off_t)w->file_bytes) != 0)
        return;
}

static void fail(struct ti_writer *w, const char *what)
{
    if (w->failed)
        return;
    w->failed = ti_err_errno(&w->err, TI_ERR_IO, "cannot %s the trace of rank %u", what, w->rank);
    cut(w);
}

bool ti__refuse(struct ti_writer *w)
{
    int saved = errno;

    if (!w->failed) {
        w->failed = ti_err_set(&w->err, TI_ERR_IO,
                               "an event of rank %u was being written when a signal handler "
                               "called MPI, or jumped out of an MPI call",
                               w->rank);
        cut(w);
    }
    errno = saved;
    return true;
}

/* Whether RLIMIT_FSIZE allows a file of `bytes`.  Writing beyond the limit raises SIGXFSZ, which
 * ends an application that does not expect it. */
static bool may_grow_to(uint64_t bytes)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
           bytes <= most.rlim_cur;
}

void ti__put_at(struct ti_writer *w, uint64_t at, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    int saved = errno;

    if (!w->failed && w->pid != getpid())
        w->failed = ti_err_set(&w->err, TI_ERR_IO,
                               "the trace of rank %u is that of another process", w->rank);
    if (bytes && !w->failed && !may_grow_to(at + bytes)) {
        errno = EFBIG;
        fail(w, "write");
    }
    if (bytes && !w->failed && !is_own(w, w->fd) && !open_again(w))
        w->failed = ti_err_errno(&w->err, TI_ERR_IO,
                                 "the application closed our descriptor of rank %u's trace, and "
                                 "its file '%s' cannot be opened again",
                                 w->rank, w->path);
    while (bytes && !w->failed) {
        ssize_t n = pwrite(w->fd, p, bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0) {
            fail(w, "write");
            break;
        }
        p += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    errno = saved;
}

ti_status ti__out_create(struct ti_writer *w, struct ti_err *err)
{
    struct stat file;

    w->fd = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", w->path);
    if (fstat(w->fd, &file) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", w->path);
        close(w->fd);
        return TI_ERR_IO;
    }
    w->fd = ti_fds_high(w->fd);
    w->dev = file.st_dev;
    w->ino = file.st_ino;
    w->pid = getpid();
    ti__put_at(w, 0, w->header, sizeof w->header);
    w->file_bytes = sizeof w->header;
    if (w->failed) {
        close(w->fd);
        unlink(w->path);
    }
    return ti_writer_error(w, err);
}

void ti__out_close(struct ti_writer *w)
{
    if (is_own(w, w->fd) && close(w->fd) != 0 && !w->failed)
        w->failed = ti_err_errno(&w->err, TI_ERR_IO, "cannot close the trace of rank %u", w->rank);
}

/* ---------------------------------------------------------------- chunks -- */

static voidpf arena_alloc(voidpf opaque, uInt items, uInt size)
{
    struct ti_writer *w = opaque;
    size_t bytes = ((size_t)items * size + 15) & ~(size_t)15;
    void *p = w->arena + w->arena_used;

    if (bytes > DEFLATE_BYTES - w->arena_used)
        return Z_NULL;
    w->arena_used += (uint32_t)bytes;
    return p;
}

static void arena_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    (void)p;
}

bool ti__chunk_init_zlib(struct ti_writer *w)
{
    w->z.zalloc = arena_alloc;
    w->z.zfree = arena_free;
    w->z.opaque = w;
    return deflateInit2(&w->z, DEFLATE_LEVEL, Z_DEFLATED, -DEFLATE_WINDOW, DEFLATE_MEM,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

static void drain_out(struct ti_writer *w)
{
    w->stored_crc = ti_crc32c(w->stored_crc, w->out, w->out_fill);
    ti__put_at(w, w->at, w->out, w->out_fill);
    w->at += w->out_fill;
    w->out_fill = 0;
}

static void chunk_deflate(struct ti_writer *w, int flush)
{
    int rc;

    do {
        w->z.next_out = w->out + w->out_fill;
        w->z.avail_out = OUT_BYTES - w->out_fill;
        rc = deflate(&w->z, flush);
        w->out_fill = OUT_BYTES - w->z.avail_out;
        if (w->out_fill == OUT_BYTES)
            drain_out(w);
    } while (w->z.avail_in || (flush == Z_FINISH && rc == Z_OK));
}

void ti__chunk_begin(struct ti_writer *w, enum ti_chunk_type type, enum ti_codec codec)
{
    w->type = (uint8_t)type;
    w->codec = (uint8_t)codec;
    w->raw_bytes = 0;
    w->stored_crc = 0;
    w->out_fill = 0;
    w->at = w->file_bytes + TI_CHUNK_BYTES;
    if (codec != TI_CODEC_RAW)
        deflateReset(&w->z);
    if (codec == TI_CODEC_METADATA)
        deflateSetDictionary(&w->z, (const Bytef *)ti_metadata_dictionary,
                             TI_METADATA_DICTIONARY_BYTES);
}

void ti__chunk_put(struct ti_writer *w, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    w->raw_bytes += (uint32_t)bytes;
    if (w->codec != TI_CODEC_RAW) {
        w->z.next_in = (Bytef *)(uintptr_t)p;
        w->z.avail_in = (uInt)bytes;
        chunk_deflate(w, Z_NO_FLUSH);
        return;
    }
    while (bytes) {
        size_t n = OUT_BYTES - w->out_fill;

        if (n > bytes)
            n = bytes;
        memcpy(w->out + w->out_fill, p, n);
        w->out_fill += (uint32_t)n;
        p += n;
        bytes -= n;
        if (w->out_fill == OUT_BYTES)
            drain_out(w);
    }
}

void ti__chunk_put_varint(struct ti_writer *w, uint64_t v)
{
    uint8_t buf[TI_VARINT_MAX];

    ti__chunk_put(w, buf, (size_t)ti_put_varint(buf, v));
}

void ti__chunk_put_text(struct ti_writer *w, const char *text)
{
    size_t bytes = strlen(text);

    if (bytes > TI_STRING_MAX)
        bytes = TI_STRING_MAX;
    ti__chunk_put_varint(w, bytes);
    ti__chunk_put(w, text, bytes);
}

/* Writes the header last: until then the chunk does not exist for readers. */
void ti__chunk_end(struct ti_writer *w, uint64_t first, uint32_t events)
{
    uint8_t flags = w->type == TI_CHUNK_XTR ? TI_CHUNK_OPTIONAL : 0;
    uint8_t header[TI_CHUNK_BYTES] = {w->type, flags, TI_CHUNK_VERSION, w->codec};
    uint8_t crc[TI_CRC_BYTES];
    uint64_t stored;

    if (w->codec != TI_CODEC_RAW)
        chunk_deflate(w, Z_FINISH);
    drain_out(w);
    stored = w->at - w->file_bytes - TI_CHUNK_BYTES;
    ti_put_u32(header + 4, w->rank);
    ti_put_u64(header + 8, first);
    ti_put_u32(header + 16, events);
    ti_put_u32(header + 20, w->raw_bytes);
    ti_put_u32(header + 24, (uint32_t)stored);
    ti_put_u32(header + 28, ti_crc32c(0, header, 28));
    ti_put_u32(crc, w->stored_crc);
    ti__put_at(w, w->at, crc, sizeof crc);
    ti__put_at(w, w->file_bytes, header, sizeof header);
    if (w->failed)
        return;
    w->file_bytes = w->at + sizeof crc;
    w->all_crc = ti_crc32c(w->all_crc, header + 28, 4);
    w->all_crc = ti_crc32c(w->all_crc, crc, 4);
    w->nchunks++;
}
