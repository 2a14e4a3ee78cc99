/* trace/scan.c: what a rank hands over, counted where it is handed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/scan.h"
#include "trace/writer.h"

static char path[64];
static struct ti_writer *w;
static struct ti_scan scan;

/* Rank 1 of 5: the world, itself, and 0 and 1 against the others. */
static void begin(void)
{
    static const uint8_t run_id[TI_RUN_ID_BYTES] = {7};
    static const int ranks[] = {0, 1, 2, 3, 4};
    const char *const info[] = {"host", "here"};
    struct ti_err err;

    unlink(path);
    assert_int_equal(ti_writer_open(path, 1, 5, run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    ti_writer_comm(w, 0, TI_KIND_WORLD, 1, 5, ranks, 0, NULL);
    ti_writer_comm(w, 1, TI_KIND_SELF, 0, 1, ranks + 1, 0, NULL);
    ti_writer_comm(w, 2, TI_KIND_INTER, 1, 2, ranks, 3, ranks + 2);
}

struct given {
    enum ti_field field;
    int64_t value;
};

#define FIELDS(...) ((const struct given[]){__VA_ARGS__, {TI_F_COUNT, 0}})
#define VECTOR(...)                                                                                \
    ((struct ti_vec){(const int[]){__VA_ARGS__}, 4,                                                \
                     sizeof((const int[]){__VA_ARGS__}) / sizeof(int)})
#define EVENT(op, ...)                                                                             \
    event(op, FIELDS(__VA_ARGS__), (struct ti_vec){NULL, 4, 0}, (struct ti_vec){NULL, 4, 0})

/* Fields that are not given are 0; those that the operation has not are left out. */
static void event(enum ti_op op, const struct given *f, struct ti_vec v0, struct ti_vec v1)
{
    const struct ti_op_info *info = ti_op_info(op);
    struct ti_event ev = {.op = op, .mask = info->fields, .vec = {v0, v1}};

    for (; f->field != TI_F_COUNT; f++) {
        ev.mask |= (1u << f->field) & info->optional;
        ev.arg[f->field] = f->value;
    }
    ti_writer_event(w, &ev);
}

static void read_back(void)
{
    struct ti_reader *r;
    struct ti_err err;

    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
    if (ti_reader_open(path, &r, &err) != TI_OK)
        fail_msg("%s", err.text);
    if (ti_scan_read(r, &scan, &err) != TI_OK)
        fail_msg("%s", err.text);
    ti_scan_free(&scan); /* the counts stay */
    ti_reader_close(r);
}

static void message(enum ti_op op, int64_t peer, int64_t bytes, int64_t req)
{
    EVENT(op, {TI_F_COMM, 0}, {TI_F_PEER, peer}, {TI_F_TAG, 1}, {TI_F_BYTES, bytes},
          {TI_F_ESIZE, 1}, {TI_F_REQ, req});
}

static void collective(enum ti_op op, int64_t comm, int64_t bytes)
{
    EVENT(op, {TI_F_COMM, comm}, {TI_F_BYTES, bytes}, {TI_F_ESIZE, 1}, {TI_F_BYTES2, bytes},
          {TI_F_ESIZE2, 1});
}

static void persistent(void **state)
{
    (void)state;
    begin();
    message(TI_OP_SEND_INIT, 1, 100, 0);
    message(TI_OP_RECV_INIT, 1, 100, 1);
    message(TI_OP_SSEND_INIT, TI_NULL, 100, 2);
    EVENT(TI_OP_ALLREDUCE_INIT, {TI_F_COMM, 0}, {TI_F_BYTES, 8}, {TI_F_ESIZE, 8},
          {TI_F_REDOP, TI_REDOP_SUM}, {TI_F_REQ, 3});
    /* made, but not started: nothing yet */
    event(TI_OP_ALLTOALLV_INIT,
          FIELDS({TI_F_COMM, 0}, {TI_F_ESIZE, 4}, {TI_F_ESIZE2, 4}, {TI_F_REQ, 4}),
          VECTOR(1, 2, 3, 4, 5), VECTOR(1, 1, 1, 1, 1));
    event(TI_OP_STARTALL, FIELDS({TI_F_COUNT, 0}), VECTOR(0, 1, 2, 3), (struct ti_vec){NULL, 4, 0});
    EVENT(TI_OP_START, {TI_F_REQ, 0});
    EVENT(TI_OP_START, {TI_F_REQ, 3});
    EVENT(TI_OP_START, {TI_F_REQ, 3});
    /* the number of another one now */
    EVENT(TI_OP_REQUEST_FREE, {TI_F_REQ, 0});
    message(TI_OP_BSEND_INIT, 1, 7, 0);
    EVENT(TI_OP_START, {TI_F_REQ, 0});
    /* of nothing that was made, and of what never can have been */
    EVENT(TI_OP_START, {TI_F_REQ, 40});
    EVENT(TI_OP_START, {TI_F_REQ, -1});
    message(TI_OP_SEND_INIT, 1, 100, INT64_MAX);
    EVENT(TI_OP_START, {TI_F_REQ, INT64_MAX});
    read_back();
    assert_int_equal(scan.op[TI_OP_SEND_INIT].events, 2);
    assert_int_equal(scan.op[TI_OP_SEND_INIT].bytes, 200);
    assert_int_equal(scan.op[TI_OP_BSEND_INIT].bytes, 7);
    assert_int_equal(scan.op[TI_OP_SSEND_INIT].bytes, 0);
    assert_int_equal(scan.op[TI_OP_RECV_INIT].bytes, 0);
    assert_int_equal(scan.op[TI_OP_ALLREDUCE_INIT].bytes, 24);
    assert_int_equal(scan.op[TI_OP_ALLTOALLV_INIT].bytes, 0);
    assert_int_equal(scan.op[TI_OP_START].bytes, 0);
    assert_int_equal(scan.messages, 3);
}

static void collectives(void **state)
{
    (void)state;
    begin();
    collective(TI_OP_IBCAST, 0, 10);
    collective(TI_OP_ALLTOALL, 0, 10);
    collective(TI_OP_IALLTOALL, 2, 10); /* three in the other group */
    collective(TI_OP_IREDUCE_SCATTER_BLOCK, 0, 10);
    collective(TI_OP_REDUCE_SCATTER_BLOCK, 2, 10); /* two in the own group */
    for (int self = 0; self < 2; self++) {
        EVENT(TI_OP_GATHER, {TI_F_COMM, 2}, {TI_F_BYTES, 10}, {TI_F_ESIZE, 1}, {TI_F_BYTES2, 10},
              {TI_F_ESIZE2, 1}, {TI_F_ROOT, self ? TI_SELF : 1});
        EVENT(TI_OP_IREDUCE, {TI_F_COMM, 2}, {TI_F_BYTES, 10}, {TI_F_ESIZE, 1},
              {TI_F_ROOT, self ? TI_SELF : 1}, {TI_F_REDOP, 1}, {TI_F_REQ, 0});
        EVENT(TI_OP_BCAST, {TI_F_COMM, 2}, {TI_F_BYTES, 10}, {TI_F_ESIZE, 1},
              {TI_F_ROOT, self ? TI_SELF : 1});
    }
    event(TI_OP_INEIGHBOR_ALLTOALLW,
          FIELDS({TI_F_COMM, 0}, {TI_F_ESIZE, 1}, {TI_F_ESIZE2, 1}, {TI_F_REQ, 1}), VECTOR(5, 6),
          VECTOR(7));
    read_back();
    assert_int_equal(scan.op[TI_OP_IBCAST].bytes, 10);
    assert_int_equal(scan.op[TI_OP_ALLTOALL].bytes, 50);
    assert_int_equal(scan.op[TI_OP_IALLTOALL].bytes, 30);
    assert_int_equal(scan.op[TI_OP_IREDUCE_SCATTER_BLOCK].bytes, 50);
    assert_int_equal(scan.op[TI_OP_REDUCE_SCATTER_BLOCK].bytes, 20);
    assert_int_equal(scan.op[TI_OP_GATHER].bytes, 10);
    assert_int_equal(scan.op[TI_OP_IREDUCE].bytes, 10);
    assert_int_equal(scan.op[TI_OP_BCAST].bytes, 20);
    assert_int_equal(scan.op[TI_OP_INEIGHBOR_ALLTOALLW].bytes, 11);
    assert_int_equal(scan.messages, 0);
}

/* Communicator `index`, made by `op`, then one alltoall with its neighbours. */
static void topology(uint32_t index, char kind, enum ti_op op, int64_t from, struct ti_vec v0,
                     struct ti_vec v1)
{
    static const int ranks[] = {0, 1, 2, 3, 4};

    ti_writer_comm(w, index, kind, 1, 5, ranks, 0, NULL);
    event(op, FIELDS({TI_F_COMM, from}, {TI_F_NEWCOMM, index}), v0, v1);
    collective(TI_OP_NEIGHBOR_ALLTOALL, index, 10);
}

static void neighbours(void **state)
{
    const struct ti_vec none = {NULL, 4, 0};

    (void)state;
    begin();
    topology(3, TI_KIND_CART, TI_OP_CART_CREATE, 0, VECTOR(5, 1), VECTOR(0, 1));           /* 4 */
    topology(4, TI_KIND_DUP, TI_OP_COMM_DUP, 3, none, none);                               /* 4 */
    topology(5, TI_KIND_CART, TI_OP_CART_SUB, 3, VECTOR(1, 0), none);                      /* 2 */
    topology(6, TI_KIND_GRAPH, TI_OP_GRAPH_CREATE, 0, VECTOR(1, 2, 3), none);              /* 3 */
    topology(7, TI_KIND_DIST_GRAPH, TI_OP_DIST_GRAPH_CREATE, 0, VECTOR(1), VECTOR(1, 2));  /* 2 */
    topology(8, TI_KIND_DIST_GRAPH, TI_OP_DIST_GRAPH_CREATE_ADJACENT, 0, VECTOR(1), none); /* 0 */
    topology(9, TI_KIND_DUP, TI_OP_COMM_DUP, 0, none, none); /* 0: of no topology */
    EVENT(TI_OP_NEIGHBOR_ALLTOALL_INIT, {TI_F_COMM, 4}, {TI_F_BYTES, 1}, {TI_F_REQ, 0});
    EVENT(TI_OP_START, {TI_F_REQ, 0});
    /* a communicator that is not there */
    event(TI_OP_GRAPH_CREATE, FIELDS({TI_F_COMM, 0}, {TI_F_NEWCOMM, 1000000000}), VECTOR(1), none);
    read_back();
    assert_int_equal(scan.op[TI_OP_NEIGHBOR_ALLTOALL].bytes, 10 * (4 + 4 + 2 + 3 + 2));
    assert_int_equal(scan.op[TI_OP_NEIGHBOR_ALLTOALL_INIT].bytes, 4);
}

/* A product that was too large and wrapped is no size. */
static void sizes_below_zero(void **state)
{
    static const struct {
        enum ti_op op;
        enum ti_field field;
        const char *text;
    } wrong[] = {{TI_OP_SEND, TI_F_BYTES, "the field bytes of event 1, send, is below zero"},
                 {TI_OP_RECV, TI_F_ESIZE, "the field esize of event 1, recv"},
                 {TI_OP_ALLTOALL, TI_F_BYTES2, "the field rbytes of event 1, alltoall"},
                 {TI_OP_ALLTOALLV, TI_F_ESIZE2, "the field resize of event 1, alltoallv"}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ti_reader *r;
        struct ti_err err;

        begin();
        EVENT(TI_OP_BARRIER, {TI_F_COMM, 0});
        EVENT(wrong[i].op, {wrong[i].field, INT64_MIN / 2});
        assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
        assert_int_equal(ti_reader_open(path, &r, &err), TI_OK);
        assert_int_equal(ti_scan_read(r, &scan, &err), TI_ERR_INPUT);
        assert_non_null(strstr(err.text, wrong[i].text));
        ti_scan_free(&scan);
        ti_reader_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(persistent),
        cmocka_unit_test(collectives),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(sizes_below_zero),
    };
    int failed;

    snprintf(path, sizeof path, "/tmp/t-scan-%d.ti", (int)getpid());
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
