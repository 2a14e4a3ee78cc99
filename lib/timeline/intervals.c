/*
 * The file is a head and blocks.  A block has events of one rank, so that ranks can be read one by
 * one, although their events come in the order of the simulation.
 */
#include "timeline/intervals.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/map.h"

#define MAGIC    UINT64_C(0x73656d69742d6974)
#define BLOCK_OF 50 /* events */

struct head {
    uint64_t magic;
    int64_t np;
};

struct block {
    int64_t rank;
    uint64_t n;
    struct ti_event_times interval[BLOCK_OF]; /* in the file, those that are used */
};

/* ---- writing ---- */

struct ti_interval_writer {
    FILE *file;
    char *path;
    int64_t np;
    struct block *block; /* of each rank */
};

static void writer_free(struct ti_interval_writer *w)
{
    free(w->path);
    free(w->block);
    free(w);
}

ti_status ti_interval_writer_open(const char *path, int64_t np, struct ti_interval_writer **out,
                                  struct ti_err *err)
{
    struct ti_interval_writer *w = calloc(1, sizeof *w);
    struct head head = {MAGIC, np};

    if (!w)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    w->np = np;
    w->path = strdup(path);
    w->block = calloc((size_t)np, sizeof *w->block);
    w->file = w->path && w->block ? fopen(path, "we") : NULL;
    if (!w->file) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
        writer_free(w);
        return TI_ERR_IO;
    }
    fwrite(&head, sizeof head, 1, w->file);
    *out = w;
    return TI_OK;
}

static void flush(struct ti_interval_writer *w, int64_t rank)
{
    struct block *b = &w->block[rank];

    b->rank = rank;
    if (b->n)
        fwrite(b, offsetof(struct block, interval) + b->n * sizeof b->interval[0], 1, w->file);
    b->n = 0;
}

void ti_interval_add(struct ti_interval_writer *w, int64_t rank,
                     const struct ti_event_times *interval)
{
    struct block *b = &w->block[rank];

    b->interval[b->n++] = *interval;
    if (b->n == BLOCK_OF)
        flush(w, rank);
}

ti_status ti_interval_writer_close(struct ti_interval_writer *w, struct ti_err *err)
{
    ti_status st = TI_OK;
    bool bad;

    for (int64_t rank = 0; rank < w->np; rank++)
        flush(w, rank);
    bad = ferror(w->file) != 0;
    if (fclose(w->file) != 0 || bad)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", w->path);
    writer_free(w);
    return st;
}

/* ---- reading ---- */

struct ti_intervals {
    const uint8_t *bytes;
    size_t nbytes;
    int64_t np;
    uint64_t *first; /* blocks of rank r: from first[r] to first[r + 1] in `at` */
    uint64_t *at;    /* offsets */
};

/* The block at an offset, and the offset after it; NULL at the end, or if the file is cut off. */
static const struct block *block_at(const struct ti_intervals *f, uint64_t at, uint64_t *next)
{
    const struct block *b = (const void *)(f->bytes + at);
    const uint64_t head = offsetof(struct block, interval);

    if (f->nbytes - at < head || b->rank < 0 || b->rank >= f->np || b->n > BLOCK_OF ||
        (f->nbytes - at - head) / sizeof b->interval[0] < b->n)
        return NULL;
    *next = at + head + b->n * sizeof b->interval[0];
    return b;
}

/* List the blocks of each rank.  False: the file is not complete. */
static bool list_blocks(struct ti_intervals *f)
{
    const struct block *b;
    uint64_t at = sizeof(struct head), next = at, n = 0;
    size_t none = 0, room = 0;

    f->first = ti_grow(NULL, &none, (size_t)f->np + 2, sizeof *f->first);
    for (; (b = block_at(f, at, &next)); at = next, n++)
        f->first[b->rank + 2]++;
    if (at != f->nbytes)
        return false;
    for (int64_t rank = 0; rank < f->np; rank++)
        f->first[rank + 2] += f->first[rank + 1];
    /* now first[r + 1] is where the blocks of rank r begin, and goes on to where they end */
    f->at = ti_grow(NULL, &room, n + 1, sizeof *f->at);
    for (at = sizeof(struct head); (b = block_at(f, at, &next)); at = next)
        f->at[f->first[b->rank + 1]++] = at;
    return true;
}

ti_status ti_intervals_open(const char *path, struct ti_intervals **out, struct ti_err *err)
{
    struct ti_intervals *f = calloc(1, sizeof *f);
    int fd = f ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const struct head *head;
    struct stat is;
    void *bytes = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &is) == 0 && is.st_size >= (off_t)sizeof *head)
        bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED) {
        free(f);
        return TI_ERR_IO;
    }
    f->bytes = bytes;
    f->nbytes = (size_t)is.st_size;
    head = bytes;
    f->np = head->np;
    if (head->magic == MAGIC && f->np > 0 && f->np <= INT32_MAX && list_blocks(f)) {
        *out = f;
        return TI_OK;
    }
    ti_intervals_close(f);
    return ti_err_set(err, TI_ERR_IO, "'%s' has no complete times of a replay", path);
}

void ti_intervals_close(struct ti_intervals *f)
{
    if (!f)
        return;
    munmap((void *)(uintptr_t)f->bytes, f->nbytes);
    free(f->first);
    free(f->at);
    free(f);
}

bool ti_interval_next(const struct ti_intervals *f, int64_t rank, struct ti_interval_place *at,
                      struct ti_event_times *out)
{
    const struct block *b;

    if (rank >= f->np || f->first[rank] + at->block >= f->first[rank + 1])
        return false;
    b = (const void *)(f->bytes + f->at[f->first[rank] + at->block]);
    *out = b->interval[at->next++];
    if (at->next == b->n) {
        at->next = 0;
        at->block++;
    }
    return true;
}
