/* Folded records against the traces that they are made of: every event, and what a trace says
 * beside its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scratch.h"
#include "event/buffer.h"
#include "fold/decode.h"
#include "fold/record.h"
#include "fold/record_layout.h"
#include "fold/seek.h"
#include "merged/encode.h"
#include "tests/unit/programs.h"
#include "tests/unit/records.h"
#include "tests/verify.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* ----------------------------------------------------------------- comparing -- */

static void same_vectors(const struct ti_event *a, const struct ti_event *b)
{
    for (int v = 0; v < TI_VECS; v++) {
        assert_int_equal(a->vec[v].len, b->vec[v].len);
        for (int64_t i = 0; i < a->vec[v].len; i++)
            assert_int_equal(ti_vec_at(&a->vec[v], i), ti_vec_at(&b->vec[v], i));
    }
}

static void same_event(const struct ti_reader *ra, const struct ti_event *a,
                       const struct ti_reader *rb, const struct ti_event *b)
{
    const char *site = ti_reader_string(ra, TI_STRING_SITE, a->site);

    assert_int_equal(a->op, b->op);
    assert_int_equal(a->mask, b->mask);
    assert_true(a->volume == b->volume);
    for (uint32_t rest = a->mask; rest; rest &= rest - 1)
        assert_true(a->arg[__builtin_ctz(rest)] == b->arg[__builtin_ctz(rest)]);
    if (site)
        assert_string_equal(site, ti_reader_string(rb, TI_STRING_SITE, b->site));
    else
        assert_int_equal(b->site, 0);
    same_vectors(a, b);
    for (int i = 0; i < ti_reader_extras(ra); i++)
        assert_true(a->extra[i] == b->extra[i]);
}

static void same_tables(const struct ti_reader *a, const struct ti_reader *b)
{
    const char *ka, *va, *kb, *vb;
    struct ti_totals ta, tb;

    for (int i = 0; ti_reader_info_at(a, i, &ka, &va); i++) {
        assert_true(ti_reader_info_at(b, i, &kb, &vb));
        assert_string_equal(ka, kb);
        assert_string_equal(va, vb);
    }
    assert_int_equal(ti_reader_info_first(a), ti_reader_info_first(b));
    for (int64_t i = 0; i < 4; i++) {
        const struct ti_comm *x = ti_reader_comm(a, i), *y = ti_reader_comm(b, i);

        assert_int_equal(!x, !y);
        if (!x)
            continue;
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->size, y->size);
        assert_memory_equal(x->member, y->member, (size_t)x->size * sizeof *x->member);
        assert_int_equal(x->remote_size, y->remote_size);
        if (x->remote_size)
            assert_memory_equal(x->remote, y->remote, (size_t)x->remote_size * sizeof *x->remote);
    }
    for (int k = 0; k < 2; k++)
        assert_string_equal(ti_reader_string(a, "cf"[k], 1), ti_reader_string(b, "cf"[k], 1));
    assert_int_equal(ti_reader_end(a), ti_reader_end(b));
    assert_int_equal(ti_reader_totals(a, &ta), ti_reader_totals(b, &tb));
    assert_int_equal(ti_reader_events(a), ti_reader_events(b));
    if (ti_reader_totals(a, &ta))
        assert_memory_equal(&ta, &tb, sizeof ta);
}

static struct ti_record encode(void)
{
    struct ti_record record;
    struct ti_reader *r;
    struct ti_err err;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    assert_int_equal(ti_folded_encode(r, NULL, &record, &err), TI_OK);
    ti_reader_close(r);
    return record;
}

/* Whether a record has the events of the trace; the record is released. */
static void same_trace(struct ti_record *record)
{
    struct ti_reader *a, *b, *again;
    struct ti_event x, y;
    struct ti_err err;
    uint64_t events;
    int more;

    assert_int_equal(record->rank, 3);
    assert_int_equal(ti_reader_open(program_path, &a, &err), TI_OK);
    assert_int_equal(ti_reader_open_record(record, 8, program_run_id, "record", &b, &err), TI_OK);
    ti_reader_want_extras(a);
    ti_reader_want_extras(b);
    while ((more = ti_reader_next(a, &x, &err)) > 0) {
        assert_int_equal(ti_reader_next(b, &y, &err), 1);
        same_event(a, &x, b, &y);
    }
    assert_int_equal(more, 0);
    assert_int_equal(ti_reader_next(b, &y, &err), 0);
    assert_int_equal(ti_reader_next(b, &y, &err), 0);
    same_tables(a, b);
    assert_int_equal(ti_reader_again(b, &again, &err), TI_OK);
    assert_int_equal(verify_trace(again, &events, &err), TI_OK);
    assert_int_equal(events, ti_reader_events(a));
    ti_reader_close(again);
    ti_reader_close(b);
    ti_reader_close(a);
}

static void random_programs_come_back(void **state)
{
    int folded = 0, runs = 300;

    (void)state;
    for (int i = 0; i < runs; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));
        struct ti_record record;

        program_trace(program_path, program, 1 + (int)program_rnd(i % 7 ? 20 : 200), i % 5 == 0,
                      i % 3 ? 20000 : program_rnd(500), i % 4 ? TI_END_COMPLETE : TI_END_ABORTED);
        record = encode();
        folded += !ti_record_is_copy(&record);
        same_trace(&record);
        program_free(program);
    }
    assert_true(folded > runs / 2);
}

/* ----------------------------------------------------------- compactness -- */

/* Bytes of a record, which is released. */
static size_t bytes_of(struct ti_record *record)
{
    size_t bytes = record->pattern.n + record->nnumbers * sizeof *record->number;

    assert_false(ti_record_is_copy(record));
    for (size_t i = 0; i < record->nblobs; i++)
        bytes += record->blob[i].n;
    same_trace(record);
    return bytes;
}

static void length_does_not_matter(void **state)
{
    struct statement send = program_call(TI_OP_SEND, 1000), recv = program_call(TI_OP_RECV, 50);
    struct statement inner = {.trips = 7}, outer = {.trips = 3},
                     sum = program_call(TI_OP_ALLREDUCE, 9);
    size_t bytes[2];

    (void)state;
    inner.child = &send;
    send.next = &recv;
    outer.child = &inner;
    outer.next = &sum;
    for (int i = 0; i < 2; i++) {
        struct ti_record record;

        program_seed = 1; /* the same start */
        program_trace(program_path, &outer, i ? 10000 : 10, 0, UINT64_MAX, TI_END_COMPLETE);
        record = encode();
        bytes[i] = bytes_of(&record);
    }
    assert_int_equal(bytes[0], bytes[1]);
}

static void many_values_become_columns(void **state)
{
    (void)state;
    for (uint32_t values = TI_FIELD_VALUES - 1; values < TI_FIELD_VALUES + 3; values++) {
        struct statement send = program_call(TI_OP_SEND, 1000),
                         barrier = program_call(TI_OP_BARRIER, 5);
        struct ti_record record;

        send.next = &barrier;
        send.values[TI_F_BYTES] = values;
        program_trace(program_path, &send, 3000, 0, UINT64_MAX, TI_END_COMPLETE);
        record = encode();
        assert_true(bytes_of(&record) < 8000);
    }
}

/* Folding makes noise hardly smaller: that of a large trace is copied. */
static void large_noise_is_copied(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        struct statement call = program_call(TI_OP_BARRIER, 1000000);
        struct ti_record record;
        struct stat sb;

        call.noise = 1 << 24;
        program_trace(program_path, &call, large ? 50000 : 5000, 0, UINT64_MAX, TI_END_COMPLETE);
        assert_int_equal(stat(program_path, &sb), 0);
        assert_int_equal(sb.st_size > 65536, large);
        record = encode();
        assert_int_equal(ti_record_is_copy(&record), large);
        same_trace(&record);
    }
}

/* ---------------------------------------------------------------- damage -- */

/* Elements of vectors are read into it, so that sanitizers see the access. */
static volatile int64_t last_element;

/* Read all of a record that may be malformed, up to a number of events. */
static void read_damaged(const struct ti_record *record)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    struct ti_place place;
    struct ti_event ev;

    if (ti_record_is_copy(record) || ti_folded_open(record, 8, &f, &tables))
        return;
    ti_folded_check(f);
    for (int i = 0; i < 3; i++) {
        ti_folded_seek_sum(f, program_rnd(8) & ((2u << ti_folded_extras(f)) - 1),
                           program_rnd(100000), &place);
        if (ti_folded_seek_event(f, program_rnd(ti_folded_events(f) + 2), &place) > 0)
            ti_folded_next(f, &ev);
    }
    for (int i = 0; i < 1000 && ti_folded_next(f, &ev) > 0; i++)
        for (int v = 0; v < TI_VECS; v++)
            for (int64_t k = 0; k < ev.vec[v].len; k++)
                last_element = ti_vec_at(&ev.vec[v], k);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
}

/* A piece of memory that ends where the next byte is not ours. */
static struct ti_bytes copy_of(const struct ti_bytes *bytes)
{
    uint8_t *data = malloc(bytes->n ? bytes->n : 1);

    if (bytes->n)
        memcpy(data, bytes->data, bytes->n);
    return (struct ti_bytes){data, bytes->n};
}

static void damage_does_no_harm(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        static struct ti_record record;
        struct ti_record bad;
        struct ti_bytes *blob;
        int64_t *number;

        if (round % 50 == 0) {
            struct statement *program = program_random(3, 6);

            ti_record_free(&record);
            program_trace(program_path, program, 20, round % 3 == 0, 5000, TI_END_COMPLETE);
            record = encode();
            program_free(program);
        }
        bad = record;
        blob = calloc(record.nblobs + 1, sizeof *blob);
        number = calloc(record.nnumbers + 1, sizeof *number);
        if (record.nnumbers)
            memcpy(number, record.number, record.nnumbers * sizeof *number);
        for (size_t i = 0; i < record.nblobs; i++)
            blob[i] = copy_of(&record.blob[i]);
        bad.pattern = copy_of(&record.pattern);
        bad.blob = blob;
        bad.number = number;
        for (uint64_t k = 0; k <= program_rnd(3); k++) {
            struct ti_bytes *b = record.nblobs ? &blob[program_rnd(record.nblobs)] : &bad.pattern;

            if (program_rnd(3) == 0 && record.nnumbers)
                number[program_rnd(record.nnumbers)] =
                    program_rnd(2) ? (int64_t)program_seed : (int64_t)program_rnd(300) - 5;
            else if (program_rnd(2) && b->n)
                ((uint8_t *)(uintptr_t)b->data)[program_rnd(b->n)] = (uint8_t)program_seed;
            else if (program_rnd(4) == 0)
                bad.pattern.n -= program_rnd(bad.pattern.n);
            else
                ((uint8_t *)(uintptr_t)bad.pattern.data)[program_rnd(bad.pattern.n)] ^=
                    (uint8_t)(1u << program_rnd(8));
        }
        read_damaged(&bad);
        for (size_t i = 0; i < record.nblobs; i++)
            free((void *)(uintptr_t)blob[i].data);
        free((void *)(uintptr_t)bad.pattern.data);
        free(blob);
        free(number);
        if (round == 2999)
            ti_record_free(&record);
    }
}

/* Begin a trace of rank 3 of 8 by hand. */
static struct ti_writer *begin(void)
{
    static const char *const info[] = {"host", "here"};
    struct ti_writer *w;
    struct ti_err err;

    unlink(program_path);
    assert_int_equal(ti_writer_open(program_path, 3, 8, program_run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    ti_writer_string(w, TI_STRING_CALL, "MPI_Foo");
    ti_writer_string(w, TI_STRING_FILE, "/file");
    ti_writer_comm(w, 0, TI_KIND_WORLD, 3, 8, NULL, 0, NULL);
    return w;
}

static void end(struct ti_writer *w)
{
    struct ti_err err;

    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

/* Offsets are numbers in the record, if the text can be made of them again. */
static void call_sites_come_back(void **state)
{
    static const char *const sites[] = {
        "a+0x1",
        "a+0xfedcba987654321 [id]",
        "a+0xfedcba9876543210 [id]",
        "a+0x0 [id]",
        "a+0x01",
        "a+0xABC",
        "a+0x12+0x34",
        "a+0x+0x34",
        "a+0xg",
        "no offset",
        "+0x7fffffff",
        "a+0x",
        "b+0x22 [id]c",
        "b+0xffZ",
    };
    struct statement call = program_call(TI_OP_FINALIZE, 7);
    struct ti_writer *w = begin();
    struct ti_record record;
    size_t plain = 0;

    (void)state;
    for (uint32_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        ti_writer_string(w, TI_STRING_SITE, sites[i]);
        call.ev.site = i + 1;
        ti_writer_event(w, &call.ev);
    }
    end(w);
    record = encode();
    for (size_t i = 0; i < record.nnumbers; i++)
        plain += record.number[i] == -1;
    assert_int_equal(plain, 8);
    same_trace(&record);
}

enum { VECTORS = 40, LENGTH = 64 };

/* The blob of the elements is the largest one. */
static size_t largest_blob(const struct ti_record *record)
{
    size_t most = 0;

    for (size_t i = 0; i < record->nblobs; i++)
        most = record->blob[i].n > most ? record->blob[i].n : most;
    return most;
}

/* Bytes of the elements of 2 * VECTORS vectors.  make: gives element `i` of vector `v`. */
static size_t record_vectors(int32_t (*make)(int v, int i))
{
    struct statement call = program_call(TI_OP_ALLTOALLV, 7);
    struct ti_writer *w = begin();
    struct ti_record record;
    int32_t vec[TI_VECS][LENGTH];
    size_t size;

    for (int v = 0; v < VECTORS; v++) {
        for (int k = 0; k < TI_VECS; k++) {
            for (int i = 0; i < LENGTH; i++)
                vec[k][i] = make(v, i);
            call.ev.vec[k] = (struct ti_vec){vec[k], 4, LENGTH - v / 20};
        }
        ti_writer_event(w, &call.ev);
    }
    end(w);
    record = encode();
    size = largest_blob(&record);
    same_trace(&record);
    return size;
}

static int32_t any_element(int v, int i)
{
    (void)v;
    (void)i;
    return (int32_t)program_rnd(8000);
}

static int32_t similar_element(int v, int i)
{
    return (i * 2741) % 8000 + v % 2 * i * i % 7 + (i == v);
}

static int32_t run_element(int v, int i)
{
    return 100000 + v / 4 + i / 32;
}

static void vectors_come_back(void **state)
{
    (void)state;
    assert_in_range(record_vectors(any_element), 2 * VECTORS * LENGTH, 2 * VECTORS * LENGTH * 2);
    assert_in_range(record_vectors(similar_element), VECTORS, VECTORS * LENGTH * 12 / 10);
    assert_in_range(record_vectors(run_element), 1, 100);
}

/* Ten loops in each other, of a million trips each. */
static void a_bomb_is_refused_at_once(void **state)
{
    struct ti_record record = record_nest(10, 1000000, 5);
    struct ti_folded_tables tables;
    struct ti_folded *f;
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    assert_string_equal(ti_folded_open(&record, 8, &f, &tables),
                        "its loops claim more than 2^44 events");
    assert_int_equal(ti_reader_open_record(&record, 8, program_run_id, "bomb", &r, &err),
                     TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "'bomb' is damaged: its loops claim more than 2^44 events"));
}

static void raise_term(int signal)
{
    (void)signal;
    raise(SIGTERM);
}

/* A trace that nobody could read to its end: a signal ends the encoder. */
static void a_signal_ends_encoding(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) { /* ti_stop_catch() is for a whole process */
        static const struct ti_qualities stats = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
        struct ti_record record = record_nest(4, 1000, 3), out;
        struct itimerval soon = {.it_value = {0, 20000}};
        struct ti_reader *r;
        struct ti_err err;

        ti_stop_catch();
        signal(SIGALRM, raise_term);
        setitimer(ITIMER_REAL, &soon, NULL);
        if (ti_reader_open_record(&record, 8, program_run_id, "long", &r, &err) ||
            ti_folded_encode(r, &stats, &out, &err) != TI_ERR_IO ||
            strcmp(err.text, "interrupted") != 0)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ------------------------------------------------------------ lists of ranks -- */

enum { RANKS = 4096, OWN = 5, COMMS = 240 };

/* Ranks of communicator `index`: one run, several with and without gaps, backwards, pairs that look
 * like runs, or no order.  The own rank is among them; returns how many, and where in *at. */
static int some_ranks(int index, int *member, int *at)
{
    int n = 0, size = index % 60 == 0 ? RANKS : 1 + index % 37;

    for (int i = 0; i < size; i++) {
        int kind = index % 6, rank = kind == 0   ? i
                                     : kind == 1 ? (3 * i + index) % RANKS
                                     : kind == 2 ? (i / 2) * 5 + i % 2
                                     : kind == 3 ? RANKS - 1 - i
                                     : kind == 4 ? i % 3 == 0 ? 7 * i : i
                                                 : (i * 1663 + index) % RANKS;

        if (rank != OWN)
            member[n++] = rank;
    }
    *at = n ? index % (n + 1) : 0;
    memmove(member + *at + 1, member + *at, (size_t)(n - *at) * sizeof *member);
    member[*at] = OWN;
    return n + 1;
}

static void write_lists(const char *path)
{
    static const char *const info[] = {"counter", "none"};
    static int member[RANKS + 1];
    struct ti_event ev = {.op = TI_OP_FINALIZE};
    struct ti_writer *w;
    struct ti_err err;

    assert_int_equal(ti_writer_open(path, OWN, RANKS, program_run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    for (int i = 0; i < COMMS; i++) {
        int at, n = some_ranks(i, member, &at);

        ti_writer_comm(w, (uint32_t)i, TI_KIND_SPLIT, at, n, member, 0, NULL);
    }
    ti_writer_event(w, &ev);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

/* Read `r` to its end, and compare its communicators. */
static void has_lists(struct ti_reader *r)
{
    static int member[RANKS + 1];
    struct ti_event ev;
    struct ti_err err;

    while (ti_reader_next(r, &ev, &err) == 1)
        ;
    assert_int_equal(ti_reader_end(r), TI_END_COMPLETE);
    for (int i = 0; i < COMMS; i++) {
        int at, n = some_ranks(i, member, &at);
        const struct ti_comm *comm = ti_reader_comm(r, i);

        assert_int_equal(comm->size, n);
        assert_int_equal(comm->rank, at);
        for (int k = 0; k < n; k++)
            assert_int_equal(comm->member[k], member[k]);
    }
}

/* Readers of a rank file and of its record, each with and without shared lists. */
static void lists_of_ranks_come_back(void **state)
{
    struct ti_rank_lists *lists = ti_rank_lists_new();
    struct ti_record record, copy;
    struct ti_reader *r[4];
    struct ti_err err;

    (void)state;
    unlink(program_path);
    write_lists(program_path);
    record = encode();
    copy = record;
    copy.memory = NULL;
    assert_int_equal(ti_reader_open(program_path, &r[0], &err), TI_OK);
    assert_int_equal(ti_reader_open_record(&copy, RANKS, program_run_id, "record", &r[1], &err),
                     TI_OK);
    assert_int_equal(ti_reader_open(program_path, &r[2], &err), TI_OK);
    ti_reader_share(r[2], lists);
    assert_int_equal(
        ti_reader_open_record_sharing(&record, RANKS, program_run_id, "record", lists, &r[3], &err),
        TI_OK);
    for (int i = 0; i < 4; i++)
        has_lists(r[i]);
    for (int i = 0; i < COMMS; i++)
        assert_ptr_equal(ti_reader_comm(r[2], i)->member, ti_reader_comm(r[3], i)->member);
    for (int i = 0; i < 4; i++)
        ti_reader_close(r[i]);
    ti_rank_lists_free(lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_come_back),  cmocka_unit_test(length_does_not_matter),
        cmocka_unit_test(many_values_become_columns), cmocka_unit_test(large_noise_is_copied),
        cmocka_unit_test(damage_does_no_harm),        cmocka_unit_test(call_sites_come_back),
        cmocka_unit_test(vectors_come_back),          cmocka_unit_test(a_bomb_is_refused_at_once),
        cmocka_unit_test(a_signal_ends_encoding),     cmocka_unit_test(lists_of_ranks_come_back),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
