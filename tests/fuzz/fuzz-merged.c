/*
 * Merged traces, over any bytes.  What verifies can be read, and what can be read gives the same
 * records once it is merged again.  The first byte chooses:
 *
 *   even   a file is made of the rest: u8 ranks - 1, u8 groups, u8 pages, u8 blobs; u8 runs, then
 *          u8 ranks and u8 group + 1 of each; u16 length and bytes of each section.  Its container
 *          is right, unless lengths exceed what is there
 *   odd    the rest is a file; its checksums are made right
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "event/buffer.h"
#include "merged/layout.h"
#include "merged/merged.h"
#include "merged/merger.h"
#include "tests/fuzz/fuzz.h"

enum { RANKS = 256, BYTES_READ = 64 << 20, EVENTS_READ = 1000 };

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz-merged: %s\n", what);
    abort();
}

/* ------------------------------------------------------------------ file -- */

struct input {
    const uint8_t *p, *end;
};

static uint8_t next(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static void put_chunk(struct ti_buffer *file, const struct ti_buffer *raw)
{
    uint8_t crc[TI_CRC_BYTES];

    ti_put_u32(crc, ti_crc32c(0, raw->data, raw->n));
    ti_buffer_put(file, raw->data, raw->n);
    ti_buffer_put(file, crc, sizeof crc);
}

/* One chunk for each section. */
static void put_sections(struct ti_buffer *file, struct ti_buffer *index, struct input *in,
                         uint32_t sections)
{
    ti_buffer_varint(index, sections);
    for (uint32_t i = 0; i < sections; i++) {
        struct ti_buffer raw = {0};
        size_t n = next(in);

        n += (size_t)next(in) << 8;
        if (n > (size_t)(in->end - in->p))
            n = (size_t)(in->end - in->p);
        ti_buffer_varint(&raw, n);
        ti_buffer_put(&raw, in->p, n);
        in->p += n;
        put_chunk(file, &raw);
        ti_buffer_varint(index, raw.n);
        ti_buffer_varint(index, raw.n);
        ti_buffer_varint(index, 1);
        free(raw.data);
    }
}

static void make_file(struct input *in, struct ti_buffer *file)
{
    struct ti_buffer index = {0}, runs = {0};
    uint8_t header[TI_HEADER_BYTES] = TI_MAGIC, trailer[TI_TRAILER_BYTES];
    uint32_t sections = 0, count;

    ti_put_u16(header + 8, TI_MAJOR);
    ti_put_u32(header + 12, TI_INCOMPAT_MERGED);
    ti_put_u32(header + 20, next(in) + 1u);
    ti_put_u32(header + TI_VERSION_AT, TI_MERGED_VERSION);
    ti_put_u32(header + 44, ti_crc32c(0, header, 44));
    ti_buffer_put(file, header, sizeof header);
    for (int i = 0; i < 3; i++) {
        ti_buffer_varint(&index, count = next(in));
        sections += count;
    }
    count = next(in);
    for (uint32_t i = 0; i < 2 * count; i++)
        ti_buffer_varint(&runs, next(in));
    put_sections(file, &index, in, sections);
    ti_buffer_put(&index, runs.data, runs.n);
    put_chunk(file, &index);
    ti_put_u32(trailer, (uint32_t)index.n);
    ti_put_u32(trailer + 4, (uint32_t)index.n);
    ti_put_u32(trailer + 8, ti_crc32c(0, trailer, 8));
    memcpy(trailer + 12, TI_MAGIC_END, TI_MAGIC_BYTES);
    ti_buffer_put(file, trailer, sizeof trailer);
    free(index.data);
    free(runs.data);
}

/* Make the checksum of a chunk right; false if the chunk is not before `end`. */
static int repair_chunk(uint8_t *payload, const uint8_t *end, uint64_t stored)
{
    if (payload > end || stored > (uint64_t)(end - payload) ||
        (uint64_t)(end - payload) - stored < TI_CRC_BYTES)
        return 0;
    ti_put_u32(payload + stored, ti_crc32c(0, payload, stored));
    return 1;
}

/* Make the checksums of the chunks of sections right.  The index is not compressed. */
static void repair_sections(uint8_t *chunk, uint8_t *index, size_t bytes)
{
    const uint8_t *p = index, *end = index + bytes;
    uint64_t value, chunks, stored;

    for (int i = 0; i < 3; i++)
        if (!ti_get_varint(&p, end, &value))
            return;
    if (!ti_get_varint(&p, end, &chunks))
        return;
    for (; chunks && ti_get_varint(&p, end, &stored) && repair_chunk(chunk, index, stored);
         chunks--) {
        chunk += stored + TI_CRC_BYTES;
        if (!ti_get_varint(&p, end, &value) || !ti_get_varint(&p, end, &value))
            return;
    }
}

static void repair_file(struct input *in, struct ti_buffer *file)
{
    uint8_t *end, *index;
    uint32_t stored;

    ti_buffer_put(file, in->p, (size_t)(in->end - in->p));
    if (file->n < TI_HEADER_BYTES + TI_TRAILER_BYTES + TI_CRC_BYTES)
        return;
    end = file->data + file->n - TI_TRAILER_BYTES;
    stored = ti_get_u32(end);
    ti_put_u32(file->data + 44, ti_crc32c(0, file->data, 44));
    ti_put_u32(end + 8, ti_crc32c(0, end, 8));
    if (stored > (size_t)(end - file->data) - TI_HEADER_BYTES - TI_CRC_BYTES)
        return;
    index = end - TI_CRC_BYTES - stored;
    repair_chunk(index, end, stored);
    if (stored == ti_get_u32(end + 4))
        repair_sections(file->data + TI_HEADER_BYTES, index, stored);
}

/* ------------------------------------------------------------------ read -- */

static uint32_t sum_of(const struct ti_record *r)
{
    uint32_t crc = ti_crc32c(0, &r->rank, sizeof r->rank);

    crc = ti_crc32c(crc, r->pattern.data, r->pattern.n);
    if (r->nnumbers)
        crc = ti_crc32c(crc, r->number, r->nnumbers * sizeof *r->number);
    for (size_t k = 0; k < r->nblobs; k++) {
        crc = ti_crc32c(crc, &r->blob[k].n, sizeof r->blob[k].n);
        crc = ti_crc32c(crc, r->blob[k].data, r->blob[k].n);
    }
    return crc;
}

/* Read records, add them to `merger`, their sums to sum[].  Records that verified can be read, but
 * they may be large. */
static int read_records(struct ti_merged *m, int verified, struct ti_merger *merger,
                        uint32_t sum[RANKS])
{
    struct ti_err err;
    size_t bytes = 0;
    int n = 0;

    for (int64_t rank = -1;
         n < RANKS && bytes < BYTES_READ && (rank = ti_merged_next(m, rank + 1)) >= 0;) {
        struct ti_record r;
        ti_status st = ti_merged_record(m, rank, &r, &err);

        must(st == TI_OK || !verified || strstr(err.text, "too large"), "verified, but not read");
        must(st == TI_OK || err.text[0], "an error without a text");
        if (st)
            continue;
        must(r.rank == rank, "the record of another rank");
        ti_fuzz_read_record(&r, ti_merged_nranks(m), EVENTS_READ);
        sum[n++] = sum_of(&r);
        bytes += r.pattern.n + r.nnumbers + r.nblobs;
        for (size_t k = 0; k < r.nblobs; k++)
            bytes += r.blob[k].n;
        must(ti_merger_add(merger, &r, &err) == TI_OK, "a record is refused");
        ti_record_free(&r);
    }
    return n;
}

/* The records again, from a file of our own. */
static void read_again(struct ti_merger *merger, const uint32_t sum[RANKS], int n)
{
    int fd = ti_fuzz_file(NULL, 0);
    struct ti_merged *m;
    struct ti_err err;
    int64_t rank = -1;

    must(ti_merger_write(merger, fd, "again", &err) == TI_OK, "cannot merge again");
    must(ti_merged_open(fd, 0, lseek(fd, 0, SEEK_END), "again", &m, &err) == TI_OK &&
             ti_merged_verify(m, &err) == TI_OK && ti_merged_count(m) == n,
         "what we merged is damaged");
    for (int i = 0; i < n; i++) {
        struct ti_record r;

        rank = ti_merged_next(m, rank + 1);
        must(ti_merged_record(m, rank, &r, &err) == TI_OK && sum_of(&r) == sum[i],
             "a record changed");
        ti_record_free(&r);
    }
    ti_merged_close(m);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {data, data + bytes};
    struct ti_buffer file = {0};
    uint32_t sum[RANKS];
    struct ti_merger *merger;
    struct ti_merged *m;
    struct ti_err err;
    int fd;

    if (next(&in) & 1)
        repair_file(&in, &file);
    else
        make_file(&in, &file);
    fd = ti_fuzz_file(file.data, file.n);
    if (ti_merged_open(fd, 0, (int64_t)file.n, "fuzz", &m, &err) == TI_OK) {
        int verified = ti_merged_verify(m, &err) == TI_OK, n;

        must(ti_merger_new(ti_merged_nranks(m), ti_merged_run_id(m), NULL, &merger, &err) == TI_OK,
             "no merger");
        n = read_records(m, verified, merger, sum);
        if (n)
            read_again(merger, sum, n);
        ti_merger_free(merger);
        ti_merged_close(m);
    }
    close(fd);
    free(file.data);
    return 0;
}
