/*
 * Merger: writes records of many ranks into one merged trace.
 *
 * Records may come in any order.  The file depends only on the set of records, not on their order:
 * so a merged trace of merged traces, over any tree, is the file that all records at once give.
 *
 * Memory: patterns and the numbers that differ between ranks, and some 40 bytes for each different
 * blob.  The blobs themselves wait in a temporary file.
 */
#ifndef TI_MERGED_MERGER_H
#define TI_MERGED_MERGER_H

#include "common/err.h"
#include "fold/record.h"
#include "trace/trace.h"

struct ti_merger;

/* A new merger for a run of `nranks` ranks.  Its temporary file, which has no name, is in folder
 * `scratch`; NULL: that of TMPDIR, or /tmp.  *out is set on success: release it by
 * ti_merger_free().  TI_ERR_IO. */
ti_status ti_merger_new(uint32_t nranks, const uint8_t run_id[TI_RUN_ID_BYTES], const char *scratch,
                        struct ti_merger **out, struct ti_err *err);

/* Add a record, which is copied.  TI_ERR_INPUT if its rank is not below nranks, was added
 * before, or has more than layout.h allows; TI_ERR_IO if the temporary file cannot be written. */
ti_status ti_merger_add(struct ti_merger *m, const struct ti_record *record, struct ti_err *err);

/* Number of records so far, and of groups with equal patterns. */
uint64_t ti_merger_count(const struct ti_merger *m);
uint64_t ti_merger_groups(const struct ti_merger *m);

/* Write the merged trace to `fd`, from its present position on; messages call it `name`.  The
 * descriptor may be a pipe.  At least one record is needed.  TI_ERR_IO. */
ti_status ti_merger_write(struct ti_merger *m, int fd, const char *name, struct ti_err *err);

/* The same to the new file `path`. */
ti_status ti_merger_create(struct ti_merger *m, const char *path, struct ti_err *err);

void ti_merger_free(struct ti_merger *m); /* NULL is fine */

#endif
