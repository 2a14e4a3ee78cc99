#include "tests/unit/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/buffer.h"
#include "event/event.h"
#include "fold/record_layout.h"
#include "trace/trace.h"

const uint8_t records_run_id[TI_RUN_ID_BYTES] = "a run of the te";
struct ti_err records_err;

uint64_t records_seed;

uint64_t records_any(void)
{
    records_seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (records_seed ^ records_seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);

    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t records_below(uint32_t n)
{
    return (uint32_t)(records_any() % n);
}

/* A record with room for its parts, all of it zero. */
struct ti_record record_blank(uint32_t rank, size_t pattern, size_t numbers, size_t blobs)
{
    struct ti_record r = {.rank = rank, .nnumbers = numbers, .nblobs = blobs};
    size_t fixed = numbers * sizeof(int64_t) + blobs * sizeof(struct ti_bytes);
    uint8_t *memory = calloc(fixed + pattern + 1, 1);

    assert_non_null(memory);
    r.number = (int64_t *)(void *)memory;
    r.blob = (struct ti_bytes *)(void *)(memory + numbers * sizeof(int64_t));
    r.pattern = (struct ti_bytes){memory + fixed, pattern};
    r.memory = memory;
    return r;
}

void record_set_number(struct ti_record *r, size_t k, int64_t value)
{
    ((int64_t *)r->memory)[k] = value;
}

void record_set_blob(struct ti_record *r, size_t k, const void *data, size_t n)
{
    struct ti_bytes *blob = (struct ti_bytes *)(void *)((int64_t *)r->memory + r->nnumbers);

    blob[k] = (struct ti_bytes){data, n};
}

struct ti_record record_nest(uint32_t depth, int64_t trips, int64_t volume)
{
    uint32_t columns = 2 * depth + 1; /* the call has a volume for each arrival */
    struct ti_buffer pattern = {.data = NULL};
    struct ti_record r;

    ti_buffer_varint(&pattern, TI_RECORD_VERSION);
    ti_buffer_varint(&pattern, TI_END_KILLED);
    for (int zeros = 0; zeros < 7; zeros++) /* totals, metadata, communicators, strings */
        ti_buffer_varint(&pattern, 0);
    ti_buffer_varint(&pattern, 1); /* volumes, symbols */
    ti_buffer_varint(&pattern, 1);
    ti_buffer_varint(&pattern, TI_OP_FINALIZE);
    for (int zeros = 0; zeros < 5; zeros++)
        ti_buffer_varint(&pattern, 0);
    ti_buffer_varint(&pattern, 1); /* the shape */
    for (uint32_t i = 0; i < depth; i++)
        ti_buffer_varint(&pattern, 1 << 1 | 1);
    ti_buffer_varint(&pattern, 0);
    r = record_blank(3, pattern.n, 4 + columns, 3 + columns); /* of vectors: 4 numbers, 3 blobs */
    memcpy((uint8_t *)(uintptr_t)r.pattern.data, pattern.data, pattern.n);
    for (uint32_t i = 0; i < columns; i++)
        record_set_number(&r, 4 + i, i < depth ? trips : volume);
    free(pattern.data);
    return r;
}

/* Bytes for blobs: blob `i` of `n` bytes starts at records_pool + i. */
uint8_t records_pool[RECORDS_POOL];

void records_fill(void)
{
    records_seed = 1;
    for (size_t i = 0; i < sizeof records_pool; i++)
        records_pool[i] = (uint8_t)records_any();
}

void records_must_equal(const struct ti_record *a, const struct ti_record *b)
{
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->pattern.n, b->pattern.n);
    assert_memory_equal(a->pattern.data, b->pattern.data, a->pattern.n);
    assert_int_equal(a->nnumbers, b->nnumbers);
    for (size_t k = 0; k < a->nnumbers; k++)
        assert_int_equal(a->number[k], b->number[k]);
    assert_int_equal(a->nblobs, b->nblobs);
    for (size_t k = 0; k < a->nblobs; k++) {
        assert_int_equal(a->blob[k].n, b->blob[k].n);
        if (a->blob[k].n)
            assert_memory_equal(a->blob[k].data, b->blob[k].data, a->blob[k].n);
    }
}

/* --------------------------------------------------------------- files -- */

struct ti_file file_content(int fd)
{
    struct stat st;
    struct ti_file b;

    assert_int_equal(fstat(fd, &st), 0);
    b.n = (size_t)st.st_size;
    b.data = malloc(b.n + 1);
    assert_int_equal(pread(fd, b.data, b.n, 0), (ssize_t)b.n);
    return b;
}

int file_of(const uint8_t *data, size_t n)
{
    int fd = memfd_create("merged", 0);

    assert_int_equal(write(fd, data, n), (ssize_t)n);
    return fd;
}

/* A file that holds the records in the order order[0], order[1], ...; NULL: as they are. */
int file_merge(uint32_t np, const struct ti_record *all, const size_t *order, size_t n)
{
    int fd = memfd_create("merged", 0);
    struct ti_merger *m;

    OK(ti_merger_new(np, records_run_id, NULL, &m, &records_err));
    for (size_t i = 0; i < n; i++)
        OK(ti_merger_add(m, &all[order ? order[i] : i], &records_err));
    assert_int_equal(ti_merger_count(m), n);
    OK(ti_merger_write(m, fd, "merged", &records_err));
    ti_merger_free(m);
    return fd;
}

struct ti_merged *file_open(int fd)
{
    struct ti_merged *m;
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    OK(ti_merged_open(fd, 0, st.st_size, "merged", &m, &records_err));
    return m;
}

/* The file has these records, and no others. */
void file_must_hold(int fd, uint32_t np, const struct ti_record *all, size_t n)
{
    struct ti_merged *m = file_open(fd);
    int64_t rank = 0;

    assert_int_equal(ti_merged_nranks(m), np);
    assert_int_equal(ti_merged_count(m), n);
    assert_memory_equal(ti_merged_run_id(m), records_run_id, TI_RUN_ID_BYTES);
    for (size_t i = 0; i < n; i++) {
        struct ti_record r;

        for (; rank < all[i].rank; rank++)
            assert_false(ti_merged_has(m, rank));
        assert_true(ti_merged_has(m, rank));
        OK(ti_merged_record(m, rank++, &r, &records_err));
        records_must_equal(&r, &all[i]);
        ti_record_free(&r);
    }
    for (; rank <= np; rank++)
        assert_false(ti_merged_has(m, rank));
    OK(ti_merged_verify(m, &records_err));
    ti_merged_close(m);
}

size_t file_bytes(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (size_t)st.st_size;
}
