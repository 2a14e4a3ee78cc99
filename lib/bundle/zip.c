#include "bundle/zip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "common/order.h"
#include "event/columns.h"
#include "trace/rankname.h"

/* Records of the format (PKWARE's APPNOTE.TXT, 4.3): signatures and sizes. */
#define LOCAL_SIG     UINT32_C(0x04034b50)
#define LOCAL_BYTES   30
#define CENTRAL_SIG   UINT32_C(0x02014b50)
#define CENTRAL_BYTES 46
#define END_SIG       UINT32_C(0x06054b50)
#define END_BYTES     22
#define END64_SIG     UINT32_C(0x06064b50)
#define END64_BYTES   56
#define LOCATOR_SIG   UINT32_C(0x07064b50)
#define LOCATOR_BYTES 20
#define EXTRA_ZIP64   1
#define COMMENT_MAX   65535

#define FLAG_ENCRYPTED    1u
#define FLAG_SIZES_BEHIND 8u /* a data descriptor with CRC and sizes follows the data */
#define FLAG_STRONG       0x40u
#define FLAG_MASKED       0x2000u
#define METHOD_STORED     0
#define METHOD_DEFLATED   8

#define NAME_MAX_BYTES 255
#define BLOCK          (1 << 30) /* that zlib is given at a time: it counts with 32 bits */

struct ti_zip {
    int fd;
    char *file; /* its name, for messages */
    int64_t bytes;
    int64_t directory; /* offset of the central directory, where the data end */
    int64_t comment;   /* offset of the comment, which goes on to the end of the file */
    int64_t count;
    struct ti_zip_member *member;
    char *names;
};

ti_status ti_pread_all(int fd, void *buf, size_t bytes, int64_t offset, const char *name,
                       struct ti_err *err)
{
    uint8_t *p = buf;

    while (bytes) {
        ssize_t n = pread(fd, p, bytes, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
        if (n == 0)
            return ti_err_set(err, TI_ERR_INPUT, "'%s' ends at byte %lld, where more was promised",
                              name, (long long)offset);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TI_OK;
}

static ti_status damaged(const struct ti_zip *z, struct ti_err *err, const char *what)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: %s", z->file, what);
}

/* Look for the end record in the last `tail` bytes, which only a comment may follow; *at is -1 if
 * it is not there. */
static ti_status look_for_end(const struct ti_zip *z, int64_t tail, uint8_t end[END_BYTES],
                              int64_t *at, struct ti_err *err)
{
    uint8_t *buf;
    ti_status st;

    *at = -1;
    if (tail > z->bytes)
        tail = z->bytes;
    buf = malloc((size_t)tail + 1);
    if (!buf)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file);
    st = ti_pread_all(z->fd, buf, (size_t)tail, z->bytes - tail, z->file, err);
    for (int64_t i = tail - END_BYTES; st == TI_OK && i >= 0 && *at < 0; i--) {
        if (ti_get_u32(buf + i) == END_SIG && ti_get_u16(buf + i + 20) == tail - i - END_BYTES) {
            memcpy(end, buf + i, END_BYTES);
            *at = z->bytes - tail + i;
        }
    }
    free(buf);
    return st;
}

static ti_status find_end(const struct ti_zip *z, uint8_t end[END_BYTES], int64_t *at,
                          struct ti_err *err)
{
    /* usually there is a seal, or no comment */
    ti_status st = look_for_end(z, END_BYTES + (int64_t)TI_ZIP_SEAL_BYTES, end, at, err);

    if (st == TI_OK && *at < 0)
        st = look_for_end(z, END_BYTES + COMMENT_MAX, end, at, err);
    if (st != TI_OK || *at >= 0)
        return st;
    st = ti_err_set(err, TI_ERR_INPUT,
                    "'%s' has no central directory: it was cut off, or is no zip archive", z->file);
    ti_err_hint(err, "copy it again, or gather again from the run directory");
    return st;
}

/* Parse number of entries, offset and size of the central directory from the end records. */
static ti_status find_directory(struct ti_zip *z, int64_t *directory_bytes, struct ti_err *err)
{
    uint8_t end[END_BYTES], end64[END64_BYTES], locator[LOCATOR_BYTES];
    uint64_t count, count_here, bytes, offset, disks;
    int64_t at = 0;
    ti_status st = find_end(z, end, &at, err);

    if (st != TI_OK)
        return st;
    z->comment = at + END_BYTES;
    disks = ti_get_u16(end + 4) | ti_get_u16(end + 6);
    count_here = ti_get_u16(end + 8);
    count = ti_get_u16(end + 10);
    bytes = ti_get_u32(end + 12);
    offset = ti_get_u32(end + 16);
    /* A zip64 end record follows if a number does not fit; some writers always add one. */
    if (count == 0xffff || count_here == 0xffff || bytes == 0xffffffff || offset == 0xffffffff ||
        offset + bytes != (uint64_t)at) {
        uint64_t at64;

        if (at < LOCATOR_BYTES + END64_BYTES)
            return damaged(z, err, "no room for its zip64 end record");
        st = ti_pread_all(z->fd, locator, sizeof locator, at - LOCATOR_BYTES, z->file, err);
        if (st != TI_OK)
            return st;
        if (ti_get_u32(locator) != LOCATOR_SIG)
            return damaged(z, err, "its zip64 locator is missing");
        at64 = ti_get_u64(locator + 8);
        if (at64 > (uint64_t)(at - LOCATOR_BYTES - END64_BYTES))
            return damaged(z, err, "its zip64 locator points outside");
        st = ti_pread_all(z->fd, end64, sizeof end64, (int64_t)at64, z->file, err);
        if (st != TI_OK)
            return st;
        if (ti_get_u32(end64) != END64_SIG)
            return damaged(z, err, "its zip64 end record is missing");
        at = (int64_t)at64;
        disks = ti_get_u32(end64 + 16) | ti_get_u32(end64 + 20) | ti_get_u32(locator + 4);
        count_here = ti_get_u64(end64 + 24);
        count = ti_get_u64(end64 + 32);
        bytes = ti_get_u64(end64 + 40);
        offset = ti_get_u64(end64 + 48);
    }
    if (disks || count != count_here)
        return damaged(z, err, "it claims to be one part of several");
    if (offset > (uint64_t)at || bytes != (uint64_t)at - offset)
        return damaged(z, err, "its central directory is not where its end record says");
    if (count > bytes / CENTRAL_BYTES)
        return damaged(z, err, "its central directory is too small for its members");
    z->directory = (int64_t)offset;
    z->count = (int64_t)count;
    *directory_bytes = (int64_t)bytes;
    return TI_OK;
}

/* Sizes and offset above 4 GiB are in the zip64 extra field: in this order, and only those that do
 * not fit into the entry. */
static bool parse_zip64(const uint8_t *extra, uint32_t extra_bytes, uint64_t *size,
                        uint64_t *stored, uint64_t *header)
{
    bool wanted = *size == 0xffffffff || *stored == 0xffffffff || *header == 0xffffffff;

    while (extra_bytes >= 4) {
        uint32_t id = ti_get_u16(extra), n = ti_get_u16(extra + 2);

        extra += 4;
        extra_bytes -= 4;
        if (n > extra_bytes)
            return false;
        if (id == EXTRA_ZIP64 && wanted) {
            uint64_t *const field[] = {size, stored, header};

            for (int i = 0; i < 3; i++) {
                if (*field[i] != 0xffffffff)
                    continue;
                if (n < 8)
                    return false;
                *field[i] = ti_get_u64(extra);
                extra += 8;
                n -= 8;
                extra_bytes -= 8;
            }
            wanted = false;
        }
        extra += n;
        extra_bytes -= n;
    }
    return !wanted;
}

static bool plain_name(const uint8_t *name, uint32_t bytes)
{
    if (bytes < 1 || bytes > NAME_MAX_BYTES)
        return false;
    for (uint32_t i = 0; i < bytes; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return true;
}

/* Read one entry of the central directory, of which `left` bytes are left; *used is its size. */
static ti_status parse_entry(struct ti_zip *z, struct ti_zip_member *m, const uint8_t *p,
                             int64_t left, char *name, int64_t *used, struct ti_err *err)
{
    uint32_t flags, method, name_bytes, extra_bytes, comment_bytes;
    uint64_t size, stored, header;

    if (left < CENTRAL_BYTES || ti_get_u32(p) != CENTRAL_SIG)
        return damaged(z, err, "its central directory is broken");
    flags = ti_get_u16(p + 8);
    method = ti_get_u16(p + 10);
    m->crc32 = ti_get_u32(p + 16);
    stored = ti_get_u32(p + 20);
    size = ti_get_u32(p + 24);
    name_bytes = ti_get_u16(p + 28);
    extra_bytes = ti_get_u16(p + 30);
    comment_bytes = ti_get_u16(p + 32);
    header = ti_get_u32(p + 42);
    *used = CENTRAL_BYTES + (int64_t)name_bytes + extra_bytes + comment_bytes;
    if (*used > left)
        return damaged(z, err, "its central directory is broken");
    p += CENTRAL_BYTES;
    if (!plain_name(p, name_bytes))
        return damaged(z, err, "a member has an impossible name");
    memcpy(name, p, name_bytes);
    name[name_bytes] = '\0';
    if (!parse_zip64(p + name_bytes, extra_bytes, &size, &stored, &header))
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is damaged: member '%s' has a broken extra field", z->file, name);
    if (flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED))
        return ti_err_set(err, TI_ERR_INPUT, "'%s': member '%s' is encrypted", z->file, name);
    m->deflated = method == METHOD_DEFLATED && strcmp(name, TI_MANIFEST_NAME) == 0;
    if (method != METHOD_STORED && !m->deflated) {
        ti_err_set(err, TI_ERR_INPUT, "'%s': member '%s' is compressed", z->file, name);
        ti_err_hint(err, "the traces of a bundle are stored; unpack it and gather the directory "
                         "again");
        return TI_ERR_INPUT;
    }
    if ((stored != size && !m->deflated) || size > INT64_MAX || header > (uint64_t)z->directory ||
        stored > (uint64_t)z->directory - header ||
        LOCAL_BYTES + name_bytes > (uint64_t)z->directory - header - stored)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: member '%s' does not lie in it",
                          z->file, name);
    m->name = name;
    m->header = (int64_t)header;
    m->bytes = (int64_t)size;
    m->stored = (int64_t)stored;
    return TI_OK;
}

static ti_status read_directory(struct ti_zip *z, int64_t bytes, struct ti_err *err)
{
    uint8_t *directory = malloc((size_t)bytes + 1);
    int64_t at = 0, name_at = 0;
    ti_status st;

    /* names with their NULs take less room than the entries that contain them */
    z->names = malloc((size_t)bytes + 1);
    z->member = calloc((size_t)z->count + 1, sizeof *z->member);
    if (!directory || !z->names || !z->member) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read the directory of '%s'", z->file);
        goto out;
    }
    st = ti_pread_all(z->fd, directory, (size_t)bytes, z->directory, z->file, err);
    for (int64_t i = 0; st == TI_OK && i < z->count; i++) {
        int64_t used = 0;

        st = parse_entry(z, &z->member[i], directory + at, bytes - at, z->names + name_at, &used,
                         err);
        if (st != TI_OK)
            break;
        name_at += (int64_t)strlen(z->member[i].name) + 1;
        at += used;
    }
    if (st == TI_OK && at != bytes)
        st = damaged(z, err, "its central directory holds more than its members");
out:
    free(directory);
    return st;
}

ti_status ti_zip_open(int fd, const char *name, struct ti_zip **out, struct ti_err *err)
{
    struct ti_zip *z = calloc(1, sizeof *z);
    struct stat sb;
    int64_t directory_bytes = 0;
    ti_status st;

    if (z)
        z->file = strdup(name);
    if (!z || !z->file || fstat(fd, &sb) < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
        ti_zip_close(z);
        return st;
    }
    z->fd = fd;
    z->bytes = sb.st_size;
    st = find_directory(z, &directory_bytes, err);
    if (st == TI_OK)
        st = read_directory(z, directory_bytes, err);
    if (st != TI_OK) {
        ti_zip_close(z);
        return st;
    }
    *out = z;
    return TI_OK;
}

void ti_zip_close(struct ti_zip *z)
{
    if (!z)
        return;
    free(z->file);
    free(z->member);
    free(z->names);
    free(z);
}

int64_t ti_zip_count(const struct ti_zip *z)
{
    return z->count;
}

const struct ti_zip_member *ti_zip_member(const struct ti_zip *z, int64_t i)
{
    return &z->member[i];
}

/* Whether a size of a member's own header agrees with the central directory.  With a data
 * descriptor, it may be 0. */
static bool is_size(uint64_t own, int64_t listed, uint32_t flags)
{
    return own == (uint64_t)listed || ((flags & FLAG_SIZES_BEHIND) && own == 0);
}

ti_status ti_zip_data(const struct ti_zip *z, int64_t i, int64_t *offset, struct ti_err *err)
{
    const struct ti_zip_member *m = &z->member[i];
    size_t name_bytes = strlen(m->name);
    uint8_t p[LOCAL_BYTES + NAME_MAX_BYTES];
    uint32_t flags, crc, extra_bytes;
    uint64_t stored, size;
    ti_status st;

    st = ti_pread_all(z->fd, p, LOCAL_BYTES + name_bytes, m->header, z->file, err);
    if (st != TI_OK)
        return st;
    flags = ti_get_u16(p + 6);
    crc = ti_get_u32(p + 14);
    stored = ti_get_u32(p + 18);
    size = ti_get_u32(p + 22);
    extra_bytes = ti_get_u16(p + 28);
    if (ti_get_u32(p) != LOCAL_SIG ||
        ti_get_u16(p + 8) != (m->deflated ? METHOD_DEFLATED : METHOD_STORED) ||
        (flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED)) ||
        ti_get_u16(p + 26) != name_bytes || memcmp(p + LOCAL_BYTES, m->name, name_bytes) != 0)
        goto differs;
    if (size == 0xffffffff || stored == 0xffffffff) {
        uint8_t *extra = malloc(extra_bytes + 1);
        uint64_t header = 0;
        bool ok;

        if (!extra)
            return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file);
        st = ti_pread_all(z->fd, extra, extra_bytes, m->header + LOCAL_BYTES + (int64_t)name_bytes,
                          z->file, err);
        ok = st == TI_OK && parse_zip64(extra, extra_bytes, &size, &stored, &header);
        free(extra);
        if (!ok)
            goto differs;
    }
    /* With a data descriptor, the CRC here may be 0. */
    if (crc != m->crc32 && !((flags & FLAG_SIZES_BEHIND) && crc == 0))
        goto differs;
    if (!is_size(size, m->bytes, flags) || !is_size(stored, m->stored, flags))
        goto differs;
    *offset = m->header + LOCAL_BYTES + (int64_t)name_bytes + extra_bytes;
    if (m->stored > z->directory - *offset)
        goto differs;
    return TI_OK;
differs:
    return ti_err_set(err, TI_ERR_INPUT,
                      "'%s' is damaged: what precedes member '%s' does not agree with the central "
                      "directory",
                      z->file, m->name);
}

/* Inflate the `stored` bytes at `from` to exactly `bytes` bytes at `to`. */
static bool inflate_all(uint8_t *from, int64_t stored, uint8_t *to, int64_t bytes)
{
    z_stream s = {0};
    int rc = inflateInit2(&s, -MAX_WBITS);

    if (rc != Z_OK)
        return false;
    while (rc == Z_OK) {
        s.next_in = from;
        s.avail_in = (uInt)(stored < BLOCK ? stored : BLOCK);
        s.next_out = to;
        s.avail_out = (uInt)(bytes < BLOCK ? bytes : BLOCK);
        rc = inflate(&s, Z_NO_FLUSH);
        stored -= s.next_in - from;
        bytes -= s.next_out - to;
        from = s.next_in;
        to = s.next_out;
    }
    inflateEnd(&s);
    return rc == Z_STREAM_END && stored == 0 && bytes == 0;
}

/* Read the deflated member, whose data are at `offset`, to `to`. */
static ti_status load_deflated(const struct ti_zip *z, const struct ti_zip_member *m,
                               int64_t offset, char *to, struct ti_err *err)
{
    uint8_t *stored = malloc((size_t)m->stored + 1);
    ti_status st;

    if (!stored)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file);
    st = ti_pread_all(z->fd, stored, (size_t)m->stored, offset, z->file, err);
    errno = 0;
    if (st == TI_OK && !inflate_all(stored, m->stored, (uint8_t *)to, m->bytes))
        st = errno == ENOMEM
                 ? ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file)
                 : ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: '%s' cannot be decompressed",
                              z->file, m->name);
    free(stored);
    return st;
}

ti_status ti_zip_load(const struct ti_zip *z, int64_t i, int64_t max, char **out,
                      struct ti_err *err)
{
    const struct ti_zip_member *m = &z->member[i];
    int64_t offset;
    char *buf;
    ti_status st = ti_zip_data(z, i, &offset, err);

    if (st != TI_OK)
        return st;
    if (m->bytes > max || (m->deflated && !ti_zip_may_deflate(m->bytes, m->stored)))
        return ti_err_set(err, TI_ERR_INPUT, "'%s': member '%s' is too large to be true", z->file,
                          m->name);
    buf = malloc((size_t)m->bytes + 1);
    if (!buf)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file);
    st = m->deflated ? load_deflated(z, m, offset, buf, err)
                     : ti_pread_all(z->fd, buf, (size_t)m->bytes, offset, z->file, err);
    if (st == TI_OK &&
        crc32_z(crc32_z(0, NULL, 0), (const uint8_t *)buf, (size_t)m->bytes) != m->crc32)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: the CRC of '%s' is wrong", z->file,
                        m->name);
    if (st != TI_OK) {
        free(buf);
        return st;
    }
    buf[m->bytes] = '\0';
    *out = buf;
    return TI_OK;
}

/* ------------------------------------------------------------------- seal -- */

/* Where the contents of a stored member lie; empty for a deflated one. */
struct extent {
    int64_t begin, end;
};

TI_ORDER_BY_2(by_begin, struct extent, begin, end)

/* Add the bytes from `at` to `end` to *crc. */
static ti_status add_bytes(const struct ti_zip *z, int64_t at, int64_t end, uint32_t *crc,
                           struct ti_err *err)
{
    uint8_t block[4096];
    ti_status st = TI_OK;

    while (at < end && st == TI_OK) {
        size_t n = end - at < (int64_t)sizeof block ? (size_t)(end - at) : sizeof block;

        st = ti_pread_all(z->fd, block, n, at, z->file, err);
        if (st == TI_OK)
            *crc = ti_crc32c(*crc, block, n);
        at += (int64_t)n;
    }
    return st;
}

ti_status ti_zip_seal(const struct ti_zip *z, char seal[TI_ZIP_SEAL_BYTES + 1], struct ti_err *err)
{
    struct extent *of = malloc(((size_t)z->count + 1) * sizeof *of);
    ti_status st = TI_OK;
    uint32_t crc = 0;
    int64_t at = 0;

    if (!of)
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", z->file);
    for (int64_t i = 0; i < z->count && st == TI_OK; i++) {
        st = ti_zip_data(z, i, &of[i].begin, err);
        of[i].end = of[i].begin + (z->member[i].deflated ? 0 : z->member[i].stored);
    }
    if (st == TI_OK)
        qsort(of, (size_t)z->count, sizeof *of, by_begin);
    for (int64_t i = 0; i < z->count && st == TI_OK; i++) {
        st = of[i].begin < at ? damaged(z, err, "its members overlap")
                              : add_bytes(z, at, of[i].begin, &crc, err);
        at = of[i].end;
    }
    if (st == TI_OK)
        st = add_bytes(z, at, z->comment - 2, &crc, err);
    free(of);
    snprintf(seal, TI_ZIP_SEAL_BYTES + 1, TI_ZIP_SEAL_TEXT "%08" PRIx32, crc);
    return st;
}

ti_status ti_zip_verify(const struct ti_zip *z, struct ti_err *err)
{
    char is[TI_ZIP_SEAL_BYTES + 1], said[TI_ZIP_SEAL_BYTES];
    int64_t bytes = z->bytes - z->comment;
    ti_status st;

    if (bytes == 0)
        return TI_OK;
    if (bytes != sizeof said)
        return damaged(z, err, "its comment is not one that ti-gather writes");
    st = ti_pread_all(z->fd, said, sizeof said, z->comment, z->file, err);
    if (st == TI_OK)
        st = ti_zip_seal(z, is, err);
    if (st == TI_OK && memcmp(said, is, sizeof said) != 0)
        st = damaged(z, err, "its headers are not those for which its comment has the CRC");
    return st;
}
