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
#include "formats/chunk.h"
#include "formats/buffer.h"
#include "formats/merged/layout.h"
#include "formats/merged/merged.h"
#include "formats/merged/merger.h"
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

static uint32_t put_chunk(struct ti_buffer *file, uint8_t type, uint64_t first, uint32_t sections,
                          const struct ti_buffer *raw)
{
    uint8_t header[TI_CHUNK_BYTES], crc[TI_CRC_BYTES];
    struct ti_chunk c = {.type = type,
                         .version = TI_MERGED_VERSION,
                         .first = first,
                         .events = sections,
                         .raw = (uint32_t)raw->n,
                         .stored = (uint32_t)raw->n};

    ti_chunk_put(header, &c);
    ti_put_u32(crc, ti_crc32c(0, raw->data, raw->n));
    ti_buffer_put(file, header, sizeof header);
    ti_buffer_put(file, raw->data, raw->n);
    ti_buffer_put(file, crc, sizeof crc);
    return (uint32_t)(TI_CHUNK_BYTES + raw->n + TI_CRC_BYTES);
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
        ti_buffer_varint(index, put_chunk(file, TI_CHUNK_SEC, i, 1, &raw));
        ti_buffer_varint(index, 1);
        free(raw.data);
    }
}

static void make_file(struct input *in, struct ti_buffer *file)
{
    struct ti_buffer index = {0}, runs = {0};
    uint8_t header[TI_HEADER_BYTES] = TI_MAGIC, trailer[4];
    uint32_t sections = 0, count;

    ti_put_u16(header + 8, TI_MAJOR);
    ti_put_u32(header + 12, TI_INCOMPAT_MERGED);
    ti_put_u32(header + 20, next(in) + 1u);
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
    ti_put_u32(trailer, put_chunk(file, TI_CHUNK_RNK, sections, 0, &index));
    ti_buffer_put(file, trailer, sizeof trailer);
    ti_buffer_put(file, TI_MAGIC_END, TI_MAGIC_BYTES);
    free(index.data);
    free(runs.data);
}

static void repair_file(struct input *in, struct ti_buffer *file)
{
    size_t at = TI_HEADER_BYTES;

    ti_buffer_put(file, in->p, (size_t)(in->end - in->p));
    if (file->n < TI_HEADER_BYTES)
        return;
    ti_put_u32(file->data + 44, ti_crc32c(0, file->data, 44));
    while (file->n - at > TI_CHUNK_BYTES + TI_CRC_BYTES) {
        uint8_t *h = file->data + at, *payload = h + TI_CHUNK_BYTES;
        uint32_t stored = ti_get_u32(h + 24);

        if (stored > file->n - at - TI_CHUNK_BYTES - TI_CRC_BYTES)
            return;
        ti_put_u32(h + 28, ti_crc32c(0, h, 28));
        ti_put_u32(payload + stored, ti_crc32c(0, payload, stored));
        at += TI_CHUNK_BYTES + stored + TI_CRC_BYTES;
    }
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
