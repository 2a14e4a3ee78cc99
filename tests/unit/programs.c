#include "tests/unit/programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "trace/writer.h"

static char dir[64];
char program_path[96];

int program_setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/t-programs-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(program_path, sizeof program_path, "%s/rank-000003.ti", dir);
    return 0;
}

int program_cleanup(void **state)
{
    (void)state;
    unlink(program_path);
    return rmdir(dir);
}

const uint8_t program_run_id[TI_RUN_ID_BYTES] = "0123456789abcde";

uint64_t program_seed = 88172645463325252u;

uint64_t program_rnd(uint64_t below)
{
    program_seed ^= program_seed << 13;
    program_seed ^= program_seed >> 7;
    program_seed ^= program_seed << 17;
    return program_seed % below;
}

static struct statement *random_call(void)
{
    static const uint32_t values[] = {1, 1, 1, 1, 2, 7, 8, 9, 10, 1000};
    struct statement *s = calloc(1, sizeof *s);
    const struct ti_op_info *op;

    s->ev.op = (uint32_t)program_rnd(TI_OP_COUNT);
    op = ti_op_info(s->ev.op);
    s->ev.mask = op->fields | (program_rnd(2) ? op->optional : 0);
    s->ev.site = (uint32_t)program_rnd(4);
    s->ev.volume = program_rnd(5) ? program_rnd(1000000) : program_seed;
    s->noise = program_rnd(3) ? 1 : 1000;
    for (int f = 0; f < TI_F_COUNT; f++) {
        s->ev.arg[f] = program_rnd(20) ? (int64_t)program_rnd(50) - 2 : (int64_t)program_seed >> 1;
        s->values[f] = values[program_rnd(sizeof values / sizeof *values)];
    }
    s->vector_values = values[program_rnd(sizeof values / sizeof *values)];
    if (program_rnd(8) == 0)
        s->ev.arg[TI_F_PEER] = program_rnd(2) ? TI_ANY : TI_NULL;
    if (program_rnd(8) == 0)
        s->ev.arg[TI_F_TAG] = TI_ANY;
    for (int v = 0; v < TI_VECS; v++)
        if (op->vec[v][0])
            s->ev.vec[v] = (struct ti_vec){s->vec[v], 4, (int64_t)program_rnd(12)};
    return s;
}

struct statement program_call(uint32_t op, uint64_t volume)
{
    struct statement s = {.vector_values = 1, .noise = 1};

    s.ev.op = op;
    s.ev.mask = ti_op_info(op)->fields;
    s.ev.volume = volume;
    for (int f = 0; f < TI_F_COUNT; f++)
        s.values[f] = 1;
    return s;
}

struct statement *program_random(int depth, uint64_t n)
{
    struct statement *first = NULL;

    for (uint64_t i = 0; i <= program_rnd(n); i++) {
        struct statement *s;

        if (depth && program_rnd(3) == 0) {
            s = calloc(1, sizeof *s);
            s->trips = 1 + (uint32_t)program_rnd(5);
            s->varying = program_rnd(3) ? 0 : 1 + (uint32_t)program_rnd(4);
            s->child = program_random(depth - 1, n);
        } else {
            s = random_call();
        }
        s->next = first;
        first = s;
    }
    return first;
}

void program_free(struct statement *s)
{
    for (struct statement *next; s; s = next) {
        next = s->next;
        program_free(s->child);
        free(s);
    }
}

struct run {
    struct ti_writer *w;
    int extras;
    uint64_t left; /* events that may still be written */
};

static void write_call(struct run *run, const struct statement *s)
{
    struct ti_event ev = s->ev;
    int32_t vec[TI_VECS][12];
    uint64_t extra[2] = {program_rnd(3) ? 100 : program_rnd(5000), 7};

    if (run->left == 0)
        return;
    run->left--;
    ev.volume += program_rnd(s->noise);
    for (uint32_t rest = ev.mask; rest; rest &= rest - 1) {
        int f = __builtin_ctz(rest);

        if (ev.arg[f] >= 0)
            ev.arg[f] += (int64_t)program_rnd(s->values[f]);
    }
    for (int v = 0; v < TI_VECS; v++) {
        memcpy(vec[v], s->vec[v], sizeof vec[v]);
        vec[v][0] += (int32_t)program_rnd(s->vector_values);
        ev.vec[v].data = vec[v];
    }
    if (run->extras)
        ti_writer_event_extra(run->w, &ev, extra);
    else
        ti_writer_event(run->w, &ev);
}

static void execute(struct run *run, const struct statement *s)
{
    for (; s; s = s->next) {
        uint64_t trips = s->trips + (s->varying ? program_rnd(s->varying) : 0);

        if (!s->child)
            write_call(run, s);
        for (; s->child && trips; trips--)
            execute(run, s->child);
    }
}

void program_trace(const char *path, const struct statement *program, int iterations, int extras,
                   uint64_t most, enum ti_end end)
{
    static const char *const info[] = {"host", "here", "extra", "burst_ns:ns call_ns:ns"};
    static const char *const tot[] = {"wall",  "12.5",
                                      "zero",  "0",
                                      "point", "0.000012",
                                      "nines", "999999999999.999999",
                                      "long",  "1234567890123456789",
                                      "two",   "007",
                                      "dot",   "1.",
                                      "minus", "-1",
                                      "none",  "",
                                      "comma", "1.2.3"};
    const int odd[] = {1, 3, 5}, even[] = {0, 2};
    struct run run = {.extras = extras, .left = most};
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, 3, 8, program_run_id, &run.w, &err), TI_OK);
    ti_writer_info(run.w, info, extras ? 2 : 1);
    if (extras)
        ti_writer_extras(run.w, 2);
    for (int i = 0; i < 4; i++)
        ti_writer_string(run.w, TI_STRING_SITE, (const char *[]){"a+0x1", "b+0x22", "c", "d"}[i]);
    ti_writer_string(run.w, TI_STRING_CALL, "MPI_Foo");
    ti_writer_string(run.w, TI_STRING_FILE, "/file");
    ti_writer_comm(run.w, 0, TI_KIND_WORLD, 3, 8, NULL, 0, NULL);
    ti_writer_comm(run.w, 1, TI_KIND_SPLIT, 1, 3, odd, 0, NULL);
    ti_writer_comm(run.w, 2, TI_KIND_INTER, 1, 3, odd, 2, even);
    for (const struct statement *s = program; s && program_rnd(2); s = s->next)
        if (!s->child) /* part of an iteration comes first */
            write_call(&run, s);
    for (int i = 0; i < iterations; i++)
        execute(&run, program);
    if (end == TI_END_KILLED) {
        ti_writer_flush(run.w);
        assert_int_equal(ti_writer_close(run.w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
        return;
    }
    assert_int_equal(ti_writer_close(run.w, end, tot, (int)(sizeof tot / sizeof *tot) / 2, &err),
                     TI_OK);
}
