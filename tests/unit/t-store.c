/* The writer's store of columns: what it holds never exceeds its memory or its counters, wherever
 * chunks end; and chunks that are wrong in what they go on with, or copy, are damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "tests/verify.h"
#include "trace/reader.h"
#include "trace/writer_internal.h"

static const uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
static char file[64];

/* ----------------------------------------------------------------- programs -- */

/* A number that is always the same for `x` and `y`. */
static uint64_t mix(uint64_t x, uint64_t y)
{
    x = (x ^ y * 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct program {
    uint64_t ops;    /* operations that take turns */
    uint64_t odd;    /* one of so many events has other values */
    int64_t longest; /* vector */
    size_t buffer;
    int extras;
    uint64_t flush; /* after so many events, and now and then one later */
};

static struct {
    struct ti_event ev;
    int64_t data[TI_VECS][1000];
    uint64_t extra[TI_EXTRAS_MAX];
} made;

/* Event `i` of a program: the values of each field repeat with a period of its own. */
static void make_event(const struct program *p, uint64_t i)
{
    uint64_t turn = i / p->ops, odd = mix(i, 1) % p->odd == 0 ? mix(i, 2) : 0;
    uint32_t op = (uint32_t)(i % p->ops * 7 % TI_OP_COUNT);
    const struct ti_op_info *of = ti_op_info(op);

    memset(&made.ev, 0, sizeof made.ev);
    made.ev.op = op;
    made.ev.mask = of->fields | (op & 1 ? of->optional : 0);
    made.ev.volume = odd ? odd >> odd % 60 : mix(turn % 5, op);
    for (int f = 0; f < TI_F_COUNT; f++)
        if (made.ev.mask >> f & 1)
            made.ev.arg[f] = (int64_t)(mix(turn % (2 + (uint64_t)f % 9), odd) >> 8 >> f);
    for (int v = 0; v < TI_VECS; v++) {
        int64_t len = turn % 3 ? (int64_t)(mix(turn / 4, 3) % (uint64_t)p->longest) : 0;

        if (!of->vec[v][0])
            continue;
        for (int64_t k = 0; k < len; k++)
            made.data[v][k] = (int64_t)mix((uint64_t)k, turn / 4);
        made.ev.vec[v] = (struct ti_vec){made.data[v], 8, len};
    }
    for (int k = 0; k < p->extras; k++)
        made.extra[k] = mix(turn % (3 + (uint64_t)k), odd) >> k;
}

static struct ti_writer *begin(const struct program *p)
{
    const char *info[] = {"host", "here", "extra", NULL};
    char names[200] = "";
    struct ti_writer *w;
    struct ti_err err;

    for (int k = 0; k < p->extras; k++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%sx%d:u", k ? " " : "", k);
    info[3] = names;
    unlink(file);
    assert_int_equal(ti_writer_open(file, 0, 1, run_id, &w, &err), TI_OK);
    assert_int_equal(ti_writer_buffer(w, p->buffer, &err), TI_OK);
    ti_writer_info(w, info, p->extras ? 2 : 1);
    if (p->extras)
        ti_writer_extras(w, p->extras);
    return w;
}

static void append(struct ti_writer *w, const struct program *p, uint64_t i)
{
    make_event(p, i);
    if (p->extras)
        assert_int_equal(ti_writer_event_extra(w, &made.ev, made.extra), TI_OK);
    else
        assert_int_equal(ti_writer_event(w, &made.ev), TI_OK);
    /* copies that go on may take a block each when the chunk is written */
    assert_in_range(w->nblocks + w->nperiods, 0, w->blocks);
    assert_in_range(w->ncols, 1, COLS);
}

static void check_event(const struct program *p, uint64_t i, const struct ti_event *ev)
{
    make_event(p, i);
    assert_int_equal(made.ev.op, ev->op);
    assert_int_equal(made.ev.mask, ev->mask);
    assert_true(made.ev.volume == ev->volume);
    for (int f = 0; f < TI_F_COUNT; f++)
        if (ev->mask >> f & 1)
            assert_true(made.ev.arg[f] == ev->arg[f]);
    for (int v = 0; v < TI_VECS; v++) {
        assert_int_equal(made.ev.vec[v].len, ev->vec[v].len);
        for (int64_t k = 0; k < ev->vec[v].len; k++)
            assert_true(ti_vec_at(&made.ev.vec[v], k) == ti_vec_at(&ev->vec[v], k));
    }
    assert_int_equal(p->extras > 0, ev->extra != NULL);
    for (int k = 0; k < p->extras; k++)
        assert_true(made.extra[k] == ev->extra[k]);
}

static void check(const struct program *p, uint64_t events)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    uint64_t n;

    assert_int_equal(ti_reader_open(file, &r, &err), TI_OK);
    ti_reader_want_extras(r);
    for (uint64_t i = 0; i < events; i++) {
        if (ti_reader_next(r, &ev, &err) != 1)
            fail_msg("event %d: %s", (int)i, err.text);
        check_event(p, i, &ev);
    }
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    ti_reader_close(r);
    assert_int_equal(ti_reader_open(file, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &n, &err), TI_OK);
    assert_int_equal(n, events);
    ti_reader_close(r);
}

/* Counts of chunks that were read. */
static struct {
    int ends, gone_on, copies, most_periods;
} seen;

static void look_at_end(const struct ti_writer *w)
{
    seen.ends++;
    seen.gone_on += w->cols_written > 0;
    for (int i = 0; w->cols_written && i < w->nperiods; i++)
        seen.copies += w->period[i].before > 0;
}

static void roundtrip(const struct program *p, uint64_t events)
{
    struct ti_writer *w = begin(p);
    struct ti_err err;
    uint64_t next = p->flush;

    for (uint64_t i = 0; i < events; i++) {
        append(w, p, i);
        if (w->nperiods > seen.most_periods)
            seen.most_periods = w->nperiods;
        if (i != next)
            continue;
        ti_writer_flush(w);
        look_at_end(w);
        next += p->flush + i % 2;
    }
    if (ti_writer_error(w, &err))
        fail_msg("%s", err.text);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    check(p, events);
}

/* Whatever fills the store: many columns with periods, vectors, extra values. */
static void test_room(void **state)
{
    static const size_t buffers[] = {TI_BUFFER_LEAST, TI_BUFFER_DEFAULT, 64 << 10, 3 << 20};

    (void)state;
    memset(&seen, 0, sizeof seen);
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++)
        for (int extras = 0; extras <= TI_EXTRAS_MAX; extras += 8)
            for (uint64_t ops = 3; ops < 100; ops = 5 * ops)
                for (int64_t longest = 1; longest <= 256; longest *= 16) {
                    struct program p = {ops, 50, longest, buffers[b], extras, UINT64_MAX};

                    roundtrip(&p, 5000);
                }
    assert_int_equal(seen.most_periods, PERIODS);
}

/* Chunks that end anywhere, within copies and runs, and go on; with vectors of all lengths. */
static void test_goes_on(void **state)
{
    (void)state;
    for (int extras = 0; extras < 4; extras += 3)
        for (uint64_t ops = 1; ops < 30; ops = 3 * ops)
            for (uint64_t flush = 1; flush < 2000; flush = 3 * flush + 1) {
                struct program p = {ops, 500, 700, 3 << 20, extras, flush};

                memset(&seen, 0, sizeof seen);
                roundtrip(&p, 4000);
                assert_in_range(seen.gone_on, seen.ends * 3 / 4, seen.ends);
                if (flush < 100 && ops < 10)
                    assert_in_range(seen.copies, seen.ends / 4, PERIODS * seen.ends);
            }
}

/* Vectors that repeat after a chunk's end, as they were or after a long one. */
static void test_vectors(void **state)
{
    static const int64_t lens[] = {2, 2, 300, 300, 2, 0, 0, 256, 256, 257, 0};
    enum { LENS = sizeof lens / sizeof *lens, EVENTS = 40 * LENS };
    static int32_t data[300];
    struct program p = {.buffer = TI_BUFFER_DEFAULT};
    struct ti_event ev = {.op = TI_OP_ALLTOALLV, .mask = ti_op_info(TI_OP_ALLTOALLV)->fields};
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    for (int k = 0; k < 300; k++)
        data[k] = k * k;
    for (int every = 1; every < 2 * LENS; every++) {
        struct ti_writer *w = begin(&p);

        for (int i = 0; i < EVENTS; i++) {
            ev.vec[0] = ev.vec[1] = (struct ti_vec){data + i / 50, 4, lens[i % LENS]};
            ev.vec[1].len = ev.vec[1].len ? 1 : 0;
            if (lens[i % LENS] > 200)
                ev.vec[0].data = data;
            assert_int_equal(ti_writer_event(w, &ev), TI_OK);
            if (i % every == 0)
                ti_writer_flush(w);
        }
        assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
        assert_int_equal(ti_reader_open(file, &r, &err), TI_OK);
        for (int i = 0; i < EVENTS; i++) {
            int from = lens[i % LENS] > 200 ? 0 : i / 50;

            assert_int_equal(ti_reader_next(r, &ev, &err), 1);
            assert_int_equal(ev.vec[0].len, lens[i % LENS]);
            for (int64_t k = 0; k < ev.vec[0].len; k++)
                assert_int_equal(ti_vec_at(&ev.vec[0], k), data[from + k]);
        }
        assert_int_equal(ti_reader_next(r, &ev, &err), 0);
        ti_reader_close(r);
    }
}

/* A column counts the repetitions of a value with 32 bits, over all chunks that go on. */
static void test_counters(void **state)
{
    static const struct program p = {1, 1u << 30, 1, TI_BUFFER_DEFAULT, 0, UINT64_MAX};
    struct ti_writer *w = begin(&p);
    struct ti_err err;
    uint64_t events = 0;

    (void)state;
    while (w->cols_written == 0)
        append(w, &p, events++);
    /* as if 2^32 - 1 events came before the end of the next chunk, which is known then; or 2^32 */
    for (uint32_t more = 0; more < 2; more++) {
        uint64_t next = w->chunk_first + w->chunk_limit, limit = 3 * next + TI_CHUNK_EVENTS_FIRST;

        assert_in_range(limit, 1, w->chunk_most);
        w->events_written = (uint32_t)(UINT32_MAX - limit - w->chunk_limit + more);
        while (events <= next)
            append(w, &p, events++);
        assert_int_equal(w->cols_written > 0, more == 0);
    }
    assert_int_equal(w->events_written, 0);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    check(&p, events);
}

/* ------------------------------------------------------------------- damage -- */

static struct {
    uint8_t data[1 << 16];
    size_t n;
    uint64_t events;
} trace;

static void put_chunk(enum ti_chunk_type type, uint8_t version, uint32_t events,
                      const uint8_t *payload, size_t bytes)
{
    uint8_t *h = trace.data + trace.n;

    memset(h, 0, TI_CHUNK_BYTES);
    h[0] = (uint8_t)type;
    h[2] = version;
    ti_put_u64(h + 8, trace.events);
    ti_put_u32(h + 16, events);
    ti_put_u32(h + 20, (uint32_t)bytes);
    ti_put_u32(h + 24, (uint32_t)bytes);
    ti_put_u32(h + 28, ti_crc32c(0, h, 28));
    memcpy(h + TI_CHUNK_BYTES, payload, bytes);
    ti_put_u32(h + TI_CHUNK_BYTES + bytes, ti_crc32c(0, payload, bytes));
    trace.n += TI_CHUNK_BYTES + bytes + TI_CRC_BYTES;
    trace.events += events;
}

static void begin_trace(void)
{
    static const uint8_t info[] = "\4host\4here";

    memset(&trace, 0, sizeof trace);
    memcpy(trace.data, TI_MAGIC, TI_MAGIC_BYTES);
    ti_put_u16(trace.data + 8, TI_MAJOR);
    ti_put_u32(trace.data + 20, 1);
    ti_put_u32(trace.data + 44, ti_crc32c(0, trace.data, 44));
    trace.n = TI_HEADER_BYTES;
    put_chunk(TI_CHUNK_INF, TI_CHUNK_VERSION, 0, info, sizeof info - 1);
}

/* A column of values, as bytes. */
struct bytes {
    size_t n;
    uint8_t b[32];
};

/* A chunk of barriers: the first has volume 1, and the others those of a column. */
static void put_barriers(uint8_t version, uint32_t events, struct bytes volumes)
{
    uint8_t p[200];
    size_t n = 0;

    if (version >= TI_CHUNK_VERSION_COPIES)
        p[n++] = 0; /* goes on with none */
    p[n++] = 4;     /* bytes of the sequence */
    p[n++] = 1;     /* symbols */
    p[n++] = TI_OP_BARRIER;
    p[n++] = 0;
    n += (size_t)ti_put_varint(p + n, ti_op_info(TI_OP_BARRIER)->fields);
    p[n++] = 0;
    for (int k = __builtin_popcount(ti_op_info(TI_OP_BARRIER)->fields); k; k--)
        p[n++] = 0;
    p[n++] = 2; /* columns of volumes: before the first event, and before others */
    p[n++] = 0;
    p[n++] = 0;
    p[n++] = 2;
    p[n++] = 1;
    p[n++] = 0;
    p[n++] = (uint8_t)volumes.n;
    for (int twice = 0; twice < 2; twice++) {
        p[n++] = 0;
        p[n++] = version >= TI_CHUNK_VERSION_COPIES;
    }
    p[n++] = 0;
    p[n++] = 2;
    memcpy(p + n, volumes.b, volumes.n);
    put_chunk(TI_CHUNK_EVT, version, events, p, n + volumes.n);
}

/* A chunk that goes on with these, by so many bytes of the column of volumes. */
static void put_more(uint8_t goes_on, uint32_t events, struct bytes volumes)
{
    uint8_t p[64] = {goes_on};
    size_t n = 2u + (size_t)__builtin_popcount(ti_op_info(TI_OP_BARRIER)->fields);

    p[n++] = 0; /* new symbols */
    p[n++] = 0; /* bytes of columns of volumes */
    p[n++] = (uint8_t)volumes.n;
    p[n++] = 0; /* new ones of these */
    memcpy(p + n, volumes.b, volumes.n);
    put_chunk(TI_CHUNK_EVT, TI_CHUNK_VERSION, events, p, n + volumes.n);
}

/* The volumes of the events, until the end or damage: 99 stands for that. */
static void expect(const char *what, int n, const uint64_t *volume)
{
    FILE *f = fopen(file, "wb");
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    int more, i;

    assert_non_null(f);
    assert_int_equal(fwrite(trace.data, 1, trace.n, f), trace.n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(ti_reader_open(file, &r, &err), TI_OK);
    for (i = 0; (more = ti_reader_next(r, &ev, &err)) > 0; i++)
        if (i >= n || ev.volume != volume[i])
            fail_msg("%s: event %d has volume %d", what, i, (int)ev.volume);
    if (more < 0 ? i + 1 != n || volume[i] != 99 || !strstr(err.text, "damaged") : i != n)
        fail_msg("%s: %d events", what, i);
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    ti_reader_close(r);
}

#define EXPECT(what, ...)                                                                          \
    expect(what, (int)(sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t)),                        \
           (const uint64_t[]){__VA_ARGS__})
#define BYTES(...) ((struct bytes){sizeof(uint8_t[]){__VA_ARGS__}, {__VA_ARGS__}})
#define END        99

/* Copies as columns.h describes them, made by hand. */
static void test_copies(void **state)
{
    static const struct {
        const char *what;
        struct bytes volumes;
        uint64_t expected[9];
    } cases[] = {
        {"tokens", {4, {0, 2, 1, 4}}, {1, 1, 1, 3, 3, 3, 3, 3}},
        {"a copy of all", {7, {0, 2, 0, 4, 4, 0, 8}}, {1, 1, 3, 4, 6, 7, 9, 9}},
        {"of the last one", {7, {0, 2, 0, 4, 3, 0, 6}}, {1, 1, 3, 5, 7, 9, 9, 9}},
        {"copies that go on",
         {13, {0, 2, 0, 4, 1, 0, 8, 0, 6, 2, 0, 0, 0}}, /* and half a token */
         {1, 1, 3, 4, 7, 9, END}},
        {"copies that leave out",
         {12, {0, 2, 0, 4, 1, 0, 8, 0, 6, 2, 0, 1}},
         {1, 1, 3, 4, 7, 8, 10, 10}},
        {"a copy of a copy", {8, {0, 2, 1, 0, 6, 2, 0, 9}}, {1, 1, 2, 3, 4, 4, 4, 4}},
        {"of nothing", {3, {1, 0, 0}}, {END}},
        {"of no tokens", {5, {0, 2, 0, 0, 6}}, {1, END}},
        {"of no bytes", {5, {0, 2, 1, 0, 4}}, {1, END}},
        {"of what is before the column", {5, {0, 2, 1, 0, 7}}, {1, END}},
        {"of copies only", {8, {0, 2, 1, 0, 6, 1, 0, 7}}, {1, 1, END}},
        {"without its part", {4, {0, 2, 1, 0}}, {1, END}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = 0;

        begin_trace();
        put_barriers(TI_CHUNK_VERSION, 8, cases[i].volumes);
        while (n < 8 && cases[i].expected[n] != END)
            n++;
        expect(cases[i].what, n + (n < 8), cases[i].expected);
    }
}

/* Chunks go on with columns of a chunk of this version only, which were read to their end. */
static void test_goes_on_wrong(void **state)
{
    static const struct bytes none = {0, {0}}, one = {2, {0, 2}};

    (void)state;
    begin_trace();
    put_barriers(4, 3, one);
    put_more(1, 2, BYTES(1, 2));
    put_more(1, 3, none);
    EXPECT("right", 1, 1, 1, 2, 2, 2, 2, 2);
    begin_trace();
    put_more(1, 2, none);
    EXPECT("goes on with nothing", END);
    begin_trace();
    put_barriers(4, 3, one);
    put_more(2, 2, none);
    EXPECT("another number", 1, 1, 1, END);
    begin_trace();
    put_barriers(3, 3, one);
    put_more(1, 2, none);
    EXPECT("with an old chunk", 1, 1, 1, END);
    begin_trace();
    put_barriers(4, 1, one);
    put_more(1, 2, none);
    EXPECT("with what was not read", 1, END);
    begin_trace();
    put_barriers(4, 3, one);
    put_more(1, 2, BYTES(0, 2));
    EXPECT("a run shorter than what was repeated", 1, 1, 1, END);
    begin_trace();
    put_barriers(4, 3, one);
    put_more(1, 2, BYTES(1));
    EXPECT("half a token", 1, 1, 1, END);
}

static int setup(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "/tmp/t-store-%d.ti", (int)getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),    cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_counters),
        cmocka_unit_test(test_copies),  cmocka_unit_test(test_goes_on_wrong),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
