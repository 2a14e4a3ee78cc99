/*
 * Common parts of the fuzz targets.  A target is LLVMFuzzerTestOneInput(), called by
 * libFuzzer (`make fuzz`) or, for the corpus, by replay.c (`make check`).
 */
#ifndef TI_TESTS_FUZZ_FUZZ_H
#define TI_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* An anonymous file that holds `data`; aborts without memory. */
int ti_fuzz_file(const uint8_t *data, size_t bytes);

/*
 * Make a mutated trace get past the checksums: the CRCs of header and chunks
 * are made right, and so are the rank, the number of the first event and, of a
 * chunk that is not compressed, the length in a chunk's header; and what IDX
 * says.  The header's reserved word chooses: bit 0 leaves all as it is, bit 1
 * all but the CRCs, bit 2 IDX.
 */
void ti_fuzz_repair(uint8_t *trace, size_t bytes);

/* Events that are read.  A chunk of few bytes may have 2^32 - 1 of them. */
#define TI_FUZZ_EVENTS (1u << 21)

/* Read a trace to its end, every byte that the reader gives: event by event,
 * with extra values and without,
 * skipping, half and half, seeking if it is folded, and verifying.  Aborts where
 * these disagree.  Of more than TI_FUZZ_EVENTS events the rest is not read. */
void ti_fuzz_read(int fd, int64_t offset, int64_t bytes);

/* The same of a copy of a record of a merged trace, which may claim any number
 * of events: at most `limit` events are read, and 64 times as many elements of
 * vectors. */
struct ti_record;
void ti_fuzz_read_record(const struct ti_record *record, uint32_t nranks, uint64_t limit);

struct ti_reader;
void ti_fuzz_read_all(struct ti_reader *r);

#endif
