#include "formats/zip_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/columns.h"

/* Records of the format (PKWARE's APPNOTE.TXT, 4.3). */
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
#define EXTRA_TIME    0x5455 /* seconds since the epoch */
#define TIME_BYTES    9
#define VERSION       20
#define VERSION_64    45
#define UNIX          (3 << 8)
#define MODE          (UINT32_C(0100644) << 16)
#define FITS          UINT32_C(0xfffffffe)

#define NAME_BYTES 64
#define RECORD_MAX 256               /* any of the above */
#define SYNC_BYTES (8 * 1024 * 1024) /* brought to the disk at a time */

struct entry {
    char name[NAME_BYTES];
    int64_t key, at, bytes;
    uint32_t crc32;
    time_t mtime;
};

struct ti_zip_writer {
    int fd;
    struct entry *entry;
    int64_t n, room;
    int64_t at;     /* of the block in the file */
    int64_t synced; /* begun to be brought to the disk up to here */
    size_t fill;
    uint8_t block[TI_ZIP_BLOCK_BYTES];
};

struct ti_zip_writer *ti_zip_writer_new(int fd)
{
    struct ti_zip_writer *z = malloc(sizeof *z);

    if (z)
        memset(z, 0, offsetof(struct ti_zip_writer, block));
    if (z)
        z->fd = fd;
    return z;
}

void ti_zip_writer_free(struct ti_zip_writer *z)
{
    if (z)
        free(z->entry);
    free(z);
}

int64_t ti_zip_written(const struct ti_zip_writer *z)
{
    return z->at + (int64_t)z->fill;
}

static int write_block(struct ti_zip_writer *z)
{
    size_t done = 0;

    while (done < z->fill) {
        ssize_t n = pwrite(z->fd, z->block + done, z->fill - done, z->at + (int64_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    z->at += (int64_t)z->fill;
    z->fill = 0;
    return 0;
}

int ti_zip_flush(struct ti_zip_writer *z)
{
    if (write_block(z) < 0)
        return -1;
    if (z->at > z->synced) /* what cannot be hurried is waited for in the end */
        sync_file_range(z->fd, z->synced, z->at - z->synced, SYNC_FILE_RANGE_WRITE);
    z->synced = z->at;
    return 0;
}

void *ti_zip_room(struct ti_zip_writer *z, size_t *bytes)
{
    if (z->fill == sizeof z->block &&
        (z->at - z->synced >= SYNC_BYTES ? ti_zip_flush(z) : write_block(z)) < 0)
        return NULL;
    *bytes = sizeof z->block - z->fill;
    return z->block + z->fill;
}

void ti_zip_put(struct ti_zip_writer *z, size_t bytes)
{
    z->fill += bytes;
}

static int put(struct ti_zip_writer *z, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    while (bytes) {
        size_t room;
        void *to = ti_zip_room(z, &room);

        if (!to)
            return -1;
        room = room < bytes ? room : bytes;
        memcpy(to, p, room);
        ti_zip_put(z, room);
        p += room;
        bytes -= room;
    }
    return 0;
}

/* ---------------------------------------------------------------- records -- */

static uint8_t *u16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    return p + 2;
}

static uint8_t *u32(uint8_t *p, uint32_t v)
{
    ti_put_u32(p, v);
    return p + 4;
}

static uint8_t *u64(uint8_t *p, uint64_t v)
{
    return u32(u32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

static uint32_t or_more(int64_t v)
{
    return v > (int64_t)FITS ? UINT32_MAX : (uint32_t)v;
}

static bool large(int64_t v)
{
    return v > (int64_t)FITS;
}

/* Local time, in steps of two seconds, from 1980 on. */
static uint8_t *dos_time(uint8_t *p, time_t t)
{
    struct tm tm;

    if (!localtime_r(&t, &tm) || tm.tm_year < 80 || tm.tm_year > 207)
        return u16(u16(p, 0), 1 << 5 | 1);
    p = u16(p, (uint32_t)(tm.tm_hour << 11 | tm.tm_min << 5 | tm.tm_sec / 2));
    return u16(p, (uint32_t)((tm.tm_year - 80) << 9 | (tm.tm_mon + 1) << 5 | tm.tm_mday));
}

static uint8_t *time_extra(uint8_t *p, time_t t)
{
    p = u16(u16(p, EXTRA_TIME), TIME_BYTES - 4);
    *p++ = 1; /* of its contents */
    return u32(p, t < 0 || t > INT32_MAX ? 0 : (uint32_t)t);
}

/* What a local header and an entry of the directory have in common. */
static uint8_t *common(uint8_t *p, const struct entry *e, bool zip64, uint32_t extra_bytes)
{
    p = u16(p, zip64 ? VERSION_64 : VERSION);
    p = u16(u16(p, 0), 0); /* no flags, stored */
    p = dos_time(p, e->mtime);
    p = u32(p, e->crc32);
    p = u32(u32(p, or_more(e->bytes)), or_more(e->bytes));
    p = u16(p, (uint32_t)strlen(e->name));
    return u16(p, extra_bytes);
}

static int put_local(struct ti_zip_writer *z, const struct entry *e)
{
    uint8_t record[RECORD_MAX], *p = record;
    size_t name = strlen(e->name);
    bool zip64 = large(e->bytes);

    p = u32(p, LOCAL_SIG);
    p = common(p, e, zip64, TIME_BYTES + (zip64 ? 20 : 0));
    memcpy(p, e->name, name);
    p = time_extra(p + name, e->mtime);
    if (zip64)
        p = u64(u64(u16(u16(p, EXTRA_ZIP64), 16), (uint64_t)e->bytes), (uint64_t)e->bytes);
    return put(z, record, (size_t)(p - record));
}

static int put_central(struct ti_zip_writer *z, const struct entry *e)
{
    uint8_t record[RECORD_MAX], *p = record;
    size_t name = strlen(e->name);
    uint32_t more = (large(e->bytes) ? 16 : 0) + (large(e->at) ? 8 : 0);

    p = u16(u32(p, CENTRAL_SIG), UNIX | VERSION_64);
    p = common(p, e, more != 0, TIME_BYTES + (more ? 4 + more : 0));
    p = u16(u16(u16(p, 0), 0), 0); /* no comment, one volume, no text */
    p = u32(u32(p, MODE), or_more(e->at));
    memcpy(p, e->name, name);
    p = time_extra(p + name, e->mtime);
    if (more)
        p = u16(u16(p, EXTRA_ZIP64), more);
    if (large(e->bytes))
        p = u64(u64(p, (uint64_t)e->bytes), (uint64_t)e->bytes);
    if (large(e->at))
        p = u64(p, (uint64_t)e->at);
    return put(z, record, (size_t)(p - record));
}

static int put_end(struct ti_zip_writer *z, int64_t from, int64_t to)
{
    uint8_t record[RECORD_MAX], *p = record;
    uint64_t n = (uint64_t)z->n;
    uint32_t few = n > 0xfffe ? 0xffff : (uint32_t)n;

    if (few == 0xffff || large(from) || large(to - from)) {
        p = u64(u32(p, END64_SIG), END64_BYTES - 12);
        p = u16(u16(p, UNIX | VERSION_64), VERSION_64);
        p = u64(u64(u64(p, 0), n), n); /* the only volume */
        p = u64(u64(p, (uint64_t)(to - from)), (uint64_t)from);
        p = u32(u64(u32(u32(p, LOCATOR_SIG), 0), (uint64_t)to), 1);
    }
    p = u16(u16(u32(p, END_SIG), 0), 0);
    p = u16(u16(p, few), few);
    p = u16(u32(u32(p, or_more(to - from)), or_more(from)), 0);
    return put(z, record, (size_t)(p - record));
}

/* ---------------------------------------------------------------- members -- */

int ti_zip_member_begin(struct ti_zip_writer *z, const char *name, int64_t key, int64_t bytes,
                        uint32_t crc32, time_t mtime)
{
    struct entry *e;

    if (z->n == z->room) {
        int64_t room = z->room ? 2 * z->room : 64;
        struct entry *grown = realloc(z->entry, (size_t)room * sizeof *grown);

        if (grown) {
            z->entry = grown;
            z->room = room;
        }
    }
    if (z->n == z->room || strlen(name) >= NAME_BYTES) {
        errno = z->n == z->room ? ENOMEM : ENAMETOOLONG;
        return -1;
    }
    e = &z->entry[z->n++];
    *e = (struct entry){
        .key = key, .at = ti_zip_written(z), .bytes = bytes, .crc32 = crc32, .mtime = mtime};
    strcpy(e->name, name);
    return put_local(z, e);
}

void ti_zip_member_undo(struct ti_zip_writer *z)
{
    int64_t to;

    if (!z->n)
        return;
    to = z->entry[--z->n].at;
    if (to >= z->at) {
        z->fill = (size_t)(to - z->at);
        return;
    }
    z->at = to; /* what is there is written over, or cut off in the end */
    z->fill = 0;
    z->synced = z->synced < to ? z->synced : to;
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

int ti_zip_finish(struct ti_zip_writer *z)
{
    int64_t from = ti_zip_written(z), to;

    qsort(z->entry, (size_t)z->n, sizeof *z->entry, by_key);
    for (int64_t i = 0; i < z->n; i++)
        if (put_central(z, &z->entry[i]) < 0)
            return -1;
    to = ti_zip_written(z);
    if (put_end(z, from, to) < 0 || write_block(z) < 0)
        return -1;
    return ftruncate(z->fd, z->at);
}
