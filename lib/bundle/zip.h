/*
 * Reader of zip archives as Tiara writes them: members are stored, with zip64 where needed; only
 * the manifest may be deflated.  The reader works from the central directory, so that one member of
 * many thousands is found with a few reads.
 *
 * Nothing in the archive is trusted.  Offsets and lengths are checked against the file.  A member's
 * own header is checked against the central directory before its data are read.
 */
#ifndef TI_BUNDLE_ZIP_H
#define TI_BUNDLE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ti_zip_member {
    const char *name; /* lives as long as the ti_zip */
    int64_t header;   /* offset of the member's own header */
    int64_t bytes;    /* of its contents */
    int64_t stored;   /* that it takes in the file */
    bool deflated;    /* else it is stored, and both sizes are equal */
    uint32_t crc32;   /* of its contents */
};

/* Whether a manifest of `bytes` bytes may be deflated into `stored` bytes.  What is small is not a
 * danger.  What is large may not grow so much that a small archive costs much memory. */
static inline bool ti_zip_may_deflate(int64_t bytes, int64_t stored)
{
    return bytes <= 1 << 20 || bytes / 16 <= stored;
}

struct ti_zip;

/*
 * Read the central directory of the open file `fd`, which messages call `name`.  The caller keeps
 * `fd` and closes it after *out.  TI_ERR_IO, or TI_ERR_INPUT if it is no zip archive, is cut off or
 * damaged, or holds encrypted members, or compressed ones beside the manifest.
 */
ti_status ti_zip_open(int fd, const char *name, struct ti_zip **out, struct ti_err *err);
void ti_zip_close(struct ti_zip *z); /* NULL is fine */

/* Members in the order of the central directory. */
int64_t ti_zip_count(const struct ti_zip *z);
const struct ti_zip_member *ti_zip_member(const struct ti_zip *z, int64_t i);

/* Offset of the data of member `i`, as they are in the file, after checking its own header. */
ti_status ti_zip_data(const struct ti_zip *z, int64_t i, int64_t *offset, struct ti_err *err);

/* Read all of member `i` and check its CRC.  *out is NUL-terminated; free() it.  TI_ERR_INPUT if it
 * is larger than `max` bytes. */
ti_status ti_zip_load(const struct ti_zip *z, int64_t i, int64_t max, char **out,
                      struct ti_err *err);

/*
 * The seal: the comment of the archive, which has a CRC-32C of all that is neither the contents of
 * a stored member nor the comment and its length.  Stored members have checksums of their own, so
 * that with a seal no bit of the archive can change unnoticed.  The checksum of a deflated member
 * is of what it inflates to, and misses some bits of the deflated data.
 */
#define TI_ZIP_SEAL_TEXT  "Tiara: CRC-32C of headers "
#define TI_ZIP_SEAL_BYTES (sizeof TI_ZIP_SEAL_TEXT - 1 + 8)

/* Compute the seal.  TI_ERR_IO, or TI_ERR_INPUT if members overlap. */
ti_status ti_zip_seal(const struct ti_zip *z, char seal[TI_ZIP_SEAL_BYTES + 1], struct ti_err *err);

/* Compare the seal with the archive.  TI_OK if it has no comment: older versions wrote none.
 * TI_ERR_INPUT if the archive changed since it was sealed, or has another comment. */
ti_status ti_zip_verify(const struct ti_zip *z, struct ti_err *err);

/* Read exactly `bytes` at `offset` of the file that messages call `name`.  TI_ERR_INPUT if the file
 * ends before. */
ti_status ti_pread_all(int fd, void *buf, size_t bytes, int64_t offset, const char *name,
                       struct ti_err *err);

#endif
