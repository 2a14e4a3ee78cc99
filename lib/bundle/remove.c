/* --remove: the traces that are in a bundle are removed from the run directory. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/bundle.h"
#include "bundle/read_back.h"
#include "common/cli.h"
#include "common/crc32c.h"

#define BLOCK_BYTES (1024 * 1024) /* read at a time */

/* Computes both CRCs of `left` bytes from `at` on, and compares the one that is known. */
static ti_status compare_bytes(int fd, int64_t at, int64_t left, struct ti_run_rank *rank,
                               uint8_t *block, const char *path, struct ti_err *err)
{
    uLong crc = crc32(0, NULL, 0);
    ti_status st = TI_OK;

    rank->crc32c = 0;
    while (st == TI_OK && left > 0) {
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        if (ti_gather_stop) {
            st = ti_err_set(err, TI_ERR_IO, "interrupted");
            ti_err_hint(err, "the bundle is whole, and nothing was removed");
        } else {
            st = ti_pread_all(fd, block, n, at, path, err);
        }
        if (st == TI_OK) {
            crc = crc32_z(crc, block, n);
            rank->crc32c = ti_crc32c(rank->crc32c, block, n);
        }
        at += (int64_t)n;
        left -= (int64_t)n;
    }
    if (st == TI_OK && crc != rank->crc)
        st = ti_err_set(err, TI_ERR_IO, "'%s' does not hold what was in '%s'", path, rank->name);
    return st;
}

static ti_status compare_member(const struct ti_zip *z, int64_t member, int fd,
                                struct ti_run_rank *rank, uint8_t *block, const char *output,
                                struct ti_err *err)
{
    int64_t at;
    ti_status st = ti_zip_data(z, member, &at, err);

    return st == TI_OK
               ? compare_bytes(fd, at, ti_zip_member(z, member)->bytes, rank, block, output, err)
               : st;
}

static bool unchanged(const struct stat *was, const struct stat *is)
{
    return was->st_dev == is->st_dev && was->st_ino == is->st_ino && was->st_size == is->st_size &&
           was->st_mtim.tv_sec == is->st_mtim.tv_sec && was->st_mtim.tv_nsec == is->st_mtim.tv_nsec;
}

/* The record of the rank is in the bundle, so the CRC that nodes are asked for is that of the file
 * here, or of a rank that came merged, the one that its node told.  unlink_sources() keeps a file
 * that changed. */
static ti_status compare_file(const struct ti_run *run, struct ti_run_rank *rank, uint8_t *block,
                              struct ti_err *err)
{
    int fd = rank->from_node ? -1 : openat(run->fd, rank->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ti_status st = TI_OK;
    struct stat sb;

    if (!rank->from_node)
        rank->crc32c = 0;
    if (fd >= 0 && fstat(fd, &sb) == 0 && unchanged(&rank->file, &sb))
        st = compare_bytes(fd, 0, sb.st_size, rank, block, run->path, err);
    if (fd >= 0)
        close(fd);
    return st;
}

static ti_status unlink_sources(struct ti_run *run, int64_t *removed, struct ti_err *err)
{
    for (int64_t i = 0; i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];
        struct stat sb;

        if (rank->state != TI_RANK_OK || rank->from_node)
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
    st = ti_bundle_open_back(fd, output, run, &z, &member, err);
    for (int64_t i = 0; st == TI_OK && i < run->nranks; i++)
        if (ti_run_gathers(run, i))
            st = run->merged.groups
                     ? compare_file(run, &run->rank[i], block, err)
                     : compare_member(z, member[i], fd, &run->rank[i], block, output, err);
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
