/*
 * Reader of a merged trace: gives the record of any rank, and reads only what that rank needs.
 *
 * The reader trusts nothing in the file: lengths and counts are limited, every section has a
 * checksum, and an error names file, byte and cause.  A merged trace is written in one go, when all
 * traces are there; one that was cut off has no index, and is refused as such.
 *
 * Memory: the index (a few bytes for each group of ranks), and the sections read last.
 */
#ifndef TI_MERGED_MERGED_H
#define TI_MERGED_MERGED_H

#include <stdbool.h>

#include "common/err.h"
#include "fold/record.h"
#include "trace/trace.h"

struct ti_merged;

/* Open `bytes` bytes from `offset` of `fd`, which the caller keeps and closes later; messages call
 * it `name`.  TI_ERR_IO, or TI_ERR_INPUT if it is no merged trace, damaged or cut off. */
ti_status ti_merged_open(int fd, int64_t offset, int64_t bytes, const char *name,
                         struct ti_merged **out, struct ti_err *err);
void ti_merged_close(struct ti_merged *m); /* NULL is fine */

/* Whether the bytes at the start of a file, at least TI_HEADER_BYTES, are those of a merged trace,
 * not of one rank's. */
bool ti_merged_is(const uint8_t header[TI_HEADER_BYTES]);

uint32_t ti_merged_nranks(const struct ti_merged *m); /* of the run, also if some are missing */
const uint8_t *ti_merged_run_id(const struct ti_merged *m);

/* Ranks in it: their number, and whether a rank is there. */
int64_t ti_merged_count(const struct ti_merged *m);
bool ti_merged_has(const struct ti_merged *m, int64_t rank);

/* The record of a rank: *out is filled, release it by ti_record_free().  It stays valid after
 * ti_merged_close().  TI_ERR_INPUT "rank 7 is missing", or damage; TI_ERR_IO. */
ti_status ti_merged_record(struct ti_merged *m, int64_t rank, struct ti_record *out,
                           struct ti_err *err);

/* Read everything, and check all checksums and records.  TI_ERR_INPUT, TI_ERR_IO. */
ti_status ti_merged_verify(struct ti_merged *m, struct ti_err *err);

#endif
