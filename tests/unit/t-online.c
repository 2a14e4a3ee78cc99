/* Folding while a program runs: the payload of each chunk has the events that were added, in
 * whatever memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "event/buffer.h"
#include "fold/decode.h"
#include "fold/online.h"
#include "tests/unit/programs.h"
#include "trace/reader.h"
#include "trace/writer.h"

static void put(void *to, const void *data, size_t bytes)
{
    ti_buffer_put(to, data, bytes);
}

static void same_event(const struct ti_event *a, const struct ti_event *b, int extras)
{
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->mask, b->mask);
    assert_int_equal(a->site, b->site);
    assert_true(a->volume == b->volume);
    for (uint32_t rest = a->mask; rest; rest &= rest - 1)
        assert_true(a->arg[__builtin_ctz(rest)] == b->arg[__builtin_ctz(rest)]);
    for (int v = 0; v < TI_VECS; v++) {
        assert_int_equal(a->vec[v].len, b->vec[v].len);
        for (int64_t i = 0; i < a->vec[v].len; i++)
            assert_int_equal(ti_vec_at(&a->vec[v], i), ti_vec_at(&b->vec[v], i));
    }
    for (int i = 0; i < extras; i++)
        assert_true(a->extra[i] == b->extra[i]);
}

/* The payload has the next `n` events of the trace; returns its bytes. */
static size_t must_have(const struct ti_online *o, struct ti_reader *r, uint64_t n)
{
    struct ti_buffer payload = {NULL, 0, 0};
    struct ti_event mine, theirs;
    struct ti_folded *f;
    const char *wrong;
    size_t bytes;

    ti_online_put(o, &(struct ti_sink){put, &payload});
    bytes = payload.n;
    wrong = ti_folded_open_chunk(payload.data, payload.n, 300, &f);
    if (wrong)
        fail_msg("%s", wrong);
    assert_true(ti_folded_events(f) == n);
    assert_true(ti_folded_check(f));
    assert_int_equal(ti_folded_extras(f), ti_reader_extras(r));
    ti_folded_want_extras(f);
    for (; n; n--) {
        assert_int_equal(ti_reader_next(r, &theirs, NULL), 1);
        assert_int_equal(ti_folded_next(f, &mine), 1);
        same_event(&theirs, &mine, ti_reader_extras(r));
    }
    assert_int_equal(ti_folded_next(f, &mine), 0);
    ti_folded_close(f);
    free(payload.data);
    return bytes;
}

/* Fold the trace at `program_path` in `bytes` bytes; returns how many chunks it became. */
static int fold_all(size_t bytes)
{
    uint8_t *memory = calloc(1, bytes + 64);
    struct ti_reader *r, *again;
    struct ti_online *o;
    struct ti_event ev;
    struct ti_err err;
    uint64_t n = 0;
    int chunks = 0, more;

    memset(memory + bytes, 0x55, 64);
    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    assert_int_equal(ti_reader_again(r, &again, &err), TI_OK);
    ti_reader_want_extras(r);
    ti_reader_want_extras(again);
    o = ti_online_new(memory, bytes, 1 + (uint32_t)ti_reader_extras(r));
    while ((more = ti_reader_next(r, &ev, &err)) > 0) {
        if (!ti_online_add(o, &ev, ev.extra)) {
            assert_true(n > 0);
            must_have(o, again, n);
            ti_online_clear(o);
            n = 0;
            chunks++;
            assert_true(ti_online_add(o, &ev, ev.extra));
        }
        n++;
        if (n % 77 == 0) { /* looking does not disturb what comes */
            struct ti_buffer look = {NULL, 0, 0};

            ti_online_put(o, &(struct ti_sink){put, &look});
            free(look.data);
        }
    }
    assert_int_equal(more, 0);
    must_have(o, again, n);
    for (int i = 0; i < 64; i++)
        assert_int_equal(memory[bytes + (size_t)i], 0x55);
    ti_reader_close(again);
    ti_reader_close(r);
    free(memory);
    return chunks + 1;
}

static void test_programs(void **state)
{
    int chunks = 0;

    (void)state;
    program_seed = 5;
    for (int i = 0; i < 200; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(9));
        size_t bytes = TI_ONLINE_LEAST + 8 * program_rnd(8192);

        program_trace(program_path, program, 1 + (int)program_rnd(i % 7 ? 20 : 200), i % 5 == 0,
                      i % 3 ? 20000 : program_rnd(500), TI_END_COMPLETE);
        chunks += fold_all(bytes);
        program_free(program);
    }
    assert_in_range(chunks, 250, 20000); /* memory was full now and then */
}

/* Write `n` events; `next` makes the one with a number. */
static void write_events(int n, void (*next)(struct ti_event *ev, int i))
{
    struct ti_writer *w;
    struct ti_err err;

    unlink(program_path);
    assert_int_equal(ti_writer_open(program_path, 3, 8, program_run_id, &w, &err), TI_OK);
    ti_writer_info(w, (const char *const[]){"host", "here"}, 1);
    for (int i = 0; i < 300; i++)
        ti_writer_string(w, TI_STRING_SITE, "app+0x1");
    for (int i = 0; i < n; i++) {
        struct ti_event ev = {.op = TI_OP_SEND, .mask = ti_op_info(TI_OP_SEND)->fields};

        next(&ev, i);
        assert_int_equal(ti_writer_event(w, &ev), TI_OK);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

static void every_operation(struct ti_event *ev, int i)
{
    ev->op = (uint32_t)i % TI_OP_COUNT;
    ev->mask = ti_op_info(ev->op)->fields;
}

/* A field with few values, then one with many. */
static void more_values(struct ti_event *ev, int i)
{
    ev->arg[TI_F_BYTES] = i < 1000 ? i % 8 : i;
    ev->volume = 7;
}

/* More call sites than there is room for classes. */
static void many_sites(struct ti_event *ev, int i)
{
    ev->site = (uint32_t)(i % 300);
}

static void many_vectors(struct ti_event *ev, int i)
{
    static int32_t vec[40];

    ev->op = TI_OP_WAITALL;
    ev->mask = ti_op_info(ev->op)->fields;
    for (int k = 0; k < 40; k++)
        vec[k] = i * k % 101;
    ev->vec[0] = (struct ti_vec){vec, 4, i % 40};
}

static void test_limits(void **state)
{
    (void)state;
    write_events(10 * TI_OP_COUNT, every_operation);
    assert_in_range(fold_all(TI_ONLINE_LEAST), 10, 40);
    write_events(100000, more_values);
    assert_int_equal(fold_all(64 << 10), 1);
    write_events(3000, many_sites);
    assert_in_range(fold_all(64 << 10), 10, 30);
    write_events(3000, many_vectors);
    assert_in_range(fold_all(64 << 10), 10, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
