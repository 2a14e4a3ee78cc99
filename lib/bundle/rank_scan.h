/*
 * The scan of one rank's trace, from first to last byte: checksum, soundness, sums, metadata.
 * Needs only the trace, so several threads may scan different traces.
 */
#ifndef TI_BUNDLE_RANK_SCAN_H
#define TI_BUNDLE_RANK_SCAN_H

#include "bundle/run.h"

struct ti_rank_scan_op {
    uint32_t op;
    struct ti_op_count count;
};

struct ti_rank_scan {
    struct stat file; /* of a trace that came merged: only the size, of the file on its node */
    int32_t from_node; /* as in struct ti_node_rank; 0: it did not come merged, its file is here */
    /* by the contents alone: OK, CUT, DAMAGED or UNREADABLE */
    enum ti_rank_state state;
    char *problem; /* unless OK */
    bool header;   /* valid; then its fields: */
    int64_t rank, nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];

    /* valid for OK and CUT */
    uint32_t crc; /* of the whole file: as in zip; CRC-32C if from_node */
    enum ti_end end;
    /* as in trace/scan.h */
    uint64_t events, volume, hash, messages, negative, whole, outside, blocks, blocks_own;
    bool whole_known, outside_known;
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    struct ti_rank_scan_op *op;
    int nops;
    struct ti_call_count *untraced;
    int nuntraced;
    /* Metadata: (key, 0, value, 0)*.  `common` is nearly always equal in all ranks; if `shared`,
     * it belongs to the scanner. */
    struct ti_rank_scan_info {
        char *text;
        size_t bytes;
    } common, own;
    bool shared;
};

/*
 * Scans the file `name` in the open directory `dir`, whose path is `path`.  Returns NULL when
 * memory is short, and shortly after `*stop` or ti_gather_stop is set.  `stop` may be NULL.
 */
struct ti_rank_scan *ti_rank_scan_file(int dir, const char *path, const char *name,
                                       const volatile int *stop);

/* The same of a rank of `t`. */
struct ti_node_traces;
struct ti_rank_scan *ti_rank_scan_merged(struct ti_node_traces *t, int64_t rank,
                                         const volatile int *stop);
void ti_rank_scan_free(struct ti_rank_scan *r); /* NULL is fine */

/* Computes the CRC of zip over the first `bytes` bytes of a file, whatever its position; `name` is
 * for errors.  Ends early, with another CRC, once `*stop` or ti_gather_stop is set. */
ti_status ti_rank_scan_crc(int fd, const char *name, int64_t bytes, const volatile int *stop,
                           uint32_t *out, struct ti_err *err);

/* True if `sb` is of the file that was scanned, and it was not written to since. */
bool ti_rank_scan_is_current(const struct ti_rank_scan *r, const struct stat *sb);

/* A value of the metadata; NULL: none. */
const char *ti_rank_scan_info(const struct ti_rank_scan *r, const char *key);

/* Memory in use, in bytes. */
size_t ti_rank_scan_bytes(const struct ti_rank_scan *r);

#endif
