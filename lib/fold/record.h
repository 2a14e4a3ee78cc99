/*
 * A record: one rank's trace in three parts, so that equal and similar ranks are stored together.
 *
 *   pattern  bytes that say what the rank did, without what differs from rank to rank
 *   numbers  integers that may differ: the pattern says how many there are, and what they mean
 *   blobs    byte strings that may differ: texts, lists, columns of volumes
 *
 * Two ranks that run the same program in the same way have equal patterns.  record_layout.h
 * describes the three; parts.h says what each number and each blob of a record means.
 */
#ifndef TI_FOLD_RECORD_H
#define TI_FOLD_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct ti_bytes {
    const uint8_t *data; /* may be NULL if n is 0 */
    size_t n;
};

struct ti_record {
    uint32_t rank; /* in MPI_COMM_WORLD */
    struct ti_bytes pattern;
    const int64_t *number;
    size_t nnumbers;
    const struct ti_bytes *blob;
    size_t nblobs;
    void *memory; /* of all the above, if ti_record_free() is to release it; else NULL */
};

/* Change number `k` of a record with memory of its own.  The hash in the totals does not follow
 * (ti_record_rehash() in merged/builder.h). */
void ti_record_set(struct ti_record *record, size_t k, int64_t value);

/* A hash of all of a folded record with totals but its first number.  That number is the hash of all
 * events; or this one, where the events are too many to be read for it. */
uint64_t ti_record_hash(const struct ti_record *r);

/* Free record->memory, which may be NULL; *record is empty then. */
void ti_record_free(struct ti_record *record);

#endif
