/* Views and builders of merged traces (merged/view.h, merged/builder.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "fold/decode.h"
#include "fold/record_layout.h"
#include "merged/builder.h"
#include "merged/encode.h"
#include "merged/merger.h"
#include "merged/view.h"
#include "tests/unit/programs.h"
#include "tests/unit/records.h"
#include "trace/scan.h"

enum { RANKS = 24 };

/* --------------------------------------------------------- what is there already -- */

/* The record of the program's trace; false if it is a copy of the file. */
static bool encode(const struct ti_qualities *q, struct ti_record *record)
{
    struct ti_reader *r;
    struct ti_err err;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    assert_int_equal(ti_folded_encode(r, q, record, &err), TI_OK);
    ti_reader_close(r);
    if (!ti_record_is_copy(record))
        return true;
    ti_record_free(record);
    return false;
}

/* Make the record again that `r` reads. */
static struct ti_record rebuild(struct ti_reader *r)
{
    struct ti_builder *b = ti_builder_new(ti_reader_rank(r), (uint32_t)ti_reader_extras(r));
    struct ti_folded *f = ti_reader_folded(r);
    uint32_t end[TI_SHAPE_DEPTH + 1], depth = 0;
    struct ti_record out;
    struct ti_err err;

    assert_true(ti_builder_all_but_shape(b, r));
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        for (; depth && end[depth - 1] == i; depth--)
            ti_builder_end_loop(b);
        if (node.loop)
            ti_builder_loop(b);
        else
            assert_int_equal(ti_builder_call(b, node.symbol), node.arrivals);
        for (uint32_t k = 0; k < node.columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);

            ti_builder_encoded(b, c.first, &c.blob);
        }
        if (node.loop)
            end[depth++] = node.end;
    }
    while (depth--)
        ti_builder_end_loop(b);
    assert_int_equal(ti_builder_finish(b, ti_reader_nranks(r), TI_HASH_ALL, &out, &err), TI_OK);
    ti_builder_free(b);
    return out;
}

/* A record has all that a builder takes, and becomes the same record. */
static void rebuilt_is_equal(void **state)
{
    static const struct ti_qualities stats = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
    int done = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));
        struct ti_record record, borrowed, again;
        struct ti_reader *r;
        struct ti_err err;

        program_trace(program_path, program, 1 + (int)program_rnd(30), i % 5 == 0, 5000,
                      i % 4 ? TI_END_COMPLETE : TI_END_ABORTED);
        program_free(program);
        if (!encode(i % 3 ? NULL : &stats, &record))
            continue;
        borrowed = record;
        borrowed.memory = NULL;
        assert_int_equal(ti_reader_open_record(&borrowed, 8, program_run_id, "record", &r, &err),
                         TI_OK);
        assert_int_equal(ti_reader_skip(r, &err), TI_OK);
        again = rebuild(r);
        records_must_equal(&record, &again);
        ti_reader_close(r);
        ti_record_free(&record);
        ti_record_free(&again);
        done++;
    }
    assert_true(done > 100);
}

/* Each value of a column in memory is that of the cursor. */
static void cursors_take_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct ti_pool pool = {.at = NULL};
        struct ti_column c = {.head = NULL}, copy = {.head = NULL};
        struct ti_buffer blob = {.data = NULL};
        struct ti_run_iterator at;
        const struct ti_column_run *run;
        struct ti_cursor cursor, values;
        uint64_t n = 1 + program_rnd(200), left = n, runs = 1000, period = 1 + program_rnd(9);
        uint64_t value, last = 0;

        for (uint64_t k = 0; k < n; k++)
            ti_column_add(&pool, &c, i % 2 ? k % period * 7 + k / 50 : program_rnd(3));
        ti_column_put(&blob, &c);
        ti_cursor_start(&cursor, ti_column_first(&c), blob.data, blob.n);
        values = cursor;
        while (left) {
            uint64_t some = 1 + program_rnd(left);

            assert_true(ti_cursor_take(&cursor, some, &runs, &pool, &copy));
            left -= some;
        }
        assert_true(ti_column_values(&copy) == n);
        at = ti_column_runs(&copy);
        while ((run = ti_run_next(&at)))
            for (uint64_t k = 0; k < run->n; k++, left++) {
                assert_true(ti_cursor_next(&values, &value));
                assert_true(value == run->first + k * run->stride);
                last = value;
            }
        assert_true(ti_cursor_take(&cursor, 5, &runs, &pool, &copy)); /* the last value again */
        assert_true(ti_column_values(&copy) == n + 5);
        assert_true(copy.open.first + (copy.open.n - 1) * copy.open.stride == last);
        runs = 0;
        ti_cursor_start(&cursor, 1, blob.data, blob.n);
        assert_true(blob.n == 0 || !ti_cursor_take(&cursor, n, &runs, &pool, &copy));
        free(blob.data);
        ti_pool_free(&pool);
    }
}

/* ------------------------------------------------------------- made from nothing -- */

static void put_value(struct ti_builder *b, int64_t value)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column c = {.head = NULL};

    ti_column_add(&pool, &c, (uint64_t)value);
    ti_builder_column(b, &c, NULL);
    ti_pool_free(&pool);
}

/* A rank of a ring: `trips` times it sends to the right, with rank * 8 + 40 bytes, and receives
 * from the left.  Rank 0 has a barrier more. */
static struct ti_builder *ring(uint32_t rank, int64_t trips)
{
    static int32_t member[RANKS];
    struct ti_builder *b = ti_builder_new(rank, 0);
    struct ti_comm world = {0, TI_KIND_WORLD, rank, RANKS, member, 0, NULL};
    int64_t right = rank + 1 < RANKS ? 1 : 1 - RANKS, left = rank ? -1 : RANKS - 1;
    int64_t left_bytes = 40 + 8 * ((int64_t)rank + left);
    uint32_t site, send, recv, init, end, barrier;
    char text[32];

    for (int32_t i = 0; i < RANKS; i++)
        member[i] = i;
    snprintf(text, sizeof text, "%u", rank);
    ti_builder_info(b, "rank", text, false);
    ti_builder_info(b, "unit", "instructions", false);
    ti_builder_comm(b, &world);
    ti_builder_end(b, TI_END_COMPLETE);
    site = ti_builder_string(b, TI_STRING_SITE, "ring+0x40");
    init = ti_builder_symbol(b, &(struct ti_call){.op = TI_OP_INIT});
    send = ti_builder_symbol(b, &(struct ti_call){.op = TI_OP_SEND,
                                                  .site = site,
                                                  .mask = TI_M_P2P,
                                                  .arg = {[TI_F_PEER] = right,
                                                          [TI_F_TAG] = 5,
                                                          [TI_F_BYTES] = 40 + 8 * rank,
                                                          [TI_F_ESIZE] = 8}});
    recv = ti_builder_symbol(
        b,
        &(struct ti_call){
            .op = TI_OP_RECV,
            .mask = TI_M_P2P,
            .arg = {
                [TI_F_PEER] = left, [TI_F_TAG] = 5, [TI_F_BYTES] = left_bytes, [TI_F_ESIZE] = 8}});
    end = ti_builder_symbol(b, &(struct ti_call){.op = TI_OP_FINALIZE});
    ti_builder_call(b, init);
    put_value(b, 100);
    ti_builder_loop(b);
    put_value(b, trips);
    assert_int_equal(ti_builder_call(b, send), 2);
    put_value(b, 1000 + rank);      /* after a trip */
    put_value(b, 50 * rank * rank); /* before the loop */
    assert_int_equal(ti_builder_call(b, recv), 1);
    put_value(b, 7);
    ti_builder_end_loop(b);
    if (rank == 0) {
        barrier = ti_builder_symbol(b, &(struct ti_call){.op = TI_OP_BARRIER, .mask = TI_M_COMM});
        ti_builder_call(b, barrier);
        put_value(b, 1);
    }
    ti_builder_call(b, end);
    put_value(b, 2);
    return b;
}

static struct ti_record ring_record(uint32_t rank, int64_t trips)
{
    struct ti_builder *b = ring(rank, trips);
    struct ti_record record;
    struct ti_err err;

    assert_int_equal(ti_builder_finish(b, RANKS, TI_HASH_ALL, &record, &err), TI_OK);
    ti_builder_free(b);
    return record;
}

/* Read the events of a record, which is released; add them up. */
static struct ti_totals events_of(struct ti_record *record, struct ti_totals *totals)
{
    struct ti_totals sum = {0, 0, TI_HASH_START};
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;

    assert_int_equal(ti_reader_open_record(record, RANKS, records_run_id, "ring", &r, &err), TI_OK);
    while (ti_reader_next(r, &ev, &err) > 0) {
        sum.events++;
        sum.volume += ev.volume;
        sum.hash = ti_hash_event(sum.hash, &ev);
        if (ev.op == TI_OP_SEND)
            assert_string_equal(ti_reader_string(r, TI_STRING_SITE, ev.site), "ring+0x40");
    }
    assert_true(ti_reader_totals(r, totals));
    ti_reader_close(r);
    return sum;
}

static void a_record_from_nothing(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct ti_record record = ring_record(rank, 10);
        struct ti_totals totals, sum = events_of(&record, &totals);

        assert_int_equal(sum.events, 22 + (rank == 0));
        assert_true(sum.volume ==
                    100 + 9 * (1000 + rank) + 50 * rank * rank + 70 + 2 + (rank == 0));
        assert_memory_equal(&sum, &totals, sizeof sum);
    }
}

static void wrong_records_are_refused(void **state)
{
    struct ti_record record;
    struct ti_err err;

    (void)state;
    for (int wrong = 0; wrong < 8; wrong++) {
        struct ti_builder *b = ring(1, 10);
        struct ti_call call = {.op = TI_OP_BARRIER, .mask = TI_M_COMM};

        switch (wrong) {
        case 0: /* a column is missing */
            ti_builder_call(b, 1);
            break;
        case 1: /* a loop is open */
            ti_builder_loop(b);
            put_value(b, 3);
            break;
        case 2: /* and one that was not begun */
            ti_builder_end_loop(b);
            break;
        case 3: /* no such operation, fields or field */
        case 4:
        case 5:
            call.op = wrong == 3 ? TI_OP_COUNT : call.op;
            call.mask = wrong == 4 ? 0 : wrong == 5 ? 1u << 31 | TI_M_COMM : call.mask;
            ti_builder_call(b, ti_builder_symbol(b, &call));
            put_value(b, 3);
            break;
        case 6: /* an empty loop */
            ti_builder_loop(b);
            put_value(b, 3);
            ti_builder_end_loop(b);
            break;
        default: /* loops are too deep */
            for (int i = 0; i <= TI_SHAPE_DEPTH; i++) {
                ti_builder_loop(b);
                put_value(b, 1);
            }
            ti_builder_call(b, 0);
            for (int i = 0; i <= TI_SHAPE_DEPTH; i++) {
                put_value(b, 1);
                ti_builder_end_loop(b);
            }
        }
        assert_int_equal(ti_builder_finish(b, RANKS, TI_HASH_ALL, &record, &err), TI_ERR_INPUT);
        ti_builder_free(b);
    }
}

/* After a change, the hash is that of the events, or of the record if there are too many. */
static void hashes_follow_changes(void **state)
{
    struct ti_record a = ring_record(2, 10), b = ring_record(2, 11), trips = ring_record(2, 10);
    struct ti_totals totals, sum;
    struct ti_err err;
    size_t k = 0;

    (void)state;
    while (a.number[k] == b.number[k] || k == 0)
        k++;
    ti_record_set(&a, k, 11);
    assert_int_equal(ti_record_rehash(&a, RANKS, TI_HASH_ALL, &err), TI_OK);
    records_must_equal(&a, &b);
    sum = events_of(&a, &totals);
    assert_memory_equal(&sum, &totals, sizeof sum);
    ti_record_set(&b, k, INT64_C(1) << 40);
    ti_record_set(&trips, k, INT64_C(1) << 40);
    assert_int_equal(ti_record_rehash(&b, RANKS, 1000, &err), TI_OK);
    assert_int_equal(ti_record_rehash(&trips, RANKS, 1000, &err), TI_OK);
    records_must_equal(&b, &trips);
    ti_record_set(&trips, k, (INT64_C(1) << 40) + 1);
    assert_int_equal(ti_record_rehash(&trips, RANKS, 1000, &err), TI_OK);
    assert_true(trips.number[0] != b.number[0]);
    ti_record_set(&trips, k, 0);
    assert_int_equal(ti_record_rehash(&trips, RANKS, 1000, &err), TI_ERR_INPUT);
    ti_record_free(&b);
    ti_record_free(&trips);
}

/* Read a record, which is released, as all tools do. */
static ti_status scan(struct ti_record *record)
{
    struct ti_scan sums;
    struct ti_reader *r;
    struct ti_err err;
    ti_status st;

    assert_int_equal(ti_reader_open_record(record, RANKS, records_run_id, "ring", &r, &err), TI_OK);
    st = ti_scan_read(r, &sums, &err);
    assert_true(st || !sums.left_out);
    ti_scan_free(&sums);
    ti_reader_close(r);
    return st;
}

/* A tool that reads all events accepts a hash of these, or of the record, and no other. */
static void either_hash_fits(void **state)
{
    struct ti_record events = ring_record(2, 3), whole = ring_record(2, 3), wrong, other;
    const struct ti_qualities stats = {{TI_STATISTICS, 0}, {TI_EXACT, 0}};
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_record_rehash(&whole, RANKS, 5, &err), TI_OK);
    assert_true(whole.number[0] != events.number[0]);
    wrong = ring_record(2, 3);
    ti_record_set(&wrong, 0, whole.number[0] + 1);
    other = ring_record(2, 4);
    ti_record_set(&other, 0, whole.number[0]);
    assert_int_equal(scan(&events), TI_OK);
    assert_int_equal(scan(&wrong), TI_ERR_INPUT);
    assert_int_equal(scan(&other), TI_ERR_INPUT);
    assert_int_equal(ti_reader_open_record(&whole, RANKS, records_run_id, "ring", &r, &err), TI_OK);
    assert_int_equal(ti_folded_encode(r, &stats, &whole, &err), TI_OK);
    ti_reader_close(r);
    assert_int_equal(scan(&whole), TI_OK);
    whole = ring_record(2, 3);
    assert_int_equal(ti_record_rehash(&whole, RANKS, 5, &err), TI_OK);
    assert_int_equal(scan(&whole), TI_OK);
}

/* ------------------------------------------------------------------------- views -- */

static void check_values(struct ti_view *v)
{
    size_t n = ti_view_parts(v), members = (size_t)ti_ranges_count(ti_view_ranks(v));
    int64_t *value = calloc(n * members + 1, sizeof *value), *one = calloc(members, sizeof *one);
    struct ti_err err;
    size_t i = 0;

    assert_int_equal(ti_view_values(v, 0, n, value, &err), TI_OK);
    for (size_t k = 0; k < n; k++) {
        struct ti_formula f = ti_view_formula(v, k);

        assert_int_equal(ti_view_values(v, k, 1, one, &err), TI_OK);
        assert_memory_equal(one, value + k * members, members * sizeof *one);
        i = 0;
        ti_ranges_foreach (ti_view_ranks(v), rank) {
            if (f.kind == TI_COLUMN_CONSTANT)
                assert_true(one[i] == f.a);
            if (f.kind == TI_COLUMN_LINEAR)
                assert_true(one[i] == f.a + f.b * rank);
            i++;
        }
    }
    i = 0;
    ti_ranges_foreach (ti_view_ranks(v), rank) {
        struct ti_record record;

        assert_int_equal(ti_view_record(v, rank, &record, &err), TI_OK);
        assert_int_equal(record.nnumbers, ti_view_numbers(v));
        for (size_t k = 0; k < record.nnumbers; k++)
            assert_true(value[k * members + i] == record.number[k]);
        ti_record_free(&record);
        i++;
    }
    free(value);
    free(one);
}

static void must_be(struct ti_view *v, struct ti_record_part part, const char *text)
{
    int64_t k = ti_view_find(v, &part, false);
    struct ti_formula f;
    char buf[64];

    assert_true(k >= 0);
    f = ti_view_formula(v, (size_t)k);
    assert_string_equal(ti_formula_text(&f, buf, sizeof buf), text);
}

/* Open the ring as a merged trace. */
static struct ti_merged *open_ring(int *fd)
{
    struct ti_record all[RANKS];
    struct ti_merged *m;
    struct ti_merger *merger;
    struct ti_err err;

    assert_int_equal(ti_merger_new(RANKS, records_run_id, NULL, &merger, &err), TI_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        all[rank] = ring_record(rank, 10);
        assert_int_equal(ti_merger_add(merger, &all[rank], &err), TI_OK);
        ti_record_free(&all[rank]);
    }
    *fd = file_of(NULL, 0);
    assert_int_equal(ti_merger_write(merger, *fd, "ring", &err), TI_OK);
    ti_merger_free(merger);
    assert_int_equal(ti_merged_open(*fd, 0, lseek(*fd, 0, SEEK_END), "ring", &m, &err), TI_OK);
    return m;
}

static void groups_and_formulas(void **state)
{
    int fd;
    struct ti_merged *m = open_ring(&fd);
    struct ti_folded *f;
    struct ti_view *v;
    struct ti_err err;
    struct ti_call call;

    (void)state;
    assert_int_equal(ti_merged_groups(m), 2);
    assert_int_equal(ti_merged_group_of(m, 0), 0);
    assert_int_equal(ti_merged_group_of(m, RANKS - 1), 1);
    assert_int_equal(ti_merged_group_of(m, RANKS), -1);
    for (uint32_t g = 0; g < 2; g++) {
        assert_int_equal(ti_view_open(m, g, &v, &err), TI_OK);
        assert_int_equal(ti_ranges_count(ti_view_ranks(v)), g ? RANKS - 1 : 1);
        check_values(v);
        if (g == 0)
            ti_view_close(v);
    }
    f = ti_reader_folded(ti_view_reader(v));
    assert_int_equal(ti_shape_nodes(f), 5);
    ti_shape_symbol(f, 1, &call);
    assert_int_equal(call.op, TI_OP_SEND);
    assert_int_equal(call.arg[TI_F_TAG], 5);
    must_be(v, (struct ti_record_part){TI_PART_TRIPS, 0, 1, 0}, "10");
    must_be(v, (struct ti_record_part){TI_PART_FIELD, TI_F_BYTES, 1, 0}, "40 + 8 * rank");
    must_be(v, (struct ti_record_part){TI_PART_FIELD, TI_F_PEER, 2, 0}, "-1");
    must_be(v, (struct ti_record_part){TI_PART_VOLUMES, 0, 2, 0}, "1000 + 1 * rank");
    must_be(v, (struct ti_record_part){TI_PART_VOLUMES, 0, 2, 1}, "a list");
    must_be(v, (struct ti_record_part){TI_PART_INFO, 0, 0, 0}, "0 + 1 * rank");
    must_be(v, (struct ti_record_part){TI_PART_COMM_SIZE, 0, 0, 0}, "24");
    must_be(v, (struct ti_record_part){TI_PART_SITE, 0, 1, 0}, "64");
    assert_int_equal(ti_view_find(v, &(struct ti_record_part){TI_PART_TRIPS, 0, 2, 0}, false), -1);
    assert_true(ti_view_find(v, &(struct ti_record_part){TI_PART_TRIPS, 0, 1, 0}, true) > 0);
    ti_view_close(v);
    ti_merged_close(m);
    close(fd);
}

/* Views of damaged merged traces give errors, or something that can be asked for. */
static void damage_is_told(void **state)
{
    int fd, opened = 0;
    struct ti_merged *m = open_ring(&fd);
    struct ti_file file = file_content(fd);

    (void)state;
    ti_merged_close(m);
    close(fd);
    for (size_t at = 0; at < file.n; at++) {
        struct ti_view *v;
        struct ti_err err;

        file.data[at] ^= 0x10;
        fd = file_of(file.data, file.n);
        file.data[at] ^= 0x10;
        if (ti_merged_open(fd, 0, (int64_t)file.n, "damaged", &m, &err) == TI_OK) {
            for (uint32_t g = 0; g < ti_merged_groups(m); g++)
                if (ti_view_open(m, g, &v, &err) == TI_OK) {
                    opened++;
                    ti_view_close(v);
                }
            ti_merged_close(m);
        }
        close(fd);
    }
    free(file.data);
    assert_true(opened < (int)file.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rebuilt_is_equal),      cmocka_unit_test(cursors_take_runs),
        cmocka_unit_test(a_record_from_nothing), cmocka_unit_test(wrong_records_are_refused),
        cmocka_unit_test(hashes_follow_changes), cmocka_unit_test(either_hash_fits),
        cmocka_unit_test(groups_and_formulas),   cmocka_unit_test(damage_is_told),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
