/*
 * Records (fold/record.h) and merged traces for unit tests.  Include it behind cmocka.h.
 */
#ifndef TI_TESTS_UNIT_RECORDS_H
#define TI_TESTS_UNIT_RECORDS_H

#include "merged/merged.h"
#include "merged/merger.h"

extern const uint8_t records_run_id[TI_RUN_ID_BYTES];
extern struct ti_err records_err;

#define OK(call) assert_string_equal((call) == TI_OK ? "" : records_err.text, "")

/* Random numbers, the same ones after the same seed. */
extern uint64_t records_seed;
uint64_t records_any(void);
uint32_t records_below(uint32_t n);

/* Bytes for blobs, which records_fill() makes random. */
enum { RECORDS_POOL = 1 << 20 };
extern uint8_t records_pool[RECORDS_POOL];
void records_fill(void);

/* A record with room for its parts, all of it zero.  Blobs are not copied. */
struct ti_record record_blank(uint32_t rank, size_t pattern, size_t numbers, size_t blobs);
void record_set_number(struct ti_record *r, size_t k, int64_t value);
void record_set_blob(struct ti_record *r, size_t k, const void *data, size_t n);

/* The record of rank 3 of a trace that has no end: `depth` loops in each other, with `trips` each,
 * around one call with a volume. */
struct ti_record record_nest(uint32_t depth, int64_t trips, int64_t volume);

void records_must_equal(const struct ti_record *a, const struct ti_record *b);

/* The bytes of a file, and an unnamed file with these bytes. */
struct ti_file {
    uint8_t *data;
    size_t n;
};
struct ti_file file_content(int fd);
int file_of(const uint8_t *data, size_t n);
size_t file_bytes(int fd);

/* A file that holds the records in the order order[0], order[1], ...; NULL: as they are. */
int file_merge(uint32_t np, const struct ti_record *all, const size_t *order, size_t n);
struct ti_merged *file_open(int fd);

/* The file has these records, and no others. */
void file_must_hold(int fd, uint32_t np, const struct ti_record *all, size_t n);

#endif
