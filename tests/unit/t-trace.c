/* Writer and reader against each other and against damage: what comes out is
 * what went in, a prefix of it, or an error; never something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "event/columns.h"
#include "tests/verify.h"
#include "trace/reader.h"
#include "trace/writer.h"

static const uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
static char dir[64], path[96];

static uint64_t longest = 3 * TI_VEC_INLINE; /* vector */
static size_t buffer = TI_BUFFER_DEFAULT;

/* Logs are loops. */
static bool loops;

static uint64_t rng = 88172645463325252u;
static uint64_t rnd(uint64_t below)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng % below;
}

struct log {
    struct ti_event *ev;
    int n;
};

static const char *const info[] = {"rank", "3", "host", "here"};

/* Logs are written, and traces read, with this many extra columns. */
static int extras;
static const char *const extra_names[TI_EXTRAS_MAX] = {"burst_ns:ns",
                                                       "call_ns:ns",
                                                       "perf::PAGE-FAULTS:events",
                                                       "sde:::lib::NAME:of:it:events",
                                                       "e:u",
                                                       "f:u",
                                                       "g:u",
                                                       "bare",
                                                       "i:u",
                                                       "j:u",
                                                       "k:u",
                                                       "l:u",
                                                       "m:u",
                                                       "n:u",
                                                       "o:u",
                                                       "p:u"};

static void random_event(struct ti_event *ev, int variety)
{
    const struct ti_op_info *op;

    memset(ev, 0, sizeof *ev);
    ev->op = (uint32_t)rnd(TI_OP_COUNT);
    op = ti_op_info(ev->op);
    ev->mask = op->fields | (rnd(2) ? op->optional : 0);
    ev->site = (uint32_t)rnd(4);
    ev->volume = rnd(3) ? 1000 + rnd((uint64_t)variety) : rng;
    for (int f = 0; f < TI_F_COUNT; f++)
        if (ev->mask >> f & 1)
            ev->arg[f] = rnd(20) ? (int64_t)rnd((uint64_t)variety) - 2 : (int64_t)rng >> 1;
    if (ev->mask & TI_M_PEER && rnd(8) == 0)
        ev->arg[TI_F_PEER] = rnd(2) ? TI_ANY : TI_NULL;
    if (ev->mask & TI_M_TAG && rnd(8) == 0)
        ev->arg[TI_F_TAG] = TI_ANY;
    if (ev->mask & TI_M_COLOR && rnd(2))
        ev->arg[TI_F_COLOR] = TI_NULL;
    if (extras) {
        uint64_t *values = malloc(TI_EXTRAS_MAX * sizeof *values);

        for (int k = 0; k < TI_EXTRAS_MAX; k++)
            values[k] = k % 3 == 2 ? 7 : rnd(30) ? rnd(50000) : rng;
        ev->extra = values;
    }
    for (int v = 0; v < TI_VECS; v++) {
        int64_t len = rnd(4) ? (int64_t)rnd(10) : (int64_t)rnd(longest);
        int32_t *data;

        if (!op->vec[v][0])
            continue;
        data = malloc((size_t)len * sizeof *data + 1);
        for (int64_t i = 0; i < len; i++)
            data[i] = (int32_t)rnd(rnd(2) ? 3 : 1u << 31);
        ev->vec[v] = (struct ti_vec){data, 4, len};
    }
}

/* A copy of an event, now and then with another volume. */
static struct ti_event copy_of(const struct ti_event *from)
{
    struct ti_event ev = *from;

    if (rnd(50) == 0)
        ev.volume = rnd(1000);
    for (int v = 0; v < TI_VECS; v++) {
        size_t bytes = (size_t)ev.vec[v].len * (size_t)ev.vec[v].width;

        if (ev.vec[v].data)
            ev.vec[v].data = memcpy(malloc(bytes + 1), ev.vec[v].data, bytes);
    }
    if (ev.extra) {
        size_t bytes = TI_EXTRAS_MAX * sizeof *ev.extra;

        ev.extra = memcpy(malloc(bytes), ev.extra, bytes);
    }
    return ev;
}

static struct log make_log(int n, int variety)
{
    struct log log = {calloc((size_t)n + 1, sizeof *log.ev), n};
    int body = 1;

    for (int i = 0; i < n; i++) {
        if (rnd(300) == 0)
            body = 1 + (int)rnd(20);
        if (loops && i >= body && rnd(100))
            log.ev[i] = copy_of(&log.ev[i - body]);
        else
            random_event(&log.ev[i], variety);
    }
    return log;
}

static void free_log(struct log *log)
{
    for (int i = 0; i < log->n; i++) {
        for (int v = 0; v < TI_VECS; v++)
            free((void *)(uintptr_t)log->ev[i].vec[v].data);
        free((void *)(uintptr_t)log->ev[i].extra);
    }
    free(log->ev);
}

static void begin_log(struct ti_writer *w)
{
    const char *pairs[6] = {info[0], info[1], info[2], info[3], "extra"};
    char names[512] = "";
    struct ti_err err;

    assert_int_equal(ti_writer_buffer(w, buffer, &err), TI_OK);
    for (int k = 0; k < extras; k++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? " " : "",
                 extra_names[k]);
    pairs[5] = names;
    ti_writer_info(w, pairs, extras ? 3 : 2);
    if (extras)
        ti_writer_extras(w, extras);
}

static void put_event(struct ti_writer *w, const struct ti_event *ev)
{
    if (extras)
        ti_writer_event_extra(w, ev, ev->extra);
    else
        ti_writer_event(w, ev);
}

static void write_log(const struct log *log)
{
    static const int world[8] = {0, 1, 2, 3, 4, 5, 6, 7}, odd[4] = {7, 3, 5, 1};
    static const char *const end[] = {"memory_bytes", "1"};
    struct ti_writer *w;
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
    begin_log(w);
    ti_writer_comm(w, 0, 'w', 3, 8, world, 0, NULL);
    for (int i = 0; i < log->n; i++) {
        if (i < 3)
            assert_int_equal(ti_writer_string(w, TI_STRING_SITE, i == 1 ? "b+0x2 [cafe]" : "a+0x1"),
                             i + 1);
        if (i == 5)
            ti_writer_comm(w, 1, 'p', 1, 4, odd, 0, NULL);
        if (log->ev[i].site > (uint32_t)(i < 3 ? i + 1 : 3))
            log->ev[i].site = 0;
        put_event(w, &log->ev[i]);
    }
    if (ti_writer_error(w, &err))
        fail_msg("%s", err.text);
    assert_int_equal(ti_writer_events(w), log->n);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, end, 1, &err), TI_OK);
}

static void assert_same(const struct ti_event *a, const struct ti_event *b)
{
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->mask, b->mask);
    assert_int_equal(a->site, b->site);
    assert_true(a->volume == b->volume);
    for (int f = 0; f < TI_F_COUNT; f++)
        if (a->mask >> f & 1)
            assert_true(a->arg[f] == b->arg[f]);
    for (int v = 0; v < TI_VECS; v++) {
        assert_int_equal(a->vec[v].len, b->vec[v].len);
        for (int64_t i = 0; i < a->vec[v].len; i++)
            assert_true(ti_vec_at(&a->vec[v], i) == ti_vec_at(&b->vec[v], i));
    }
}

static void assert_same_extras(const struct ti_event *a, const struct ti_event *b)
{
    assert_true(!extras == !b->extra);
    for (int k = 0; k < extras; k++)
        assert_true(a->extra[k] == b->extra[k]);
}

static void roundtrip(int n, int variety)
{
    struct log log = make_log(n, variety);
    uint64_t hash = TI_HASH_START, events;
    struct ti_totals totals;
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;

    write_log(&log);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(ti_reader_rank(r), 3);
    assert_int_equal(ti_reader_nranks(r), 8);
    assert_memory_equal(ti_reader_run_id(r), run_id, sizeof run_id);
    assert_string_equal(ti_reader_info(r, "host"), "here");
    assert_null(ti_reader_info(r, "nothing"));
    for (int i = 0; i < n; i++) {
        assert_int_equal(ti_reader_next(r, &ev, &err), 1);
        assert_same(&log.ev[i], &ev);
        hash = ti_hash_event(hash, &log.ev[i]);
    }
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    assert_int_equal(ti_reader_end(r), TI_END_COMPLETE);
    assert_true(ti_reader_totals(r, &totals));
    assert_true(totals.hash == hash);
    assert_int_equal(totals.events, n);
    assert_string_equal(ti_reader_info(r, "memory_bytes"), "1");
    if (n > 5) {
        assert_string_equal(ti_reader_string(r, TI_STRING_SITE, 2), "b+0x2 [cafe]");
        assert_int_equal(ti_reader_comm(r, 1)->member[3], 1);
        assert_int_equal(ti_reader_world(r, 1, -1), 7);
        assert_int_equal(ti_reader_world(r, 1, 3), -1);
        assert_int_equal(ti_reader_world(r, 2, 0), -1);
    }
    ti_reader_close(r);

    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(ti_reader_skip(r, &err), TI_OK);
    assert_int_equal(ti_reader_events(r), n);
    assert_int_equal(ti_reader_end(r), TI_END_COMPLETE);
    ti_reader_close(r);

    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &events, &err), TI_OK);
    assert_int_equal(events, n);
    ti_reader_close(r);
    free_log(&log);
}

static void test_roundtrip(void **state)
{
    (void)state;
    roundtrip(0, 2);
    roundtrip(1, 2);
    roundtrip(TI_CHUNK_EVENTS_FIRST, 2);
    roundtrip(20000, 2);
    roundtrip(20000, 300);
    roundtrip(5000, 1 << 30);
}

/* One operation, and volumes that take three bytes each: long columns. */
static void one_column(void)
{
    enum { EVENTS = 100000 };
    struct ti_event ev = {.op = TI_OP_BARRIER, .mask = TI_M_COMM};
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, 0, 1, run_id, &w, &err), TI_OK);
    begin_log(w);
    for (uint64_t i = 0; i < EVENTS; i++) {
        ev.volume = i * i % 1000003;
        assert_int_equal(ti_writer_event(w, &ev), TI_OK);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    for (uint64_t i = 0; i < EVENTS; i++) {
        assert_int_equal(ti_reader_next(r, &ev, &err), 1);
        assert_true(ev.volume == i * i % 1000003);
    }
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    ti_reader_close(r);
}

/* Whatever is kept in memory before it is written. */
static void test_buffers(void **state)
{
    static const size_t sizes[] = {TI_BUFFER_LEAST, 5001,    64 << 10,
                                   (2 << 20) - 1,   2 << 20, TI_BUFFER_MOST};
    static const size_t wrong[] = {0, TI_BUFFER_LEAST - 1, TI_BUFFER_MOST + 1, SIZE_MAX};
    struct ti_writer *w;
    struct ti_err err;
    struct stat st;
    off_t small = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        buffer = sizes[i];
        roundtrip(40000, 2);
        assert_int_equal(stat(path, &st), 0);
        if (i == 0)
            small = st.st_size;
        roundtrip(20000, 300);
        roundtrip(5000, 1 << 30);
        one_column();
    }
    assert_true(st.st_size < small); /* fewer chunks */
    buffer = TI_BUFFER_DEFAULT;
    unlink(path);
    assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
    assert_int_equal(ti_writer_memory(w), TI_WRITER_BYTES);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ti_writer_buffer(w, wrong[i], &err), TI_ERR_USAGE);
    assert_int_equal(ti_writer_buffer(w, TI_BUFFER_MOST, &err), TI_OK);
    assert_true(ti_writer_memory(w) >= TI_BUFFER_MOST);
    ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err);
}

/* Many call sites and communicators: every table of the writer overflows. */
static void test_tables_overflow(void **state)
{
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_event ev = {.op = TI_OP_BARRIER, .mask = TI_M_COMM};
    struct ti_err err;

    (void)state;
    unlink(path);
    assert_int_equal(ti_writer_open(path, 0, 1, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 2);
    for (int i = 0; i < 3000; i++) {
        char site[32];

        snprintf(site, sizeof site, "m+0x%x", i);
        ev.site = ti_writer_string(w, TI_STRING_SITE, site);
        ev.volume = (uint64_t)i;
        ti_writer_event(w, &ev);
    }
    for (int i = 0; i < 100000; i++) {
        ev.site = (uint32_t)(1 + i % 900);
        ev.arg[TI_F_COMM] = i % 7;
        ti_writer_event(w, &ev);
    }
    assert_int_equal(ti_writer_close(w, TI_END_ABORTED, NULL, 0, &err), TI_OK);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    for (int i = 0; i < 103000; i++) {
        int j = i - 3000;

        assert_int_equal(ti_reader_next(r, &ev, &err), 1);
        assert_int_equal(ev.site, j < 0 ? i + 1 : 1 + j % 900);
        assert_int_equal(ev.arg[TI_F_COMM], j < 0 ? 0 : j % 7);
    }
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    assert_int_equal(ti_reader_end(r), TI_END_ABORTED);
    ti_reader_close(r);
}

/* World ranks of communicator `index` of the next test: some are all ranks, most a
 * few, some so many without order that one fills a chunk. */
static int some_ranks(int index, int nranks, int *member)
{
    int n = index % 50 == 0 ? nranks : index % 70 == 0 ? nranks / 2 : 1 + index % 9;

    for (int i = 0; i < n; i++)
        member[i] = index % 50 == 0 ? i : (int)(((int64_t)i * 1663 + index) % nranks);
    return n;
}

/* Communicators are written in batches: each is there before the events on it. */
static void test_communicators(void **state)
{
    enum { NRANKS = 4096, N = 5000 };
    static int own[NRANKS], other[NRANKS];
    struct ti_event ev = {.op = TI_OP_BARRIER, .mask = TI_M_COMM};
    const struct ti_comm *comm;
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    unlink(path);
    assert_int_equal(ti_writer_open(path, 0, NRANKS, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 2);
    for (int i = 0; i < N; i++) {
        int n = some_ranks(i, NRANKS, own), m = some_ranks(i + 1, NRANKS, other), zero = 0;
        bool inter = i % 3 == 2;

        while (zero < n && own[zero] != 0)
            zero++;
        if (zero == n)
            own[zero = 0] = 0;
        ti_writer_comm(w, (uint32_t)i, inter ? TI_KIND_INTER : TI_KIND_SPLIT, zero, n,
                       i % 50 ? own : NULL, inter ? m : 0, other);
        ev.arg[TI_F_COMM] = i;
        if (i % 4 == 0)
            ti_writer_event(w, &ev);
    }
    ti_writer_event(w, &ev);
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);

    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    while (ti_reader_next(r, &ev, &err) == 1)
        assert_non_null(ti_reader_comm(r, (uint32_t)ev.arg[TI_F_COMM]));
    assert_int_equal(ti_reader_end(r), TI_END_COMPLETE);
    for (int i = 0; i < N; i++) {
        int n = some_ranks(i, NRANKS, own), m = some_ranks(i + 1, NRANKS, other);

        comm = ti_reader_comm(r, (uint32_t)i);
        assert_non_null(comm);
        assert_int_equal(comm->size, n);
        assert_int_equal(comm->member[comm->rank], 0);
        for (int k = 0; k < n; k++)
            assert_true(k == comm->rank || comm->member[k] == own[k]);
        assert_int_equal(comm->remote_size, i % 3 == 2 ? m : 0);
        for (int k = 0; k < comm->remote_size; k++)
            assert_int_equal(comm->remote[k], other[k]);
    }
    ti_reader_close(r);
}

static char *slurp(size_t *bytes)
{
    struct stat info_;
    char *data;
    int fd = open(path, O_RDONLY);

    fstat(fd, &info_);
    *bytes = (size_t)info_.st_size;
    data = malloc(*bytes);
    assert_int_equal(read(fd, data, *bytes), *bytes);
    close(fd);
    return data;
}

/* How many events a damaged file gives, each as written; -1 after an error. */
static int sound_events(const char *data, size_t bytes, const struct log *log, bool *failed,
                        enum ti_end *end)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    int n = 0, more, fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, data, bytes), bytes);
    close(fd);
    *end = TI_END_KILLED;
    err.text[0] = '\0';
    if (ti_reader_open(path, &r, &err)) {
        *failed = true;
        assert_true(err.text[0]);
        return 0;
    }
    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, &err)) > 0) {
        assert_true(n < log->n);
        assert_same_extras(&log->ev[n], &ev);
        assert_same(&log->ev[n++], &ev);
    }
    *failed = more < 0;
    *end = ti_reader_end(r);
    ti_reader_close(r);
    return n;
}

static void cut_everywhere(int events)
{
    struct log log;
    size_t bytes;
    char *data;
    int last = 0;

    longest = 20;
    log = make_log(events, 3);
    write_log(&log);
    data = slurp(&bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        enum ti_end end;
        bool failed;
        int n = sound_events(data, cut, &log, &failed, &end);

        assert_true(n >= last); /* more bytes, no fewer events */
        last = n;
        assert_true(!failed || n == 0);
        assert_int_equal(end, TI_END_KILLED);
    }
    assert_int_equal(last, log.n);
    free(data);
    free_log(&log);
}

static void test_cut_everywhere(void **state)
{
    (void)state;
    cut_everywhere(150);
    extras = 3;
    cut_everywhere(40);
    extras = 0;
}

static void flip_everywhere(int events)
{
    struct log log;
    size_t bytes;
    char *data;

    longest = 20;
    log = make_log(events, 3);
    write_log(&log);
    data = slurp(&bytes);
    for (size_t at = 0; at < bytes; at++) {
        enum ti_end end;
        bool failed;

        data[at] ^= (char)(1 << at % 8);
        sound_events(data, bytes, &log, &failed, &end);
        assert_true(failed || end == TI_END_KILLED);
        data[at] ^= (char)(1 << at % 8);
    }
    free(data);
    free_log(&log);
}

static void test_flip_everywhere(void **state)
{
    (void)state;
    flip_everywhere(150);
    extras = 3;
    flip_everywhere(40);
    extras = 0;
}

/* Read the file: the log with its extra values, or without, where `has` says. */
static void read_extras(const struct log *log, bool want, bool (*has)(int event))
{
    struct ti_totals totals;
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    uint64_t events, hash = TI_HASH_START;

    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    if (want)
        ti_reader_want_extras(r);
    for (int i = 0; i < log->n; i++) {
        assert_int_equal(ti_reader_next(r, &ev, &err), 1);
        assert_same(&log->ev[i], &ev);
        if (want && has(i))
            assert_same_extras(&log->ev[i], &ev);
        else
            assert_null(ev.extra);
        hash = ti_hash_event(hash, &log->ev[i]);
    }
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    assert_true(ti_reader_totals(r, &totals));
    assert_true(totals.hash == hash);
    ti_reader_close(r);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &events, &err), TI_OK);
    ti_reader_close(r);
}

static bool always(int event)
{
    (void)event;
    return true;
}

static void test_extras_roundtrip(void **state)
{
    static const int numbers[] = {1, 2, 10, TI_EXTRAS_MAX};

    (void)state;
    longest = 3 * TI_VEC_INLINE;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct log log;

        extras = numbers[i];
        log = make_log(6000, i % 2 ? 3 : 1 << 30);
        write_log(&log);
        read_extras(&log, true, always);
        read_extras(&log, false, always);
        free_log(&log);
    }
    extras = 0;
}

/* Names of extra columns in the metadata; a column without a unit, and too many. */
static void test_extras_names(void **state)
{
    char many[256] = "";
    const char *pairs[] = {"rank", "3", "extra", "a::b:ns bare  c: :d"};
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_err err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        unlink(path);
        assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
        ti_writer_info(w, pairs, i == 2 ? 1 : 2);
        assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
        assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
        assert_int_equal(ti_reader_extras(r), i == 0 ? 4 : 0);
        if (i == 0) {
            assert_string_equal(ti_reader_extra_name(r, 0), "a::b");
            assert_string_equal(ti_reader_extra_unit(r, 0), "ns");
            assert_string_equal(ti_reader_extra_name(r, 1), "bare");
            assert_string_equal(ti_reader_extra_unit(r, 1), "");
            assert_int_equal(ti_reader_extra(r, "c"), 2);
            assert_int_equal(ti_reader_extra(r, ""), 3);
            assert_int_equal(ti_reader_extra(r, TI_EXTRA_BURST), -1);
        }
        ti_reader_close(r);
        for (int k = 0; k <= TI_EXTRAS_MAX; k++)
            strcat(many, "x:u ");
        pairs[3] = many;
    }
}

/* Chunks of the file: where they are. */
static int find_chunks(const uint8_t *data, size_t bytes, size_t *at, int most)
{
    size_t next = TI_HEADER_BYTES;
    int n = 0;

    while (bytes - next > TI_CHUNK_BYTES && n < most) {
        at[n++] = next;
        next += TI_CHUNK_BYTES + ti_get_u32(data + next + 24) + TI_CRC_BYTES;
    }
    return n;
}

static size_t chunk_bytes(const uint8_t *chunk)
{
    return TI_CHUNK_BYTES + ti_get_u32(chunk + 24) + TI_CRC_BYTES;
}

/* Copy a trace, each of its chunks as `edit` says: what it leaves of `chunk`, whose
 * stored length is to be right; false to leave it out.  Checksums
 * and index are made anew. */
static void rewrite(bool (*edit)(int nth, uint8_t *chunk))
{
    size_t bytes, at[64], n = TI_HEADER_BYTES;
    uint8_t *in = (uint8_t *)slurp(&bytes), *out = malloc(2 * bytes + 8192);
    int chunks = find_chunks(in, bytes, at, 64), kept = 0, extra = 0;
    uint32_t all = 0;
    FILE *f;

    memcpy(out, in, n);
    for (int i = 0; i < chunks; i++) {
        uint8_t *c = out + n;

        memcpy(c, in + at[i], chunk_bytes(in + at[i]));
        if (c[0] == TI_CHUNK_XTR && !edit(extra++, c))
            continue;
        if (c[0] == TI_CHUNK_IDX) {
            uint8_t *p = c + TI_CHUNK_BYTES;

            p += ti_put_varint(p, (uint64_t)kept);
            p += ti_put_varint(p, n);
            ti_put_u32(p, all);
            ti_put_u32(c + 24, (uint32_t)(p + 4 - c - TI_CHUNK_BYTES));
            ti_put_u32(c + 20, ti_get_u32(c + 24));
        }
        ti_put_u32(c + 28, ti_crc32c(0, c, 28));
        ti_put_u32(c + chunk_bytes(c) - 4, ti_crc32c(0, c + TI_CHUNK_BYTES, ti_get_u32(c + 24)));
        all = ti_crc32c(all, c + 28, 4);
        all = ti_crc32c(all, c + chunk_bytes(c) - 4, 4);
        n += chunk_bytes(c);
        kept++;
    }
    memcpy(out + n, TI_MAGIC_END, TI_MAGIC_BYTES);
    f = fopen(path, "wb");
    assert_int_equal(fwrite(out, 1, n + TI_MAGIC_BYTES, f), n + TI_MAGIC_BYTES);
    fclose(f);
    free(in);
    free(out);
}

static int dropped; /* the XTR chunk that drop_one() leaves out */
static bool drop_one(int nth, uint8_t *chunk)
{
    (void)chunk;
    return nth != dropped;
}

static bool not_in_second(int event)
{
    return event < TI_CHUNK_EVENTS_FIRST || event >= 5 * TI_CHUNK_EVENTS_FIRST;
}

/* Events whose XTR chunk is not there have no extra values; the others do. */
static void test_extras_missing(void **state)
{
    struct log log;

    (void)state;
    extras = 2;
    longest = 4;
    log = make_log(3000, 2);
    for (int i = 0; i < log.n; i++) { /* few symbols, so that chunks end by number */
        log.ev[i].op = TI_OP_BARRIER;
        log.ev[i].mask = TI_M_COMM;
        log.ev[i].arg[TI_F_COMM] = 0;
        for (int v = 0; v < TI_VECS; v++)
            log.ev[i].vec[v].len = 0;
        for (int k = 0; k < extras; k++)
            ((uint64_t *)(uintptr_t)log.ev[i].extra)[k] %= 3;
    }
    write_log(&log);
    read_extras(&log, true, always);
    dropped = 1;
    rewrite(drop_one);
    read_extras(&log, true, not_in_second);
    free_log(&log);
    extras = 0;
}

static const struct {
    const char *what;
    int n;
    uint8_t payload[24];
} wrong_payloads[] = {
    {"empty", 0, {0}},
    {"no number of columns", 1, {2}},
    {"more extras than are named", 6, {3, 1, 0, 0, 0, 0}},
    {"fewer", 3, {1, 1, 0}},
    {"another number of volume columns", 6, {2, 3, 0, 0, 0, 0}},
    {"a number beyond all", 12, {2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}},
    {"sizes cut off", 3, {2, 2, 0}},
    {"a size beyond the data", 6, {2, 2, 9, 0, 0, 0}},
    {"a size beyond all",
     14,
     {2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0}},
    {"data left over", 7, {2, 2, 0, 0, 0, 0, 0}},
    {"half a value", 7, {2, 2, 1, 0, 0, 0, 5}},
};
static size_t wrong;

static bool put_wrong(int nth, uint8_t *chunk)
{
    if (nth)
        return true;
    chunk[3] = TI_CODEC_RAW;
    memcpy(chunk + TI_CHUNK_BYTES, wrong_payloads[wrong].payload, (size_t)wrong_payloads[wrong].n);
    ti_put_u32(chunk + 20, (uint32_t)wrong_payloads[wrong].n);
    ti_put_u32(chunk + 24, (uint32_t)wrong_payloads[wrong].n);
    return true;
}

static bool put_other_first(int nth, uint8_t *chunk)
{
    if (!nth)
        ti_put_u64(chunk + 8, 1);
    return true;
}

static bool put_other_number(int nth, uint8_t *chunk)
{
    if (!nth)
        ti_put_u32(chunk + 16, ti_get_u32(chunk + 16) - 1);
    return true;
}

static bool put_unknown_version(int nth, uint8_t *chunk)
{
    if (!nth)
        chunk[2] = TI_CHUNK_VERSION + 1;
    return true;
}

static bool none(int event)
{
    (void)event;
    return false;
}

/* Damaged for who asks for them, and for nobody else. */
static void assert_wrong(const struct log *log)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;

    for (int want = 0; want < 2; want++) {
        assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
        if (want)
            ti_reader_want_extras(r);
        err.text[0] = '\0';
        if (want) {
            assert_int_equal(ti_reader_next(r, &ev, &err), -1);
            assert_non_null(strstr(err.text, "damaged"));
        }
        for (int i = 0; i < log->n && !want; i++)
            assert_int_equal(ti_reader_next(r, &ev, &err), 1);
        ti_reader_close(r);
    }
}

static void test_extras_wrong(void **state)
{
    struct log log;

    (void)state;
    extras = 2;
    longest = 4;
    log = make_log(TI_CHUNK_EVENTS_FIRST + 1, 2);
    for (int i = 0; i < log.n; i++) {
        log.ev[i].op = TI_OP_BARRIER;
        log.ev[i].mask = TI_M_COMM;
        log.ev[i].arg[TI_F_COMM] = 0;
        log.ev[i].site = 0;
        for (int v = 0; v < TI_VECS; v++)
            log.ev[i].vec[v].len = 0;
    }
    for (wrong = 0; wrong < sizeof wrong_payloads / sizeof *wrong_payloads; wrong++) {
        write_log(&log);
        rewrite(put_wrong);
        assert_wrong(&log);
    }
    write_log(&log);
    rewrite(put_other_first);
    assert_wrong(&log);
    write_log(&log);
    rewrite(put_other_number);
    assert_wrong(&log);
    write_log(&log);
    rewrite(put_unknown_version);
    read_extras(&log, true, none); /* those of chunks that go on with the first, too */
    free_log(&log);
    extras = 0;
}

/* A trace of one event, with chunks of version 2: metadata is not compressed. */
static void test_old_chunks(void **state)
{
    static const uint8_t old[] = {
        0x89, 0x54, 0x49, 0x41, 0x52, 0x41, 0x0d, 0x0a, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x78, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f,
        0x58, 0xb8, 0x5f, 0x01, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00,
        0x00, 0xb0, 0xfa, 0xe1, 0x97, 0x04, 0x68, 0x6f, 0x73, 0x74, 0x04, 0x68, 0x65, 0x72, 0x65,
        0xaf, 0x3f, 0xd8, 0xcd, 0x03, 0x00, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x08, 0x00,
        0x00, 0x00, 0x82, 0xf4, 0x53, 0x24, 0x63, 0x60, 0x60, 0x2c, 0x67, 0x64, 0x00, 0x00, 0xee,
        0x7e, 0x86, 0x6f, 0x05, 0x00, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x0f, 0x00, 0x00, 0x00, 0x0e, 0x00, 0x00,
        0x00, 0x96, 0xea, 0x29, 0x18, 0x63, 0x62, 0x34, 0x62, 0x60, 0x64, 0x00, 0x21, 0x26, 0x06,
        0x06, 0x86, 0x10, 0x00, 0x2d, 0x50, 0xa1, 0x4b, 0x06, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x00,
        0x00, 0x00, 0x22, 0x00, 0x00, 0x00, 0xbc, 0x31, 0xa4, 0xae, 0x2a, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x83, 0x7d, 0x84, 0x5a,
        0x15, 0x9e, 0x0a, 0x98, 0x00, 0x04, 0x77, 0x61, 0x6c, 0x6c, 0x03, 0x31, 0x2e, 0x35, 0x85,
        0xf6, 0x71, 0x00, 0x07, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00,
        0x00, 0x9b, 0xaf, 0xd2, 0x18, 0x04, 0x82, 0x02, 0x1f, 0x40, 0x2f, 0x03, 0x32, 0x97, 0x9f,
        0xe3, 0x54, 0x49, 0x41, 0x52, 0x41, 0x45, 0x4e, 0x44,
    };
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    uint64_t events;
    FILE *f = fopen(path, "wb");

    (void)state;
    assert_non_null(f);
    assert_int_equal(fwrite(old, 1, sizeof old, f), sizeof old);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_string_equal(ti_reader_info(r, "host"), "here");
    assert_int_equal(ti_reader_next(r, &ev, &err), 1);
    assert_int_equal(ev.op, TI_OP_BARRIER);
    assert_int_equal(ev.volume, 42);
    assert_int_equal(ti_reader_next(r, &ev, &err), 0);
    assert_string_equal(ti_reader_info(r, "wall"), "1.5");
    ti_reader_close(r);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &events, &err), TI_OK);
    assert_int_equal(events, 1);
    ti_reader_close(r);
}

/* A file that may not grow: the writer keeps its first error, takes no more, and
 * what is in the file is a prefix. */
static void test_disk_full(void **state)
{
    struct log log;
    const struct rlimit small = {20000, RLIM_INFINITY};
    struct rlimit was;
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    int n = 0;

    (void)state;
    longest = 20;
    log = make_log(3000, 1 << 20);
    assert_int_equal(ti_writer_open("/dev/full/x", 3, 8, run_id, &w, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "/dev/full/x"));

    unlink(path);
    getrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 2);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < log.n; i++) {
        log.ev[i].site = 0;
        ti_writer_event(w, &log.ev[i]);
    }
    assert_int_equal(ti_writer_error(w, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "rank 3"));
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &was);

    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    while (ti_reader_next(r, &ev, &err) > 0)
        assert_same(&log.ev[n++], &ev);
    assert_true(n > 0 && n < log.n);
    assert_int_equal(ti_reader_end(r), TI_END_KILLED);
    ti_reader_close(r);

    /* never over a file that is there */
    assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_ERR_IO);
    free_log(&log);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/t-trace-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/rank-000003.ti", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

/* Without call sites, which would have to be introduced. */
static struct log make_plain_log(int n)
{
    struct log log = make_log(n, 1000);

    for (int i = 0; i < n; i++)
        log.ev[i].site = 0;
    return log;
}

/* Close every descriptor but the standard ones, and have the numbers up to `limit` taken by
 * the file "mine" of the application. */
static int take_descriptors(int limit)
{
    char name[128];
    int mine;

    for (int fd = 3; fd < limit; fd++)
        close(fd);
    snprintf(name, sizeof name, "%s/mine", dir);
    mine = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(mine, "precious", 8), 8);
    for (int fd = 3; fd < limit; fd++)
        dup2(mine, fd);
    return mine;
}

static void check_descriptors(int mine, int limit)
{
    char name[128], text[16];
    struct stat st;

    for (int fd = 3; fd < limit; fd++)
        assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 8);
    assert_int_equal(pread(mine, text, sizeof text, 0), 8);
    assert_memory_equal(text, "precious", 8);
    for (int fd = 3; fd < limit; fd++)
        close(fd);
    snprintf(name, sizeof name, "%s/mine", dir);
    unlink(name);
}

static int descriptor_limit(void)
{
    struct rlimit most;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    return most.rlim_cur > 4096 ? 4096 : (int)most.rlim_cur;
}

/* The application closes our descriptor, and the number becomes one of its own: before
 * events, between chunks, before the end; or it replaces or removes the file as well. */
static void test_descriptor_taken(void **state)
{
    enum { AT_ONCE, HALFWAY, AT_END, REMOVED, REPLACED, ANOTHER, WAYS };
    int limit = descriptor_limit();
    struct log log = make_plain_log(3000);

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        int at = way == AT_ONCE ? 0 : way == AT_END ? log.n : log.n / 2, mine;
        struct ti_writer *w;
        struct ti_reader *r;
        struct ti_err err;
        uint64_t events;
        ti_status st;

        unlink(path);
        assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
        begin_log(w);
        for (int i = 0; i < at; i++)
            put_event(w, &log.ev[i]);
        if (at == log.n)
            ti_writer_flush(w);
        mine = take_descriptors(limit);
        if (way == REMOVED || way == REPLACED)
            assert_int_equal(unlink(path), 0);
        if (way == REPLACED)
            assert_int_equal(symlink("mine", path), 0);
        if (way == ANOTHER) { /* it may well have the inode number of the old one */
            unlink(path);
            close(4);
            assert_int_equal(open(path, O_RDWR | O_CREAT, 0600), 4);
        }
        for (int i = at; i < log.n; i++)
            put_event(w, &log.ev[i]);
        st = ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err);
        check_descriptors(mine, limit);
        if (way >= REMOVED) {
            assert_int_equal(st, TI_ERR_IO);
            assert_non_null(strstr(err.text, "closed our descriptor of rank 3's trace"));
            continue;
        }
        assert_int_equal(st, TI_OK);
        assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
        assert_int_equal(verify_trace(r, &events, &err), TI_OK);
        assert_int_equal(events, log.n);
        ti_reader_close(r);
    }
    free_log(&log);
}

/* A signal handler calls MPI, or jumps out of a call, at any instruction of the writer. */
static struct {
    struct ti_writer *w;
    const struct ti_event *ev;
    sigjmp_buf out;
    bool jumps, closed;
    volatile int busy;
    volatile sig_atomic_t came;
} alarmed;

static void on_alarm(int sig)
{
    (void)sig;
    alarmed.came = 1;
    alarmed.busy += ti_writer_busy(alarmed.w);
    if (alarmed.jumps)
        siglongjmp(alarmed.out, 1);
    put_event(alarmed.w, alarmed.ev);
    if (!ti_writer_busy(alarmed.w))
        return;
    alarmed.closed = true;
    assert_int_equal(ti_writer_close(alarmed.w, TI_END_ABORTED, NULL, 0, NULL), TI_ERR_IO);
}

static void until_alarm(const struct log *log)
{
    struct itimerval in = {.it_value.tv_usec = 1 + (int)rnd(3000)};

    if (sigsetjmp(alarmed.out, 1))
        return;
    alarmed.came = 0;
    setitimer(ITIMER_REAL, &in, NULL);
    for (int i = 0;; i++) {
        struct ti_err err;

        if (ti_writer_error(alarmed.w, &err) != TI_OK)
            return;
        put_event(alarmed.w, &log->ev[i % log->n]);
        if (alarmed.came)
            return;
    }
}

static void test_interrupted(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct log log;
    int n;

    (void)state;
    extras = 2;
    log = make_plain_log(3000);
    sigaction(SIGALRM, &action, NULL);
    alarmed.busy = 0;
    for (n = 0; n < 5000 && alarmed.busy < 200; n++) {
        struct ti_reader *r;
        struct ti_event ev;
        struct ti_err err;
        bool failed;
        int more;

        unlink(path);
        extras = n & 1 ? 2 : 0;
        assert_int_equal(ti_writer_open(path, 3, 8, run_id, &alarmed.w, &err), TI_OK);
        begin_log(alarmed.w);
        alarmed.ev = &log.ev[0];
        alarmed.jumps = n & 2;
        alarmed.closed = false;
        until_alarm(&log);
        failed = ti_writer_busy(alarmed.w);
        if (!alarmed.closed)
            assert_int_equal(ti_writer_close(alarmed.w, TI_END_COMPLETE, NULL, 0, &err),
                             failed ? TI_ERR_IO : ti_writer_error(alarmed.w, NULL));
        assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
        ti_reader_want_extras(r);
        while ((more = ti_reader_next(r, &ev, &err)) > 0)
            ;
        if (more < 0)
            fail_msg("%s", err.text);
        ti_reader_close(r);
    }
    print_message("interrupted %d times, of which %d in the writer\n", n, alarmed.busy);
    extras = 0;
    free_log(&log);
}

/* ----------------------------------------------------------------- periods -- */

/* Chunks of a type in the file, and the events in them; *most is the largest number in one. */
static int chunks_of(uint8_t type, uint64_t *events, uint64_t *most)
{
    size_t bytes;
    char *data = slurp(&bytes);
    int n = 0;

    *events = *most = 0;
    for (size_t at = TI_HEADER_BYTES; at + TI_CHUNK_BYTES < bytes;) {
        const uint8_t *chunk = (const uint8_t *)data + at;
        uint64_t here = ti_get_u32(chunk + 16);

        at += TI_CHUNK_BYTES + ti_get_u32(chunk + 24) + TI_CRC_BYTES;
        if (chunk[0] != type)
            continue;
        n++;
        *events += here;
        *most = here > *most ? here : *most;
    }
    free(data);
    return n;
}

/* Write `n` events of a program: `inner` sends and as many receives, then a barrier.  `noise`: the
 * volumes are random. */
static void write_program(uint64_t n, uint64_t inner, bool noise)
{
    struct ti_event send = {.op = TI_OP_SEND}, barrier = {.op = TI_OP_BARRIER};
    struct ti_writer *w;
    struct ti_err err;

    send.mask = ti_op_info(TI_OP_SEND)->fields;
    barrier.mask = ti_op_info(TI_OP_BARRIER)->fields;
    unlink(path);
    assert_int_equal(ti_writer_open(path, 0, 1, run_id, &w, &err), TI_OK);
    begin_log(w);
    for (uint64_t i = 0; i < n; i++) {
        struct ti_event *ev = i % (inner + 1) < inner ? &send : &barrier;

        ev->volume = noise ? rng >> 40 : 100;
        rnd(2);
        ev->arg[TI_F_PEER] = (int64_t)(i % 2);
        assert_int_equal(ti_writer_event(w, ev), TI_OK);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

/* A regular program takes a chunk now and then, which has at most a fifth of all events; one that
 * is noise takes many. */
static void test_growth(void **state)
{
    uint64_t events, most;
    size_t few, many;

    (void)state;
    write_program(20000, 9, false);
    free(slurp(&few));
    write_program(2000000, 9, false);
    free(slurp(&many));
    assert_in_range(many, few, 5 * few);
    assert_in_range(chunks_of(TI_CHUNK_EVT, &events, &most), 4, 30);
    assert_int_equal(events, 2000000);
    assert_in_range(most, 100000, 2000000 / 5);
    write_program(200000, 9, true);
    assert_in_range(chunks_of(TI_CHUNK_EVT, &events, &most), 10, 100);
    assert_int_equal(events, 200000);
}

/* Values with a period, in which now and then one is left out, another one stands in its place, or
 * one more comes in between: `period` values, and one of `odd` of these is odd.  Returns the bytes
 * of the trace. */
static size_t periodic(uint64_t n, uint64_t period, uint64_t odd)
{
    uint64_t *value = calloc(period, sizeof *value), at = 0, sum = 0, events;
    struct ti_event ev = {.op = TI_OP_SEND, .mask = ti_op_info(TI_OP_SEND)->fields};
    struct ti_writer *w;
    struct ti_reader *r;
    struct ti_err err;
    size_t bytes;

    rng = 88172645463325252u;
    for (uint64_t i = 0; i < period; i++)
        value[i] = rnd(1000000);
    unlink(path);
    assert_int_equal(ti_writer_open(path, 0, 1, run_id, &w, &err), TI_OK);
    begin_log(w);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t change = odd && rnd(odd) == 0 ? 1 + rnd(3) : 0;

        ev.volume = change > 1 ? 7 : value[at];
        at = (at + (change == 1 ? 2 : change == 2 ? 0 : 1)) % period;
        ev.arg[TI_F_TAG] = (int64_t)ev.volume % 97;
        sum += ev.volume;
        assert_int_equal(ti_writer_event(w, &ev), TI_OK);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    assert_int_equal(verify_trace(r, &events, &err), TI_OK);
    assert_int_equal(events, n);
    ti_reader_close(r);
    assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
    while (ti_reader_next(r, &ev, &err) > 0)
        sum -= ev.volume;
    ti_reader_close(r);
    assert_int_equal(sum, 0);
    free(value);
    free(slurp(&bytes));
    return bytes;
}

static void test_periods(void **state)
{
    (void)state;
    for (uint64_t period = 2; period <= 1000; period = period * 3 / 2 + 1) {
        /* as many chunks as test_growth(), with a few periods each */
        assert_in_range(periodic(400000, period, 0), 100, 2000 + 200 * period);
        /* what is odd costs 16 bytes in each of two columns */
        assert_in_range(periodic(400000, period, 1000), 100, 2000 + 200 * period + 400 * 32);
        periodic(40000, period, 10);
    }
}

static int begin_loops(void **state)
{
    (void)state;
    loops = true;
    return 0;
}

static int end_loops(void **state)
{
    (void)state;
    loops = false;
    return 0;
}

#define LOOPS(test) cmocka_unit_test_setup_teardown(test, begin_loops, end_loops)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundtrip),
        cmocka_unit_test(test_tables_overflow),
        cmocka_unit_test(test_communicators),
        cmocka_unit_test(test_old_chunks),
        cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_flip_everywhere),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_extras_roundtrip),
        cmocka_unit_test(test_extras_names),
        cmocka_unit_test(test_extras_missing),
        cmocka_unit_test(test_extras_wrong),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_descriptor_taken),
        cmocka_unit_test(test_interrupted),
        LOOPS(test_roundtrip),
        LOOPS(test_cut_everywhere),
        LOOPS(test_flip_everywhere),
        LOOPS(test_buffers),
        LOOPS(test_extras_roundtrip),
        LOOPS(test_tables_overflow),
        LOOPS(test_interrupted),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_periods),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
