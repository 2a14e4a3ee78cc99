/* The file of a rank that is killed has as many events as writer.h promises, after each
 * single event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/programs.h"
#include "trace/reader.h"
#include "trace/writer.h"

static char file[128];

/* Events in the file as it is now, while it is being written: SIGKILL leaves no more. */
static uint64_t in_file(void)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    uint64_t n = 0;
    int more;

    assert_int_equal(ti_reader_open(file, &r, &err), TI_OK);
    while ((more = ti_reader_next(r, &ev, &err)) > 0)
        n++;
    assert_int_equal(more, 0);
    assert_int_equal(ti_reader_end(r), TI_END_KILLED);
    ti_reader_close(r);
    return n;
}

static struct {
    struct ti_writer *w;
    off_t bytes;
    uint64_t kept, most; /* `most` as in writer.h: events of a chunk of columns */
} rank;

static void begin(size_t buffer, int extras)
{
    const char *const info[] = {"host", "here", "extra", "burst_ns:ns call_ns:ns"};
    struct ti_err err;

    unlink(file);
    rank.bytes = 0;
    rank.kept = 0;
    rank.most = buffer > TI_BUFFER_DEFAULT ? TI_CHUNK_EVENTS_MOST : TI_CHUNK_EVENTS;
    assert_int_equal(ti_writer_open(file, 3, 8, program_run_id, &rank.w, &err), TI_OK);
    assert_int_equal(ti_writer_buffer(rank.w, buffer, &err), TI_OK);
    ti_writer_info(rank.w, info, extras ? 2 : 1);
    if (extras)
        ti_writer_extras(rank.w, extras);
    for (int i = 0; i < 300; i++)
        ti_writer_string(rank.w, TI_STRING_SITE, "app+0x1");
    ti_writer_string(rank.w, TI_STRING_CALL, "MPI_Foo");
    ti_writer_string(rank.w, TI_STRING_FILE, "/file");
}

static void end(void)
{
    assert_int_equal(ti_writer_close(rank.w, TI_END_COMPLETE, NULL, 0, NULL), TI_OK);
}

/* Append an event, then compare what would be lost with what writer.h says. */
static void append(const struct ti_event *ev, const uint64_t *extra)
{
    uint64_t n = ti_writer_events(rank.w) + 1, lost, early, late;
    struct stat now;

    if (extra)
        assert_int_equal(ti_writer_event_extra(rank.w, ev, extra), TI_OK);
    else
        assert_int_equal(ti_writer_event(rank.w, ev), TI_OK);
    assert_int_equal(stat(file, &now), 0);
    if (now.st_size != rank.bytes)
        rank.kept = in_file();
    rank.bytes = now.st_size;
    lost = n - rank.kept;
    early = 3 * n / 4 + 64;
    late = n / 5 > rank.most ? n / 5 : rank.most;
    if (lost > early || lost > late)
        fail_msg("%lu of %lu events are lost", (unsigned long)lost, (unsigned long)n);
}

/* Write the trace at `program_path` once more, and look after each event. */
static void again(size_t buffer)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err err;
    int extras;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    ti_reader_want_extras(r);
    extras = ti_reader_extras(r);
    begin(buffer, extras);
    while (ti_reader_next(r, &ev, &err) > 0) {
        ev.site %= 300;
        append(&ev, extras ? ev.extra : NULL);
    }
    end();
    ti_reader_close(r);
}

static void random_programs(void **state)
{
    static const size_t buffers[] = {TI_BUFFER_LEAST, TI_BUFFER_DEFAULT, 1 << 20};

    (void)state;
    program_seed = 23;
    for (int i = 0; i < 60; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(9));

        program_trace(program_path, program, 1 + (int)program_rnd(200), i % 5 == 0,
                      i % 3 ? 30000 : 2000, TI_END_COMPLETE);
        again(buffers[i % 3]);
        program_free(program);
    }
}

/* Events that fill a chunk early: then the next one must not be as long as after a full one. */
static void chunks_that_end_early(void **state)
{
    (void)state;
    begin(TI_BUFFER_LEAST, 0);
    for (int i = 0; i < 40000; i++) {
        bool rich = i < 600;
        struct ti_event ev = {.op = TI_OP_SEND,
                              .mask = ti_op_info(TI_OP_SEND)->fields,
                              .site = rich ? (uint32_t)(i * 7 % 300) : 0,
                              .volume = rich ? (uint64_t)i * i * i * 977 : 5};

        ev.arg[TI_F_TAG] = rich ? i * 7919 : 0;
        ev.arg[TI_F_BYTES] = rich ? (int64_t)i * i * 104729 : 8;
        append(&ev, NULL);
    }
    end();
}

/* A steady loop, a steady loop with noise, and one without a pattern: 200,000 events. */
static void long_runs(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        begin(TI_BUFFER_DEFAULT, 0);
        for (int i = 0; i < 200000; i++) {
            struct ti_event ev = {.op = i % 2 ? TI_OP_RECV : TI_OP_SEND,
                                  .volume = kind ? program_rnd(1000) : 1000};

            ev.mask = ti_op_info(ev.op)->fields;
            ev.arg[TI_F_TAG] = kind < 2 ? i % 4 : (int64_t)program_rnd(50);
            append(&ev, NULL);
        }
        end();
    }
}

static int setup(void **state)
{
    int failed = program_setup(state);

    snprintf(file, sizeof file, "%s.killed", program_path);
    return failed;
}

static int cleanup(void **state)
{
    unlink(file);
    return program_cleanup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(chunks_that_end_early),
        cmocka_unit_test(long_runs),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
