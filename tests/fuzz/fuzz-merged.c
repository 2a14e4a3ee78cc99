/*
 * Merged traces, over any bytes.  What verifies can be read, and what can be read gives the same
 * records once it is merged again.  Views give the numbers of these records, and a builder makes
 * the record of each group's lowest rank again, with the same events.  Its loops are given other
 * trips, which makes a sound record or a refusal.  The first byte chooses:
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
#include "fold/record_layout.h"
#include "merged/builder.h"
#include "merged/layout.h"
#include "merged/merged.h"
#include "merged/merger.h"
#include "merged/view.h"
#include "tests/fuzz/fuzz.h"
#include "trips/internal.h"

enum {
    RANKS = 256,
    RANKS_SOUGHT = 1 << 20,
    BYTES_READ = 64 << 20,
    EVENTS_READ = 1000,
    VALUES_READ = 1 << 20
};

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

/* The first rank from `rank` on that is there, of the first million; -1: there is none. */
static int64_t next_rank(const struct ti_merged *m, int64_t rank)
{
    while (rank < RANKS_SOUGHT && !ti_merged_has(m, rank))
        rank++;
    return rank < RANKS_SOUGHT ? rank : -1;
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
         n < RANKS && bytes < BYTES_READ && (rank = next_rank(m, rank + 1)) >= 0;) {
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

        rank = next_rank(m, rank + 1);
        must(ti_merged_record(m, rank, &r, &err) == TI_OK && sum_of(&r) == sum[i],
             "a record changed");
        ti_record_free(&r);
    }
    ti_merged_close(m);
    close(fd);
}

/* ------------------------------------------------------------------ view -- */

/* Put the shape of a trace into a builder, as it is. */
static void put_shape(struct ti_builder *b, const struct ti_folded *f)
{
    uint32_t end[TI_SHAPE_DEPTH + 1], depth = 0;

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        for (; depth && end[depth - 1] == i; depth--)
            ti_builder_end_loop(b);
        if (node.loop)
            ti_builder_loop(b);
        else
            must(ti_builder_call(b, node.symbol) == node.arrivals, "other arrivals");
        for (uint32_t k = 0; k < node.columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);

            must(c.part.of == i && (c.n <= node.passes), "a column is wrong");
            ti_builder_encoded(b, c.first, &c.blob);
        }
        if (node.loop)
            end[depth++] = node.end;
    }
    while (depth--)
        ti_builder_end_loop(b);
}

/* A hash of the first events; *damaged: there is an error among them. */
static uint64_t hash_events(struct ti_reader *r, bool *damaged)
{
    uint64_t hash = TI_HASH_START, elements = 0;
    struct ti_event ev;
    struct ti_err err;
    int more = 1;

    for (int i = 0; elements < EVENTS_READ && i < EVENTS_READ; i++) {
        if ((more = ti_reader_next(r, &ev, &err)) <= 0)
            break;
        hash = ti_hash_event(hash, &ev);
        elements += (uint64_t)ev.vec[0].len + (uint64_t)ev.vec[1].len;
    }
    *damaged = more < 0;
    return hash;
}

/* A record that is made of what a reader tells gives the same events. */
static void build_again(const struct ti_reader *r)
{
    struct ti_builder *b = ti_builder_new(ti_reader_rank(r), (uint32_t)ti_reader_extras(r));
    struct ti_reader *was, *is;
    struct ti_record record = {.memory = NULL};
    struct ti_err err;
    bool damaged[2];
    uint64_t hash;

    if (ti_builder_all_but_shape(b, r)) {
        put_shape(b, ti_reader_folded(r));
        must(ti_builder_finish(b, ti_reader_nranks(r), EVENTS_READ, &record, &err) == TI_OK ||
                 !ti_folded_check(ti_reader_folded(r)),
             "what can be read cannot be built");
        if (record.memory) {
            must(ti_reader_again(r, &was, &err) == TI_OK, "opened once, but not again");
            must(ti_reader_open_record(&record, ti_reader_nranks(r), ti_reader_run_id(r), "again",
                                       &is, &err) == TI_OK,
                 "built, but cannot be opened");
            hash = hash_events(was, &damaged[0]);
            must(hash == hash_events(is, &damaged[1]) && damaged[0] == damaged[1],
                 "built again, other events");
            ti_reader_close(is);
            ti_reader_close(was);
        }
    }
    ti_builder_free(b);
}

/* The first loops get other trips.  What comes out can be read, and has these trips. */
static void change_trips(struct ti_reader *r)
{
    static const uint64_t trips[] = {1, 2, 3, 50, 1000000000};
    struct ti_folded *f = ti_reader_folded(r);
    struct ti_err err;

    for (uint32_t i = 0; i < ti_shape_nodes(f) && i < 64; i++) {
        struct ti__change c = {.trips = trips[i % (sizeof trips / sizeof *trips)]};
        struct ti_record record;
        struct ti_reader *is;
        struct ti_column_stats stats;

        if (!ti_shape_node(f, i).loop || ti_shape_node(f, i).passes > EVENTS_READ)
            continue;
        must(ti__periods_find(f, i, c.trips, &c.same, &c.alike), "checked, but malformed");
        if (ti__change_rank(r, i, &c, "fuzz", EVENTS_READ, &record, &err)) {
            must(err.text[0] != '\0', "an error without a text");
            continue;
        }
        must(ti_reader_open_record(&record, ti_reader_nranks(r), ti_reader_run_id(r), "changed",
                                   &is, &err) == TI_OK &&
                 ti_folded_check(ti_reader_folded(is)),
             "changed, but cannot be read");
        must(ti_shape_trips(ti_reader_folded(is), i, &stats) && stats.min == (int64_t)c.trips &&
                 stats.max == stats.min && stats.n == ti_shape_node(f, i).passes,
             "changed to other trips");
        ti_reader_close(is);
    }
}

/* The values of all parts are those of the records. */
static void check_values(struct ti_view *v, bool verified)
{
    size_t n = ti_view_parts(v), members = (size_t)ti_ranges_count(ti_view_ranks(v)), i = 0;
    int64_t *value;
    struct ti_record record;
    struct ti_err err;

    if (n > VALUES_READ / members)
        n = VALUES_READ / members;
    value = malloc((n * members + 1) * sizeof *value);
    if (ti_view_values(v, 0, n, value, &err) == TI_OK) {
        ti_ranges_foreach (ti_view_ranks(v), rank) {
            if (i >= 8 || ti_view_record(v, rank, &record, &err))
                break;
            for (size_t k = 0; k < n && k < record.nnumbers; k++)
                must(value[k * members + i] == record.number[k], "a view gives another number");
            ti_record_free(&record);
            i++;
        }
    } else {
        must(!verified, "verified, but values cannot be read");
    }
    free(value);
}

static void read_view(struct ti_merged *m, uint32_t group, bool verified)
{
    struct ti_view *v;
    struct ti_err err;
    char text[64];

    if (ti_view_open(m, group, &v, &err)) {
        must(err.text[0] != '\0', "an error without a text");
        return;
    }
    for (size_t k = 0; k < ti_view_parts(v) && k < VALUES_READ; k++) {
        struct ti_formula f = ti_view_formula(v, k);
        struct ti_record_part part = ti_view_part(v, k);

        must(part.kind < TI_PART_COUNT && ti_part_text(part.kind)[0], "a part without a meaning");
        must(ti_formula_text(&f, text, sizeof text)[0], "a formula without words");
        if (k < 100)
            must(ti_view_find(v, &part, k >= ti_view_numbers(v)) >= 0, "a part is not found");
    }
    check_values(v, verified);
    if (ti_reader_folded(ti_view_reader(v))) {
        build_again(ti_view_reader(v));
        if (ti_folded_check(ti_reader_folded(ti_view_reader(v))))
            change_trips(ti_view_reader(v));
    }
    ti_view_close(v);
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
        for (uint32_t g = 0; g < ti_merged_groups(m) && g < 8; g++)
            read_view(m, g, verified);
        ti_merger_free(merger);
        ti_merged_close(m);
    }
    close(fd);
    free(file.data);
    return 0;
}
