/*
 * Writer of zip archives: members stored, zip64 where needed.  What a member holds, how much it
 * is and its CRC are known before, so that nothing is written twice; the directory is in the
 * order that is wanted, whatever that of the members.
 *
 * Memory: one block, and some 100 bytes a member.
 */
#ifndef TI_ZIP_WRITE_H
#define TI_ZIP_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/err.h"

#define TI_ZIP_BLOCK_BYTES (1024 * 1024)

struct ti_zip_writer;

/* Into the open file `fd`, from its beginning.  NULL without memory. */
struct ti_zip_writer *ti_zip_writer_new(int fd);
void ti_zip_writer_free(struct ti_zip_writer *z); /* NULL is fine */

/*
 * A member: its header, then room for its data, again and again: where up to *bytes, at least 1
 * and at most TI_ZIP_BLOCK_BYTES, may be put before it is told how many were.  `key` orders the
 * directory, ascending.  After a failure, false or NULL with errno set, take the member back.
 */
int ti_zip_member_begin(struct ti_zip_writer *z, const char *name, int64_t key, int64_t bytes,
                        uint32_t crc32, time_t mtime);
void *ti_zip_room(struct ti_zip_writer *z, size_t *bytes);
void ti_zip_put(struct ti_zip_writer *z, size_t bytes);

/* As if the last member had never been begun. */
void ti_zip_member_undo(struct ti_zip_writer *z);

/* Write what is in the block; begin to bring what was written to the disk, and do not wait. */
int ti_zip_flush(struct ti_zip_writer *z);

/* The directory, and what follows it. */
int ti_zip_finish(struct ti_zip_writer *z);

/* What the archive has by now. */
int64_t ti_zip_written(const struct ti_zip_writer *z);

#endif
