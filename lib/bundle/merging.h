/*
 * Ranks that are being merged into one trace, as a member of a bundle, and what the manifest of
 * that bundle says.
 */
#ifndef TI_BUNDLE_MERGING_H
#define TI_BUNDLE_MERGING_H

#include "bundle/zip_writer.h"
#include "merged/merger.h"
#include "trace/caveats.h"

/* All zero: not begun. */
struct ti_merging {
    struct ti_merger *merger;
    uint32_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    char *scratch;
    struct ti_caveats caveats; /* of the ranks as they are merged */
    int64_t copies;            /* ranks that are stored as copies of their files */
};

/* Begin a merged trace of a run of `nranks` ranks.  Temporary files, without names, are in folder
 * `scratch`.  Release by ti_merging_end() in any case.  TI_ERR_IO. */
ti_status ti_merging_begin(struct ti_merging *m, uint32_t nranks,
                           const uint8_t run_id[TI_RUN_ID_BYTES], const char *scratch,
                           struct ti_err *err);

/* Add a record, which is copied.  Errors as of ti_merger_add(). */
ti_status ti_merging_add(struct ti_merging *m, const struct ti_record *record, struct ti_err *err);

/* CRC-32C of all that is in a record. */
uint32_t ti_merging_crc(const struct ti_record *record);

/* Write the merged trace as a member of `zip`, the file `name`.  The member has no time, so that it
 * depends only on the records.  *bytes is its size.  TI_ERR_IO with errno set. */
ti_status ti_merging_store(struct ti_merging *m, struct ti_zip_writer *zip, const char *name,
                           int64_t *bytes, struct ti_err *err);

/* Put the merged trace in the file `fd`, of `bytes` bytes, as a member of `zip`.  False with errno
 * set. */
bool ti_merging_put(struct ti_zip_writer *zip, int fd, int64_t bytes);

/* Turn the manifest of a bundle of these ranks, allocated text, into that of the merged trace,
 * which has no files of ranks: its index takes less than a list of them.  Returns false when memory
 * is short. */
bool ti_merging_manifest(const struct ti_merging *m, char **text, size_t *bytes);

/* Release everything; *m becomes all zero. */
void ti_merging_end(struct ti_merging *m);

#endif
