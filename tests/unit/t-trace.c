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
#include <unistd.h>

#include "formats/reader.h"
#include "formats/writer.h"

static const uint8_t run_id[TI_RUN_ID_BYTES] = "0123456789abcde";
static char dir[64], path[96];

static uint64_t longest = 3 * TI_VEC_INLINE; /* vector */

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

static struct log make_log(int n, int variety)
{
    struct log log = {calloc((size_t)n + 1, sizeof *log.ev), n};

    for (int i = 0; i < n; i++)
        random_event(&log.ev[i], variety);
    return log;
}

static void free_log(struct log *log)
{
    for (int i = 0; i < log->n; i++)
        for (int v = 0; v < TI_VECS; v++)
            free((void *)(uintptr_t)log->ev[i].vec[v].data);
    free(log->ev);
}

static void write_log(const struct log *log)
{
    static const int world[8] = {0, 1, 2, 3, 4, 5, 6, 7}, odd[4] = {7, 3, 5, 1};
    static const char *const end[] = {"memory_bytes", "1"};
    struct ti_writer *w;
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, 3, 8, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 2);
    ti_writer_comm(w, 0, 'w', 3, 8, world, 0, NULL);
    for (int i = 0; i < log->n; i++) {
        if (i < 3)
            assert_int_equal(ti_writer_string(w, TI_STRING_SITE, i == 1 ? "b+0x2 [cafe]" : "a+0x1"),
                             i + 1);
        if (i == 5)
            ti_writer_comm(w, 1, 'p', 1, 4, odd, 0, NULL);
        if (log->ev[i].site > (uint32_t)(i < 3 ? i + 1 : 3))
            log->ev[i].site = 0;
        ti_writer_event(w, &log->ev[i]);
    }
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
    assert_int_equal(ti_reader_verify(r, &events, &err), TI_OK);
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
    while ((more = ti_reader_next(r, &ev, &err)) > 0) {
        assert_true(n < log->n);
        assert_same(&log->ev[n++], &ev);
    }
    *failed = more < 0;
    *end = ti_reader_end(r);
    ti_reader_close(r);
    return n;
}

static void test_cut_everywhere(void **state)
{
    struct log log;
    size_t bytes;
    char *data;
    int last = 0;

    (void)state;
    longest = 20;
    log = make_log(150, 3);
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

static void test_flip_everywhere(void **state)
{
    struct log log;
    size_t bytes;
    char *data;

    (void)state;
    longest = 20;
    log = make_log(150, 3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundtrip),       cmocka_unit_test(test_tables_overflow),
        cmocka_unit_test(test_communicators),   cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_flip_everywhere), cmocka_unit_test(test_disk_full),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
