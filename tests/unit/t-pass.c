/* info/pass.c: what a visitor is told of the traffic in hand-made traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "analysis/pass.h"
#include "tests/unit/fold_script.h"
#include "tests/unit/script.h"

static char told[4096];
static struct ti_pass pass;
static struct ti_err err;

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
    size_t at = strlen(told);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(told + at, sizeof told - at, fmt, ap);
    va_end(ap);
}

static void message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)arg;
    while (times--)
        tell("m %d %d %d\n", (int)from, (int)to, (int)bytes);
}

static void one_sided(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)arg;
    while (times--)
        tell("o %d %d %d\n", (int)from, (int)to, (int)bytes);
}

static void collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    (void)arg;
    while (times--)
        tell("c %s %d\n", ti_op_info(op)->text, (int)bytes);
}

/* Read `only`, or all ranks, of a script between MPI_Init and MPI_Finalize. */
static void read_script(int np, int missing, int64_t only, const char *script)
{
    static const struct ti_pass_visitor v = {
        .message = message, .one_sided = one_sided, .collective = collective};
    char text[4096];

    snprintf(text, sizeof text, "* init level=0\n%s* finalize\n", script);
    script_trace(np, missing, text);
    told[0] = '\0';
    assert_int_equal(ti_pass(script_source, only, &v, &pass, &err), TI_OK);
}

static void expect(int np, const char *script, const char *expected)
{
    read_script(np, -1, -1, script);
    assert_string_equal(told, expected);
    assert_int_equal(pass.st, TI_OK);
    assert_int_equal(pass.ranks, np);
    ti_pass_free(&pass);
}

static void messages_count_at_their_sender(void **state)
{
    (void)state;
    expect(2,
           "0 send comm=0 peer=1 tag=1 bytes=8 esize=1\n"
           "1 recv comm=0 peer=any tag=any bytes=100 esize=1 from=-1 fromtag=1\n"
           "0 send comm=0 peer=null tag=1 bytes=9 esize=1\n"
           "0 sendrecv comm=0 peer=1 tag=2 bytes=5 esize=1 rpeer=1 rtag=2 rbytes=7 resize=1\n"
           "1 sendrecv comm=0 peer=-1 tag=2 bytes=7 esize=1 rpeer=-1 rtag=2 rbytes=5 resize=1\n",
           "m 0 1 8\nm 0 1 5\nm 1 0 7\n");
}

/* Ranks of a communicator are those of the world. */
static void ranks_are_those_of_the_world(void **state)
{
    (void)state;
    expect(3,
           "0 COMM 2 p 2,0\n"
           "2 COMM 2 p 2,0\n"
           "0 comm_split comm=0 color=0 key=1 newcomm=2\n"
           "2 comm_split comm=0 color=0 key=0 newcomm=2\n"
           "1 comm_split comm=0 color=null key=0 newcomm=null\n"
           "2 send comm=2 peer=1 tag=1 bytes=3 esize=1\n"
           "0 recv comm=2 peer=-1 tag=1 bytes=3 esize=1\n",
           "m 2 0 3\n");
}

static void requests_count_when_they_complete(void **state)
{
    (void)state;
    /* completed, cancelled, freed, left over; and a persistent one, started twice */
    expect(2,
           "0 isend comm=0 peer=1 tag=1 bytes=1 esize=1 req=0\n"
           "0 isend comm=0 peer=1 tag=2 bytes=2 esize=1 req=1\n"
           "0 cancel req=1\n"
           "0 waitall v0=0,1 v1=1,null,null\n"
           "0 isend comm=0 peer=1 tag=3 bytes=3 esize=1 req=0\n"
           "0 request_free req=0\n"
           "0 send_init comm=0 peer=1 tag=4 bytes=4 esize=1 req=0\n"
           "0 start req=0\n"
           "0 wait req=0\n"
           "0 startall v0=0\n"
           "0 isend comm=0 peer=1 tag=5 bytes=5 esize=1 req=1\n",
           "m 0 1 1\nm 0 1 3\nm 0 1 4\nm 0 1 4\nm 0 1 5\n");
}

static void one_sided_operations_have_a_direction(void **state)
{
    (void)state;
    expect(2,
           "* win_create comm=0 bytes=64 esize=1 win=0\n* win_fence win=0 mode=0\n"
           "0 put win=0 peer=1 bytes=8 esize=1 rbytes=8 resize=1\n"
           "0 get win=0 peer=1 bytes=4 esize=1 rbytes=6 resize=1\n"
           "0 put win=0 peer=null bytes=8 esize=1 rbytes=8 resize=1\n"
           "1 accumulate win=0 peer=-1 bytes=16 esize=8 rbytes=16 resize=8 redop=1\n"
           "1 fetch_and_op win=0 peer=0 bytes=8 esize=8 redop=1\n"
           "1 get_accumulate win=0 peer=-1 bytes=0 esize=8 rbytes=24 resize=8 redop=14\n",
           "o 0 1 8\no 1 0 6\no 1 0 16\no 1 1 8\no 1 1 8\no 0 1 24\n");
}

/* The rank's own share; of a persistent collective, at each start. */
static void collectives_count_by_call(void **state)
{
    (void)state;
    expect(2,
           "* barrier comm=0\n"
           "* alltoall comm=0 bytes=4 esize=4 rbytes=4 resize=4\n"
           "* bcast_init comm=0 bytes=10 esize=1 root=0 req=0\n"
           "* start req=0\n"
           "* wait req=0\n"
           "* start req=0\n"
           "* wait req=0\n"
           "* request_free req=0\n"
           "* ialltoallv comm=0 esize=4 resize=4 req=0 v0=1,2 v1=1,2\n"
           "* wait req=0\n",
           "c barrier 0\nc alltoall 8\nc bcast_init 10\nc bcast_init 10\nc ialltoallv 12\n"
           "c barrier 0\nc alltoall 8\nc bcast_init 10\nc bcast_init 10\nc ialltoallv 12\n");
}

static void one_rank_can_be_read_alone(void **state)
{
    (void)state;
    read_script(2, -1, 1, "* send comm=0 peer=0 tag=1 bytes=8 esize=1\n");
    assert_string_equal(told, "m 1 1 8\n");
    assert_true(pass.ranks == 1 && pass.np == 2 && pass.st == TI_OK);
    ti_pass_free(&pass);
}

static void what_is_not_there_is_said(void **state)
{
    (void)state;
    read_script(3, 1, -1, "0 send comm=0 peer=1 tag=1 bytes=8 esize=1\n2 END 3\n");
    assert_string_equal(told, "m 0 1 8\n");
    assert_true(pass.ranks == 2 && pass.st == TI_ERR_PARTIAL);
    assert_int_equal(pass.missing.n, 1);
    assert_int_equal(pass.incomplete.n, 1);
    assert_int_equal(pass.damaged.n, 0);
    ti_pass_free(&pass);

    /* a size below zero is damage: what comes before it counts */
    read_script(2, -1, -1,
                "0 send comm=0 peer=1 tag=1 bytes=8 esize=1\n"
                "0 send comm=0 peer=1 tag=1 bytes=-8 esize=1\n"
                "0 send comm=0 peer=1 tag=1 bytes=9 esize=1\n");
    assert_string_equal(told, "m 0 1 8\n");
    assert_int_equal(pass.damaged.n, 1);
    assert_non_null(strstr(pass.first_damaged, "bytes of event 2"));
    assert_int_equal(pass.st, TI_ERR_INPUT);
    ti_pass_free(&pass);

    /* events that fit no other */
    read_script(2, -1, -1,
                "0 wait req=3\n"
                "0 send comm=0 peer=7 tag=1 bytes=1 esize=1\n"
                "0 put win=0 peer=1 bytes=8 esize=1 rbytes=8 resize=1\n"
                "0 send comm=0 peer=1 tag=1 bytes=9 esize=1\n");
    assert_string_equal(told, "m 0 1 9\n");
    assert_int_equal(pass.unsound, 3);
    assert_string_equal(pass.first_unsound, "rank 0, event 1: request 3 is not outstanding");
    assert_int_equal(pass.st, TI_ERR_INPUT);
    ti_pass_free(&pass);
}

/* ------------------------------------------------------------------- loops -- */

/* How often each item was told. */
struct items {
    struct ti_map map;
    uint64_t times[4096], bursts, volume;
};

static void count(struct items *all, int kind, int64_t from, int64_t to, uint64_t bytes,
                  uint64_t times)
{
    int64_t i = ti_map_add(&all->map, kind, from, to, (int64_t)bytes);

    assert_in_range(i, 0, sizeof all->times / sizeof *all->times - 1);
    all->times[i] += times;
}

static void count_message(void *all, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    count(all, -1, from, to, bytes, times);
}

static void count_one_sided(void *all, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    count(all, -2, from, to, bytes, times);
}

static void count_collective(void *all, uint32_t op, uint64_t bytes, uint64_t times)
{
    count(all, (int)op, 0, 0, bytes, times);
}

static void count_bursts(void *arg, const struct ti_reader *r, uint32_t site,
                         const struct ti_values *v, bool has_extras)
{
    struct items *all = arg;
    uint64_t sum;

    (void)r;
    (void)site;
    assert_false(has_extras);
    assert_true(ti_values_sum(v, 0, &sum));
    all->bursts += v->n * v->times;
    all->volume += sum;
}

static void read_items(struct ti_source *s, struct items *all, struct ti_pass *p)
{
    const struct ti_pass_visitor v = {.arg = all,
                                   .message = count_message,
                                   .one_sided = count_one_sided,
                                   .collective = count_collective,
                                   .bursts = count_bursts};

    memset(all, 0, sizeof *all);
    assert_int_equal(ti_pass(s, -1, &v, p, &err), TI_OK);
}

/* The same items, `scale` times as often, but for those that occur less than `scale` times. */
static void same_items(const struct items *a, const struct items *b, uint64_t scale)
{
    assert_int_equal(a->map.n, b->map.n);
    for (size_t i = 0; i < a->map.n; i++) {
        const int64_t *key = a->map.key[i];
        int64_t k = ti_map_find(&b->map, key[0], key[1], key[2], key[3]);

        assert_true(k >= 0);
        assert_true(b->times[k] == (a->times[i] > 1 ? scale * a->times[i] : a->times[i]));
    }
}

static char loops[1 << 16];
static uint64_t seed;

static int rnd(int below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((seed >> 33) % (uint64_t)below);
}

/* A body of up to `n` statements, some of them loops; rank 1 receives nothing, which a pass does
 * not mind. */
static char *say_body(char *at, int depth, int n)
{
    static const char *const calls[] = {
        "send comm=0 peer=1 tag=%d bytes=%d esize=1",
        "isend comm=0 peer=1 tag=%d bytes=%d esize=1 req=1\n0 wait req=1",
        "irecv comm=0 peer=any tag=%d bytes=%d esize=1 req=1\n0 wait req=1 from=1",
        "start req=0\n0 wait req=0",
        "put win=0 peer=1 bytes=8%d esize=1 rbytes=%d resize=1",
        "get_accumulate win=0 peer=1 bytes=2%d esize=8 rbytes=%d resize=8 redop=1",
        "allreduce comm=0 v=%d bytes=%d redop=3",
        "alltoall comm=0 v=%d bytes=%d esize=4 rbytes=4 resize=4",
        "wait req=2%d", /* not outstanding */
        "isend comm=0 peer=1 tag=1 bytes=%d esize=1 req=1\n0 cancel req=1\n"
        "0 waitall v0=1 v1=1,null,null"};
    char *start;

    for (int i = 0; i < n && at < loops + 2048; i++) {
        const char *call = calls[rnd(sizeof calls / sizeof *calls)];
        int trips = depth < 3 && rnd(3) == 0 ? 2 + rnd(12) : 0;

        if (!trips) {
            at += sprintf(at, "0 ");
            at += sprintf(at, call, 1 + rnd(3), 16 * (1 + rnd(4)));
            *at++ = '\n';
            continue;
        }
        start = at;
        at = say_body(at, depth + 1, 1 + rnd(3));
        for (size_t bytes = (size_t)(at - start); trips > 1 && at < loops + 30000; trips--) {
            memcpy(at, start, bytes);
            at += bytes;
        }
        *at = '\0';
    }
    *at = '\0';
    return at;
}

static void loops_are_read_once(void **state)
{
    static struct items a, b;
    static char text[sizeof loops + 512];
    uint64_t events = 0;

    (void)state;
    for (int k = 0; k < 200; k++) {
        struct ti_source *s;
        struct ti_pass p;
        int trips = 1 + k % 40;

        seed = (uint64_t)k;
        say_body(loops, 0, 4);
        snprintf(text, sizeof text,
                 "* init level=0\n* win_create comm=0 bytes=64 esize=1 win=0\n"
                 "* win_fence win=0 mode=0\n"
                 "0 send_init comm=0 peer=1 tag=4 bytes=4 esize=1 req=0\n");
        for (; trips && strlen(text) + strlen(loops) + 64 < sizeof text; trips--)
            strcat(text, loops);
        strcat(text, "* finalize\n");
        script_trace(2, -1, text);
        read_items(script_source, &a, &pass);
        s = fold_script(2, 0, NULL);
        read_items(s, &b, &p);
        same_items(&a, &b, 1);
        assert_int_equal(a.bursts, b.bursts);
        assert_int_equal(a.volume, b.volume);
        assert_int_equal(p.unsound, pass.unsound);
        assert_int_equal(p.st, pass.st);
        events += a.bursts;
        ti_pass_free(&p);
        ti_pass_free(&pass);
        ti_map_free(&a.map);
        ti_map_free(&b.map);
        ti_source_close(s);
    }
    print_message("# %llu events\n", (unsigned long long)events);
}

/* 2^40 trips take no time.  Whatever occurs once per trip does so 2^35 times as often. */
static void endless_loops(void **state)
{
    const int64_t to[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    static struct items a, b;
    char text[8192] = "* init level=0\n* win_create comm=0 bytes=64 esize=1 win=0\n"
                      "* win_fence win=0 mode=0\n"
                      "0 send_init comm=0 peer=1 tag=4 bytes=4 esize=1 req=0\n";
    struct ti_source *s;

    (void)state;
    for (int i = 0; i < 32; i++)
        strcat(text, "0 irecv comm=0 peer=any tag=1 bytes=64 esize=1 req=1\n"
                     "0 start req=0\n0 waitall all=1 v0=1,0 v1=1,1,1\n"
                     "0 put win=0 peer=1 bytes=8 esize=1 rbytes=8 resize=1\n"
                     "* allreduce comm=0 v=5 bytes=48 redop=3\n");
    strcat(text, "* finalize\n");
    script_trace(2, -1, text);
    read_items(script_source, &a, &pass);
    ti_pass_free(&pass);
    s = fold_script(2, 32, to);
    read_items(s, &b, &pass);
    same_items(&a, &b, UINT64_C(1) << 35);
    assert_true(b.volume == 2 * 5 * (UINT64_C(1) << 40));
    assert_string_equal(pass.first_unsound, "");
    assert_int_equal(pass.st, TI_OK);
    ti_pass_free(&pass);
    ti_map_free(&a.map);
    ti_map_free(&b.map);
    ti_source_close(s);
}

static void classes_are_powers_of_two(void **state)
{
    (void)state;
    assert_true(ti_class(0) == 0 && ti_class(1) == 1 && ti_class(2) == 2);
    assert_true(ti_class(3) == 2 && ti_class(4) == 3 && ti_class(UINT64_MAX) == 64);
    for (int i = 0; i < TI_CLASSES; i++)
        assert_int_equal(ti_class(ti_class_from(i)), i);
}

static int forget(void **state)
{
    (void)state;
    script_forget();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_count_at_their_sender),
        cmocka_unit_test(ranks_are_those_of_the_world),
        cmocka_unit_test(requests_count_when_they_complete),
        cmocka_unit_test(one_sided_operations_have_a_direction),
        cmocka_unit_test(collectives_count_by_call),
        cmocka_unit_test(one_rank_can_be_read_alone),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(loops_are_read_once),
        cmocka_unit_test(endless_loops),
        cmocka_unit_test(classes_are_powers_of_two),
    };

    return cmocka_run_group_tests(tests, NULL, forget);
}
