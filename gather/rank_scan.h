/*
 * One reading of a rank's file, from its first byte to its last: what it told.  Needs nothing
 * but the file, so that many can be read at a time, by as many threads.
 */
#ifndef TI_RANK_SCAN_H
#define TI_RANK_SCAN_H

#include "gather/run.h"

struct ti_rank_scan_op {
    uint32_t op;
    struct ti_op_count count;
};

struct ti_rank_scan {
    struct stat file;
    /* of the contents alone: OK, CUT, DAMAGED or UNREADABLE */
    enum ti_rank_state state;
    char *problem; /* unless OK */
    bool header;   /* it has one, which says: */
    int64_t rank, nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];

    /* of OK and CUT */
    uint32_t crc32; /* of the whole file, as in zip */
    enum ti_end end;
    /* as in formats/scan.h */
    uint64_t events, volume, hash, messages, negative, whole, outside, blocks, blocks_own;
    bool whole_known, outside_known;
    struct ti_calibration calibration;
    struct ti_caveats caveats;
    struct ti_rank_scan_op *op;
    int nops;
    struct ti_call_count *untraced;
    int nuntraced;
    /* Metadata: (key, 0, value, 0)*.  `common` is mostly alike in all ranks, and may be shared:
     * then it is not ours to free. */
    struct ti_rank_scan_info {
        char *text;
        size_t bytes;
    } common, own;
    bool shared;
};

/*
 * Read the file `name` in the open directory `dir`, which is called `path`.  NULL without
 * memory, and, soon, once `*stop` or ti_gather_stop is set (`stop` may be NULL).
 */
struct ti_rank_scan *ti_rank_scan_file(int dir, const char *path, const char *name,
                                       const volatile int *stop);
void ti_rank_scan_free(struct ti_rank_scan *r); /* NULL is fine */

/* Whether `sb` is the file as it was read: none other, and not written to since. */
bool ti_rank_scan_is_current(const struct ti_rank_scan *r, const struct stat *sb);

/* A value of the metadata that a manifest needs; NULL: none. */
const char *ti_rank_scan_info(const struct ti_rank_scan *r, const char *key);

/* What it takes in memory. */
size_t ti_rank_scan_bytes(const struct ti_rank_scan *r);

#endif
