#include "gather/fetch/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/folder.h"
#include "common/map.h"
#include "common/order.h"
#include "common/write.h"
#include "trace/rankname.h"

#define SUFFIX      ".part"
#define NAME_BYTES  (TI_RANK_NAME_BYTES + sizeof SUFFIX)
#define PIECE_BYTES (4 << 20) /* read at a time: connections wait meanwhile */

static const char *part_name(int64_t rank, char buf[NAME_BYTES])
{
    ti_rank_name(rank, buf);
    return strcat(buf, SUFFIX);
}

/* --- parts --------------------------------------------------------------- */

static void add(struct ti_parts *p, int64_t i, const struct ti_partial *part)
{
    p->part = ti_grow(p->part, &p->room, (size_t)p->n + 1, sizeof *p->part);
    memmove(&p->part[i + 1], &p->part[i], (size_t)(p->n - i) * sizeof *p->part);
    p->part[i] = *part;
    p->n++;
}

TI_ORDER_BY(by_rank, struct ti_partial, rank)

/* The rank of a file name that is exactly the one we give to its part; else -1. */
static int64_t rank_of_part(const char *name)
{
    size_t n = strlen(name), stem = n - strlen(SUFFIX);
    char file[TI_RANK_NAME_BYTES], canonical[NAME_BYTES];
    int64_t rank;

    if (n <= strlen(SUFFIX) || stem >= sizeof file || strcmp(name + stem, SUFFIX) != 0)
        return -1;
    memcpy(file, name, stem);
    file[stem] = '\0';
    rank = ti_rank_of_name(file);
    return rank >= 0 && strcmp(part_name(rank, canonical), name) == 0 ? rank : -1;
}

void ti_parts_find(struct ti_parts *p, int dir)
{
    DIR *d = ti_names_in(dir);
    const struct dirent *e;

    *p = (struct ti_parts){.dir = dir, .fd = -1};
    while (d && (e = readdir(d)) != NULL) {
        struct ti_partial part = {.rank = rank_of_part(e->d_name), .before = true};

        if (part.rank >= 0)
            add(p, p->n, &part);
    }
    if (d)
        closedir(d);
    if (p->n)
        qsort(p->part, (size_t)p->n, sizeof *p->part, by_rank);
}

void ti_parts_free(struct ti_parts *p)
{
    if (p->fd >= 0)
        close(p->fd);
    free(p->part);
    *p = (struct ti_parts){.fd = -1};
}

static bool open_next(struct ti_parts *p)
{
    char name[NAME_BYTES];
    struct stat sb;

    p->fd = openat(p->dir, part_name(p->part[p->reading].rank, name),
                   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (p->fd >= 0 && (fstat(p->fd, &sb) < 0 || !S_ISREG(sb.st_mode))) {
        close(p->fd);
        p->fd = -1;
    }
    return p->fd >= 0;
}

bool ti_parts_read(struct ti_parts *p)
{
    static char buf[256 * 1024];
    struct ti_partial *part;
    int64_t left = PIECE_BYTES;

    while (p->reading < p->n && left > 0) {
        ssize_t n = p->fd >= 0 || open_next(p) ? read(p->fd, buf, sizeof buf) : -1;

        part = &p->part[p->reading];
        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            part->crc = ti_crc32c(part->crc, buf, (size_t)n);
            part->bytes += n;
            left -= n;
            continue;
        }
        if (n < 0)
            part->bytes = 0;
        if (p->fd >= 0)
            close(p->fd);
        p->fd = -1;
        p->reading++;
    }
    return p->reading < p->n;
}

/* Index of the rank's part, or where to insert it. */
static int64_t place(const struct ti_parts *p, int64_t rank)
{
    int64_t i;

    TI_FIRST(i, 0, p->n, p->part[i].rank < rank);
    return i;
}

const struct ti_partial *ti_parts_of(const struct ti_parts *p, int64_t rank)
{
    int64_t i = place(p, rank);

    return i < p->reading && p->part[i].rank == rank && p->part[i].bytes ? &p->part[i] : NULL;
}

void ti_parts_keep(struct ti_parts *p, const struct ti_partial *part)
{
    int64_t i = place(p, part->rank);

    if (i < p->n && p->part[i].rank == part->rank) {
        p->part[i] = *part;
    } else if (part->bytes) {
        add(p, i, part);
        p->reading += i <= p->reading;
    }
}

bool ti_parts_remove(const struct ti_parts *p, int64_t rank)
{
    char name[NAME_BYTES];
    struct stat sb;

    return fstatat(p->dir, part_name(rank, name), &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(sb.st_mode) && unlinkat(p->dir, name, 0) == 0;
}

/* --- one file ------------------------------------------------------------ */

bool ti_receive_begin(struct ti_receive *r, int dir, int64_t rank, const struct ti_partial *part,
                      int64_t size)
{
    char name[NAME_BYTES];
    int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

    part_name(rank, name);
    *r = (struct ti_receive){.rank = rank, .size = size};
    if (part) {
        r->at = part->bytes;
        r->crc = part->crc;
        r->fd = openat(dir, name, flags);
        if (r->fd >= 0 && lseek(r->fd, r->at, SEEK_SET) == r->at && ftruncate(r->fd, r->at) == 0)
            return true;
        ti_receive_drop(r, dir);
        return false;
    }
    unlinkat(dir, name, 0);
    r->fd = openat(dir, name, flags | O_CREAT | O_EXCL, 0666);
    return r->fd >= 0;
}

bool ti_receive_begin_at(struct ti_receive *r, int fd, int64_t start, int64_t rank, int64_t size)
{
    char path[32];

    *r = (struct ti_receive){.rank = rank, .start = start, .size = size};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* with a position of its own */
    r->fd = open(path, O_WRONLY | O_CLOEXEC);
    return r->fd >= 0 && lseek(r->fd, start, SEEK_SET) == start;
}

bool ti_receive_data(struct ti_receive *r, const void *data, size_t bytes)
{
    if (!ti_write_all(r->fd, data, bytes))
        return false;
    r->crc = ti_crc32c(r->crc, data, bytes);
    r->at += (int64_t)bytes;
    return true;
}

bool ti_receive_done(struct ti_receive *r, int dir)
{
    char part[NAME_BYTES], name[TI_RANK_NAME_BYTES];
    int closed = close(r->fd);

    r->fd = -1;
    return closed == 0 &&
           renameat(dir, part_name(r->rank, part), dir, ti_rank_name(r->rank, name)) == 0;
}

void ti_receive_keep(struct ti_receive *r, struct ti_partial *part)
{
    *part = (struct ti_partial){.rank = r->rank, .bytes = r->at, .crc = r->crc};
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

void ti_receive_drop(struct ti_receive *r, int dir)
{
    char name[NAME_BYTES];

    if (r->fd < 0)
        return;
    close(r->fd);
    r->fd = -1;
    unlinkat(dir, part_name(r->rank, name), 0);
}
