/* Which ranks talked to which in a former run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "acquire/plan/like.h"
#include "tests/unit/script.h"

#define M TI_MESSAGE_BYTES

static struct ti_like like;
static struct ti_err err;

static void read_script(int np, int missing, const char *script)
{
    script_trace(np, missing, script);
    ti_like_free(&like);
    err = (struct ti_err){"", ""};
    if (ti_like_read(script_dir(), np, &like, &err) != TI_OK)
        fail_msg("%s", err.text);
}

/* Between a and b. */
static int64_t weight(int64_t a, int64_t b)
{
    const struct ti_graph *g = &like.graph;

    for (int64_t e = g->start[a]; e < g->start[a + 1]; e++)
        if (g->to[e] == b)
            return g->weight[e];
    return 0;
}

static void test_messages(void **state)
{
    (void)state;
    read_script(3, -1,
                "* init\n0 send peer=1 tag=1 bytes=100\n1 recv peer=any tag=1 bytes=500 from=-1\n"
                "1 isend peer=-1 tag=1 bytes=10 req=0\n1 wait req=0\n0 recv peer=1 tag=1 bytes=10\n"
                "2 send peer=null tag=1 bytes=7\n"
                "2 send_init peer=-1 tag=3 bytes=5 req=0\n2 startall v0=0\n2 wait req=0\n"
                "2 start req=0\n2 wait req=0\n"
                "1 recv peer=1 tag=3 bytes=5\n1 recv peer=1 tag=3 bytes=5\n* finalize\n");
    assert_int_equal(like.messages, 4);
    assert_int_equal(like.missing, 0);
    assert_int_equal(weight(0, 1), 110 + 2 * M);
    assert_int_equal(weight(1, 0), 110 + 2 * M);
    assert_int_equal(weight(1, 2), 10 + 2 * M);
    assert_int_equal(weight(0, 2), 0);
    assert_int_equal(like.graph.total, 120 + 4 * M);
}

static void test_collectives(void **state)
{
    (void)state;
    /* of all: an order changes nothing, but where blocks differ */
    read_script(4, -1,
                "* init\n* allreduce bytes=8 esize=8 redop=0\n* alltoall bytes=9 esize=1 rbytes=9\n"
                "0 alltoallv esize=2 v0=0,3,0,5 v1=0,0,0,0 resize=2\n* finalize\n");
    assert_int_equal(like.graph.total, 16 + 2 * M);
    assert_int_equal(weight(0, 3), 10 + M);
    /* of some: in a row, or each to each */
    read_script(4, -1,
                "* init\n0-2 COMM 2 s 0,1,2\n0 COMM 3 s 0,2\n2 COMM 3 s 0,2\n"
                "0 allreduce comm=3 bytes=8 esize=8 redop=0\n"
                "2 allreduce comm=3 bytes=8 esize=8 redop=0\n"
                "0-2 alltoall comm=2 bytes=4 esize=1 rbytes=4\n* finalize\n");
    assert_int_equal(weight(0, 2), 8 + M + 2 * (4 + M));
    assert_int_equal(weight(0, 1), 2 * (4 + M));
    assert_int_equal(weight(0, 3), 0);
}

static void test_remote_access(void **state)
{
    (void)state;
    read_script(2, -1,
                "* init\n* win_create comm=0 bytes=64 esize=8 win=0\n"
                "0 put win=0 peer=1 bytes=24 esize=8 rbytes=24 resize=8\n"
                "* win_fence win=0 mode=0\n* win_free win=0\n* finalize\n");
    assert_int_equal(weight(0, 1), 24 + M);
}

static void test_what_is_missing(void **state)
{
    (void)state;
    read_script(3, 1, "* init\n0 send peer=1 tag=1 bytes=100\n* finalize\n2 END 2\n");
    assert_int_equal(like.missing, 2);
    assert_int_equal(weight(0, 1), 100 + M);
}

static void test_another_number_of_ranks(void **state)
{
    struct ti_like other;

    (void)state;
    script_trace(2, -1, "* init\n* finalize\n");
    assert_int_equal(ti_like_read(script_dir(), 4, &other, &err), TI_ERR_INPUT);
    assert_non_null(
        strstr(err.text, "is of 2 ranks, and does not show which ranks communicate among 4"));
    assert_int_equal(ti_like_read("/nowhere.tib", 4, &other, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "--like: "));
}

static void test_order(void **state)
{
    struct ti_site site[] = {{.name = "s"}, {.name = "t"}};
    struct ti_cluster cluster[] = {{.name = "c", .site = 0}, {.name = "d", .site = 1}};
    struct ti_node node[] = {{.name = "c-1", .cluster = 0}, {.name = "d-1", .cluster = 1}};
    struct ti_sites sites = {
        .site = site, .nsites = 2, .cluster = cluster, .nclusters = 2, .node = node, .nnodes = 2};
    struct ti_rank_placement place = {.np = 4, .nnodes = 2, .ranks = (int64_t[]){2, 2}};
    struct ti_order o;

    (void)state;
    read_script(4, -1,
                "* init\n0-1 send peer=2 tag=1 bytes=1\n2-3 recv peer=-2 tag=1 bytes=1\n"
                "* finalize\n");
    assert_int_equal(ti_like_order(&like, &sites, &place, &o, &err), TI_OK);
    assert_int_equal(o.before.sites, 2 + 2 * M);
    assert_int_equal(o.after.sites, 0);
    assert_int_equal(o.node[0], o.node[2]);
    assert_int_equal(o.node[1], o.node[3]);
    ti_order_free(&o);
}

static int done(void **state)
{
    (void)state;
    ti_like_free(&like);
    script_forget();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_remote_access),
        cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_another_number_of_ranks),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, done);
}
