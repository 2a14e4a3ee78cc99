/* Merged traces: what is written is read, whatever the order; damage is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/crc32c.h"
#include "merged/merger_internal.h"
#include "tests/unit/records.h"
#include "trace/reader.h"

static int64_t edge(void)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};

    return edges[records_below(sizeof edges / sizeof *edges)];
}

/* The value of a number that follows from the rank in one of many ways. */
static int64_t value_of(int way, uint32_t rank, uint64_t c)
{
    switch (way) {
    case 0:
        return (int64_t)c;
    case 1:
        return (int64_t)(c + rank * (c >> 7));
    case 2:
        return (int64_t)((rank ^ (c & 63)) - (uint64_t)rank);
    case 3:
        return (int64_t)(c % 1000 + rank % 4);
    case 4:
        return (int64_t)(rank / 4);
    case 5:
        return rank % 8 == 7 ? -7 : 1;
    case 6:
        return rank / 4 % 4 == 3 ? INT64_MIN : INT64_MAX;
    case 7:
        return rank < 9 ? 3 : rank < 20 ? 5 : (int64_t)c;
    case 8:
        return edge();
    case 9:
        return (int64_t)records_any();
    case 10:
        return (int64_t)records_below(100);
    case 11:
        return rank & 1 ? INT64_MIN : INT64_MAX;
    default:
        return rank == 5 ? -1 : 0;
    }
}

enum { WAYS = 13 };

/* `np` ranks with `groups` patterns, of which some are missing. */
static struct ti_record *invent(uint32_t np, uint32_t groups, size_t *n)
{
    struct ti_record *all = calloc(np, sizeof *all);
    uint64_t c = records_any();

    assert_non_null(all);
    *n = 0;
    for (uint32_t rank = 0; rank < np; rank++) {
        uint32_t g = rank % 7 == 0 ? 0 : records_below(groups);
        size_t nblobs = g % 3 * 4;
        struct ti_record r;

        if (rank && records_below(8) == 0)
            continue;
        r = record_blank(rank, g * 37, g == 1 ? 0 : WAYS, nblobs);
        memset((uint8_t *)(uintptr_t)r.pattern.data, (int)g, r.pattern.n);
        for (size_t k = 0; k < r.nnumbers; k++)
            record_set_number(&r, k, value_of((int)k, rank, c));
        for (size_t k = 0; k < nblobs; k++)
            record_set_blob(
                &r, k, records_pool + (k % 4 == 0 ? 0 : records_below(k % 4 == 1 ? 3 : 100000)),
                k % 4 == 2               ? records_below(2)
                : records_below(10) == 0 ? records_below(70000)
                                         : 20 + k);
        all[(*n)++] = r;
    }
    return all;
}

static void forget(struct ti_record *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ti_record_free(&all[i]);
    free(all);
}

/* --------------------------------------------------------------- tests -- */

static void records_come_back(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 40; turn++) {
        uint32_t np = turn < 4 ? turn + 1 : 2 + records_below(300);
        struct ti_record *all;
        size_t n;
        int fd;

        records_seed = turn;
        all = invent(np, 1 + records_below(6), &n);
        fd = file_merge(np, all, NULL, n);
        file_must_hold(fd, np, all, n);
        close(fd);
        forget(all, n);
    }
}

/* One number in each file, so that each way is chosen alone; ranks of a grid, of its inner part,
 * and of its left edge. */
static void numbers_that_follow_from_the_rank_are_small(void **state)
{
    (void)state;
    for (int grid = 0; grid < 3; grid++) {
        for (int way = 0; way < WAYS; way++) {
            struct ti_record all[1024];
            size_t n = 0, base;
            int fd;

            for (uint32_t rank = 0; rank < 1024; rank++) {
                uint32_t x = rank % 32, y = rank / 32;

                if ((grid == 1 && (x == 0 || x == 31 || y == 0 || y == 31)) ||
                    (grid == 2 && x != 0))
                    continue;
                all[n] = record_blank(rank, 10, 1, 0);
                records_seed = rank;
                record_set_number(&all[n++], 0, value_of(way, rank, UINT64_C(0xfedcba9876543210)));
            }
            fd = file_merge(1024, all, NULL, n);
            file_must_hold(fd, 1024, all, n);
            base = 220;
            if (way != 8 && way != 9 && way != 10)
                assert_in_range(file_bytes(fd), 0, base);
            close(fd);
            for (size_t i = 0; i < n; i++)
                ti_record_free(&all[i]);
        }
    }
}

/* Numbers over a torus of 16 x 16 x 4, and over ranks that are not all of it. */
static void coordinates_of_a_torus(void **state)
{
    struct ti_record all[1024];
    size_t n = 0;
    int fd;

    (void)state;
    records_seed = 5;
    for (uint32_t rank = 0; rank < 1024; rank++) {
        uint32_t x = rank % 16, y = rank / 16 % 16, z = rank / 256;

        if (rank == 77)
            continue;
        all[n] = record_blank(rank, 3, 6, 0);
        record_set_number(&all[n], 0, x == 15 ? -15 : 1);
        record_set_number(&all[n], 1, y == 0 ? 240 : -16);
        record_set_number(&all[n], 2, z == 3 ? -768 : 256);
        record_set_number(&all[n], 3, (int64_t)(y & 1) << 40);
        record_set_number(&all[n], 4, (int64_t)y * y * y - x / 8);
        record_set_number(&all[n++], 5, (rank ^ 0x155) - (int64_t)rank);
    }
    fd = file_merge(1024, all, NULL, n);
    file_must_hold(fd, 1024, all, n);
    assert_in_range(file_bytes(fd), 0, 400);
    close(fd);
    for (size_t i = 0; i < n; i++)
        ti_record_free(&all[i]);
}

static void shuffle(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = records_below((uint32_t)i), was = order[k];

        order[k] = order[i - 1];
        order[i - 1] = was;
    }
}

/* Merge the files in[0] to in[n - 1]. */
static int merge_files(uint32_t np, const int *in, size_t n)
{
    int fd = memfd_create("merged", 0);
    struct ti_merger *m;

    OK(ti_merger_new(np, records_run_id, "/tmp", &m, &records_err));
    for (size_t i = 0; i < n; i++) {
        struct ti_merged *from = file_open(in[i]);

        for (int64_t rank = 0; rank < np; rank++) {
            struct ti_record r;

            if (!ti_merged_has(from, rank))
                continue;
            OK(ti_merged_record(from, rank, &r, &records_err));
            OK(ti_merger_add(m, &r, &records_err));
            ti_record_free(&r);
        }
        ti_merged_close(from);
    }
    OK(ti_merger_write(m, fd, "merged", &records_err));
    ti_merger_free(m);
    return fd;
}

static void any_tree_gives_the_same_file(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 20; turn++) {
        uint32_t np = 20 + turn * 7;
        struct ti_record *all;
        struct ti_file whole, tree;
        size_t n, order[256], nfiles = 0, at = 0;
        int fd, file[256] = {0};

        records_seed = 100 + turn;
        all = invent(np, 4, &n);
        fd = file_merge(np, all, NULL, n);
        whole = file_content(fd);
        close(fd);
        shuffle(order, n);
        while (at < n) {
            size_t some = 1 + records_below(5);

            some = some < n - at ? some : n - at;
            file[nfiles++] = file_merge(np, all, order + at, some);
            at += some;
        }
        while (nfiles > 1) {
            size_t some = 2 + records_below(3);

            some = some < nfiles ? some : nfiles;
            fd = merge_files(np, file + nfiles - some, some);
            for (size_t i = 0; i < some; i++)
                close(file[nfiles - 1 - i]);
            nfiles -= some;
            memmove(file + 1, file, nfiles * sizeof *file);
            file[0] = fd;
            nfiles++;
        }
        tree = file_content(file[0]);
        close(file[0]);
        assert_int_equal(tree.n, whole.n);
        assert_memory_equal(tree.data, whole.data, whole.n);
        free(tree.data);
        free(whole.data);
        forget(all, n);
    }
}

/* All that can be asked of a file.  Records that it gives are those of `all`. */
static ti_status ask(int fd, int64_t bytes, const struct ti_record *all, size_t n)
{
    struct ti_merged *m;
    ti_status st = ti_merged_open(fd, 0, bytes, "merged", &m, &records_err), worst;

    if (st)
        return st;
    worst = ti_merged_verify(m, &records_err);
    for (size_t i = 0; i < n; i++) {
        struct ti_record r;

        st = ti_merged_record(m, all[i].rank, &r, &records_err);
        worst = st ? st : worst;
        if (st)
            continue;
        records_must_equal(&r, &all[i]);
        ti_record_free(&r);
    }
    ti_merged_close(m);
    return worst;
}

static void damage_is_told(void **state)
{
    struct ti_record *all;
    size_t n;
    int64_t bytes;
    int fd;

    (void)state;
    records_seed = 7;
    all = invent(40, 4, &n);
    fd = file_merge(40, all, NULL, n);
    bytes = (int64_t)file_bytes(fd);
    for (int64_t cut = 0; cut < bytes; cut++)
        assert_int_equal(ask(fd, cut, all, n), TI_ERR_INPUT);
    assert_int_equal(ask(fd, bytes, all, n), TI_OK);
    for (int turn = 0; turn < 3000; turn++) {
        int64_t at = turn < 400   ? turn
                     : turn < 800 ? bytes - 1 - (turn - 400)
                                  : records_below((uint32_t)bytes);
        uint8_t was, now;

        assert_int_equal(pread(fd, &was, 1, at), 1);
        now = was ^ (uint8_t)(1 + records_below(255));
        assert_int_equal(pwrite(fd, &now, 1, at), 1);
        assert_int_equal(ask(fd, bytes, all, n), TI_ERR_INPUT);
        assert_true(strlen(records_err.text) > 10);
        assert_int_equal(pwrite(fd, &was, 1, at), 1);
    }
    close(fd);
    forget(all, n);
}

static void wrong_records_are_refused(void **state)
{
    struct ti_record r = record_blank(3, 5, 1, 1), huge = record_blank(1, 0, 0, 9);
    struct ti_merger *m;
    struct ti_merged *in;
    int fd = memfd_create("merged", 0);

    (void)state;
    OK(ti_merger_new(8, records_run_id, NULL, &m, &records_err));
    OK(ti_merger_add(m, &r, &records_err));
    assert_int_equal(ti_merger_add(m, &r, &records_err), TI_ERR_INPUT);
    assert_string_equal(records_err.text, "rank 3 is there twice");
    r.rank = 8;
    assert_int_equal(ti_merger_add(m, &r, &records_err), TI_ERR_INPUT);
    assert_string_equal(records_err.text, "rank 8 is not one of the run's 8");
    for (size_t k = 0; k < 9; k++)
        record_set_blob(&huge, k, NULL, 50 << 20);
    assert_int_equal(ti_merger_add(m, &huge, &records_err), TI_ERR_INPUT);
    assert_string_equal(records_err.text, "rank 1 has too much for a merged trace");
    OK(ti_merger_write(m, fd, "merged", &records_err));
    ti_merger_free(m);
    in = file_open(fd);
    assert_int_equal(ti_merged_record(in, 2, &r, &records_err), TI_ERR_INPUT);
    assert_string_equal(records_err.text, "'merged': rank 2 is missing");
    assert_int_equal(ti_merged_record(in, 8, &r, &records_err), TI_ERR_INPUT);
    assert_int_equal(ti_merged_record(in, -1, &r, &records_err), TI_ERR_INPUT);
    ti_merged_close(in);
    close(fd);
    ti_record_free(&r);
    ti_record_free(&huge);
    assert_int_equal(ti_merger_new(8, records_run_id, "/nowhere", &m, &records_err), TI_ERR_IO);
    assert_non_null(strstr(records_err.text, "/nowhere"));
}

static void other_versions_are_refused(void **state)
{
    struct ti_record r = record_blank(0, 5, 1, 1);
    uint8_t header[TI_HEADER_BYTES];
    struct ti_merged *m;
    int fd = file_merge(1, &r, NULL, 1);

    (void)state;
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    assert_int_equal(ti_get_u32(header + TI_VERSION_AT), TI_MERGED_VERSION);
    ti_put_u32(header + TI_VERSION_AT, TI_MERGED_VERSION + 1);
    ti_put_u32(header + 44, ti_crc32c(0, header, 44));
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    assert_int_equal(ti_merged_open(fd, 0, (int64_t)file_bytes(fd), "newer", &m, &records_err),
                     TI_ERR_INPUT);
    assert_non_null(strstr(records_err.text, "'newer' is a merged trace of version "));
    close(fd);
    ti_record_free(&r);
}

/* A merged trace is no rank file, and the reverse. */
static void kinds_of_files_are_told_apart(void **state)
{
    struct ti_record r = record_blank(0, 5, 1, 0);
    int fd = file_merge(1, &r, NULL, 1);
    struct ti_file b = file_content(fd);
    struct ti_reader *reader;
    struct ti_merged *m;

    (void)state;
    assert_true(ti_merged_is(b.data));
    assert_int_equal(ti_reader_open_at(fd, 0, (int64_t)b.n, "merged", &reader, &records_err),
                     TI_ERR_INPUT);
    assert_string_equal(records_err.text,
                        "'merged' is a merged trace, of many ranks, where that of one is expected");
    close(fd);
    b.data[0] ^= 1;
    assert_false(ti_merged_is(b.data));
    fd = file_of(b.data, b.n);
    assert_int_equal(ti_merged_open(fd, 0, (int64_t)b.n, "merged", &m, &records_err), TI_ERR_INPUT);
    assert_string_equal(records_err.text, "'merged' is not a Tiara trace");
    close(fd);
    free(b.data);
    ti_record_free(&r);
}

/* Within another file, and through a pipe. */
static void place_does_not_matter(void **state)
{
    struct ti_record r = record_blank(1, 5, 1, 0), back;
    struct ti_file b;
    struct ti_merger *m;
    struct ti_merged *in;
    uint8_t data[4096];
    int ends[2], fd;
    ssize_t got;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    OK(ti_merger_new(2, records_run_id, NULL, &m, &records_err));
    OK(ti_merger_add(m, &r, &records_err));
    OK(ti_merger_write(m, ends[1], "pipe", &records_err));
    close(ends[1]);
    got = read(ends[0], data + 100, sizeof data - 200);
    close(ends[0]);
    fd = memfd_create("again", 0);
    OK(ti_merger_write(m, fd, "again", &records_err));
    ti_merger_free(m);
    b = file_content(fd);
    close(fd);
    assert_int_equal(b.n, got);
    assert_memory_equal(b.data, data + 100, b.n);
    free(b.data);
    fd = file_of(data, (size_t)got + 200);
    OK(ti_merged_open(fd, 100, got, "inside", &in, &records_err));
    OK(ti_merged_record(in, 1, &back, &records_err));
    ti_merged_close(in);
    records_must_equal(&back, &r);
    ti_record_free(&back);
    ti_record_free(&r);
    close(fd);
}

/* Eight ranks alike; and what 1,024 ranks take more than 64 if a number is always another. */
static void overhead_is_small(void **state)
{
    struct ti_record all[1024];
    size_t size[2];

    (void)state;
    for (uint32_t rank = 0; rank < 8; rank++) {
        all[rank] = record_blank(rank, 700, 0, 0);
        memcpy((uint8_t *)(uintptr_t)all[rank].pattern.data, records_pool, 700);
    }
    int fd = file_merge(8, all, NULL, 8);
    assert_in_range(file_bytes(fd), 700, 700 + 100);
    close(fd);
    for (uint32_t rank = 0; rank < 8; rank++)
        ti_record_free(&all[rank]);
    for (uint32_t rank = 0; rank < 1024; rank++) {
        all[rank] = record_blank(rank, 700, 40, 40);
        record_set_number(&all[rank], 3, (int64_t)records_any());
        for (size_t k = 0; k < 40; k++)
            record_set_blob(&all[rank], k, records_pool + k, 100);
    }
    for (int i = 0; i < 2; i++) {
        fd = file_merge(1024, all, NULL, i ? 1024 : 64);
        size[i] = file_bytes(fd);
        close(fd);
    }
    assert_in_range(size[1] - size[0], 0, (1024 - 64) * 9);
    for (uint32_t rank = 0; rank < 1024; rank++)
        ti_record_free(&all[rank]);
}

/* Sections larger than a chunk, and pages of one member. */
static void large_records(void **state)
{
    struct ti_record all[5];
    int fd;

    (void)state;
    for (uint32_t rank = 0; rank < 5; rank++) {
        all[rank] = record_blank(rank, 300000, 2000, 50);
        for (size_t k = 0; k < 2000; k++)
            record_set_number(&all[rank], k,
                              rank == 2 ? (int64_t)records_any() : (int64_t)k * rank);
        for (size_t k = 0; k < 50; k++)
            record_set_blob(&all[rank], k, records_pool + rank * 1000 + k,
                            k == 0 ? 900000 : 30000 + 1000 * (k % 4) + rank);
    }
    fd = file_merge(5, all, NULL, 5);
    file_must_hold(fd, 5, all, 5);
    close(fd);
    for (uint32_t rank = 0; rank < 5; rank++)
        ti_record_free(&all[rank]);
}

/* ---------------------------------------------------------------- bombs -- */

static int bomb(uint32_t np, const struct ti_buffer *group, const struct ti_buffer *section,
                uint64_t pages, uint64_t blobs)
{
    const uint64_t counts[] = {1, pages, blobs};
    int fd = memfd_create("bomb", 0);
    struct sections s = {.fd = fd, .name = "bomb"};
    struct ti_buffer ranks = {0};

    ti_buffer_varint(&ranks, np);
    ti_buffer_varint(&ranks, 1);
    OK(ti__sections_begin(&s, np, records_run_id, &records_err));
    OK(ti__sections_put(&s, group, &records_err));
    for (uint64_t i = 0; i < pages + blobs; i++)
        OK(ti__sections_put(&s, section, &records_err));
    OK(ti__sections_end(&s, counts, &ranks, &records_err));
    ti__sections_free(&s);
    free(ranks.data);
    return fd;
}

/* A million ranks with a page each, in as many runs of pages: time that grows with the square of
 * that would not end. */
static void many_pages_take_little_time(void **state)
{
    enum { NP = 1 << 20 };
    struct ti_buffer group = {0}, page = {0};
    struct ti_merged *m;
    struct ti_record r;
    int fd;

    (void)state;
    ti_buffer_put(&group, "\0\0\1", 3);
    ti_buffer_varint(&group, TI_COLUMN_PRIVATE);
    ti_buffer_varint(&group, 0);
    for (int i = 0; i < NP; i++)
        ti_buffer_put(&group, "\1\1", 2);
    ti_buffer_varint(&page, 0);
    fd = bomb(NP, &group, &page, NP, 0);
    assert_in_range(file_bytes(fd), 0, 20000);
    m = file_open(fd);
    OK(ti_merged_verify(m, &records_err));
    OK(ti_merged_record(m, NP - 1, &r, &records_err));
    assert_int_equal(r.nblobs, 1);
    assert_int_equal(r.blob[0].n, 0);
    ti_record_free(&r);
    ti_merged_close(m);
    close(fd);
    free(group.data);
    free(page.data);
}

/* A record that has a large blob many times. */
static void large_records_are_refused(void **state)
{
    enum { TIMES = 1000, BYTES = 1 << 20 };
    struct ti_buffer group = {0}, blob = {0};
    struct ti_merged *m;
    struct ti_record r;
    int fd;

    (void)state;
    ti_buffer_put(&group, "\0\0", 2);
    ti_buffer_varint(&group, TIMES);
    for (int i = 0; i < 2 * TIMES; i++)
        ti_buffer_varint(&group, 0); /* kinds, then parameters */
    blob.data = ti_grow(NULL, &blob.cap, BYTES, 1);
    blob.n = BYTES;
    fd = bomb(2, &group, &blob, 0, 1);
    assert_in_range(file_bytes(fd), 0, 20000);
    m = file_open(fd);
    assert_int_equal(ti_merged_record(m, 1, &r, &records_err), TI_ERR_INPUT);
    assert_non_null(strstr(records_err.text, "a record is too large"));
    ti_merged_close(m);
    close(fd);
    free(group.data);
    free(blob.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(numbers_that_follow_from_the_rank_are_small),
        cmocka_unit_test(coordinates_of_a_torus),
        cmocka_unit_test(any_tree_gives_the_same_file),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(wrong_records_are_refused),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(kinds_of_files_are_told_apart),
        cmocka_unit_test(place_does_not_matter),
        cmocka_unit_test(overhead_is_small),
        cmocka_unit_test(large_records),
        cmocka_unit_test(many_pages_take_little_time),
        cmocka_unit_test(large_records_are_refused),
    };

    records_fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
