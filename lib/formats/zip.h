/*
 * Reader of zip archives as Tiara writes them: members stored, zip64 where
 * needed.  Works from the central directory, so that one member of many
 * thousands is reached with a few reads.
 *
 * Everything in the archive is distrusted: offsets and lengths are checked
 * against the file, and a member's own header against the central directory
 * before its data are touched.
 */
#ifndef TI_ZIP_H
#define TI_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ti_zip_member {
    const char *name; /* lives as long as the ti_zip */
    int64_t header;   /* offset of the member's own header */
    int64_t bytes;    /* stored, which is also its size */
    uint32_t crc32;
};

struct ti_zip;

/*
 * Read the central directory of the open file `fd`, which stays the caller's
 * and must outlive *out; `name` is used in messages.  Returns TI_OK, TI_ERR_IO,
 * or TI_ERR_INPUT for what is no zip archive, is cut off or damaged, or holds
 * compressed or encrypted members.
 */
ti_status ti_zip_open(int fd, const char *name, struct ti_zip **out, struct ti_err *err);
void ti_zip_close(struct ti_zip *z); /* NULL is fine */

/* Members in the order of the central directory. */
int64_t ti_zip_count(const struct ti_zip *z);
const struct ti_zip_member *ti_zip_member(const struct ti_zip *z, int64_t i);

/* Offset of the data of member `i`, after checking its own header. */
ti_status ti_zip_data(const struct ti_zip *z, int64_t i, int64_t *offset, struct ti_err *err);

/* All of member `i`, its CRC checked, with a 0 behind it; free() it.  Refused
 * above `max` bytes. */
ti_status ti_zip_load(const struct ti_zip *z, int64_t i, int64_t max, char **out,
                      struct ti_err *err);

/* Read exactly `bytes` at `offset`; TI_ERR_INPUT if the file ends before.
 * `name` is used in messages. */
ti_status ti_pread_all(int fd, void *buf, size_t bytes, int64_t offset, const char *name,
                       struct ti_err *err);

#endif
