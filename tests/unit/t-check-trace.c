/* Soundness of whole traces; see script.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sound.h"

/* ---- messages ---- */

static void test_messages(void **state)
{
    (void)state;
    sound(2, "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n");
    conserved(1, 10);
    sound(2, "0 send peer=1 tag=1 bytes=9\n0 send peer=1 tag=1 bytes=11\n"
             "1 recv peer=-1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=20\n");
    conserved(2, 20);
    unsound(1, 0, 2, "rank 1 never receives it, and 1 more", 2,
            "0 send peer=1 tag=1 bytes=10\n0 send peer=1 tag=1 bytes=10\n"
            "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n");
    conserved(1, 10);
    unsound(1, 1, 2, "rank 0 sends nothing for it", 2,
            "0 send peer=1 tag=1 bytes=7\n1-1 recv peer=-1 tag=1 bytes=10\n"
            "1 recv peer=-1 tag=1 bytes=10\n");
    conserved(1, 7);
    unsound(2, 0, 1,
            "rank 1 never receives it; it waits for tag 2 on the communicator of the world", 2,
            "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=2 bytes=10\n");
    unsound(1, 1, 2, "15 bytes are too few for the 20 that rank 0 sends in its event 2", 2,
            "0 send peer=1 tag=1 bytes=10\n0 send peer=1 tag=1 bytes=20\n"
            "1 recv peer=-1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=15\n");
    /* as many bytes on the whole, but not message by message */
    unsound(1, 1, 1, "too few", 2,
            "0 send peer=1 tag=1 bytes=20\n0 send peer=1 tag=1 bytes=10\n"
            "1 recv peer=-1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=20\n");
    unsound(1, 1, 1, "no rank of the communicator", 2, "1 send peer=1 tag=1 bytes=10\n");
    /* the same tag on a copy of the world is another channel */
    unsound(2, 0, 2, "waits for tag 1 on the communicator of the world", 2,
            "* COMM 2 d 0,1\n* comm_dup newcomm=2\n"
            "0 send comm=2 peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n");
}

/* More channels than lanes, and many messages out of step. */
static void test_lanes(void **state)
{
    static char script[4000];
    char *at;

    (void)state;
    for (int missing = -1; missing < 40; missing += 9) {
        at = script;
        for (int i = 0; i < 40; i++)
            at += sprintf(at, "0 send peer=1 tag=%d bytes=%d\n", i, 100 + i);
        for (int i = 39; i >= 0; i--)
            if (i != missing)
                at += sprintf(at, "1 recv peer=-1 tag=%d bytes=%d\n", i, 100 + i);
        if (missing < 0)
            sound(2, script);
        else
            unsound(1, 0, (uint64_t)missing + 1, "never receives it", 2, script);
        conserved(missing < 0 ? 40 : 39,
                  40 * 100 + 780 - (missing < 0 ? 0 : 100u + (unsigned)missing));
    }
}

static void test_pairs(void **state)
{
    size_t *order, at = 0;
    struct ti_pair p;

    (void)state;
    unsound(1, 2, 2, "never receives it", 3,
            "2 send peer=-2 tag=1 bytes=5\n2 send peer=-2 tag=2 bytes=6\n"
            "0 recv peer=2 tag=1 bytes=50\n0 send peer=1 tag=9 bytes=7\n"
            "1 recv peer=-1 tag=9 bytes=70\n");
    order = ti_pairs_sorted(&check.pairs);
    p = ti_pairs_next(&check.pairs, order, &at);
    assert_true(p.checked && p.from == 0 && p.to == 1);
    assert_true(p.messages == 1 && p.received == 1 && p.bytes == 7 && p.delivered == 7);
    p = ti_pairs_next(&check.pairs, order, &at);
    assert_true(p.checked && p.from == 2 && p.to == 0);
    assert_true(p.messages == 2 && p.received == 1 && p.bytes == 11 && p.delivered == 5);
    assert_int_equal(at, check.pairs.keys.n);
    free(order);
}

static void test_wildcards(void **state)
{
    (void)state;
    sound(3, "1-2 send peer=-1 tag=4 bytes=8\n1 recv peer=1 tag=4 bytes=8\n"
             "0 recv peer=any tag=any bytes=9 from=1 fromtag=4\n");
    /* matched by a waitall, a waitany and a testsome, out of order */
    sound(4, "1-3 send peer=null tag=0 bytes=1\n"
             "1 send peer=-1 tag=5 bytes=8\n2 send peer=-2 tag=6 bytes=8\n"
             "3 send peer=-3 tag=7 bytes=8\n3 send peer=-3 tag=8 bytes=8\n"
             "0 irecv peer=any tag=any bytes=8 req=0\n0 irecv peer=any tag=6 bytes=8 req=1\n"
             "0 irecv peer=any tag=any bytes=8 req=2\n0 irecv peer=3 tag=any bytes=8 req=3\n"
             "0 waitany req=2 from=1 fromtag=5\n0 testsome v0=3 v1=3,3,8\n"
             "0 waitall all=1 v1=0,3,7,1,2,6\n");
    conserved(4, 32);
    /* it matched something else than what was sent */
    unsound(2, 1, 1, "never receives it; it waits for tag 5", 2,
            "1 send peer=-1 tag=4 bytes=8\n0 recv peer=any tag=any bytes=9 from=1 fromtag=5\n");
    unsound(1, 0, 1, "what the wildcard matched is not", 2,
            "0 recv peer=any tag=1 bytes=8\n1 send peer=-1 tag=1 bytes=8\n");
}

/* ---- requests ---- */

static void test_requests(void **state)
{
    (void)state;
    sound(2, "* irecv peer=null tag=0 bytes=8 req=0\n* wait req=0\n"
             "0 isend peer=1 tag=0 bytes=8 req=0\n0 request_free req=0\n"
             "1 recv peer=-1 tag=0 bytes=8\n");
    assert_int_equal(check.leaked.n, 0);
    unsound(1, 0, 2, "request 0 is not outstanding", 2, "0 pcontrol level=1\n0 wait req=0\n");
    unsound(1, 0, 1, "request 1 is not outstanding", 2, "0 waitall v0=1,2\n");
    unsound(1, 0, 2, "in use since event 1", 1,
            "0 isend peer=null tag=0 bytes=8 req=0\n0 isend peer=null tag=0 bytes=8 req=0\n"
            "0 wait req=0\n");
    /* no request has a number that would not be the lowest free one */
    unsound(2, 0, 1, "request number 999999999999 is out of range", 1,
            "0 isend peer=null tag=0 bytes=8 req=999999999999\n0 wait req=999999999999\n");
}

static void test_tags(void **state)
{
    (void)state;
    sound(2, "0 send peer=1 tag=2147483647 bytes=8\n1 recv peer=-1 tag=2147483647 bytes=8\n"
             "0 recv peer=null tag=any bytes=8\n");
    unsound(2, 0, 1, "its tag is larger than an int", 2,
            "0 send peer=1 tag=2147483648 bytes=8\n1 recv peer=-1 tag=2147483648 bytes=8\n");
    unsound(1, 0, 1, "its tag is negative", 1, "0 send peer=null tag=-1 bytes=8\n");
    unsound(1, 0, 1, "its tag is larger than an int", 1,
            "0 sendrecv peer=0 tag=1 bytes=8 rpeer=null rtag=2147483648 rbytes=8\n");
}

static void test_leaks(void **state)
{
    (void)state;
    sound(2, "0 isend peer=1 tag=0 bytes=8 req=0\n1 recv peer=-1 tag=0 bytes=8\n"
             "1 irecv peer=null tag=0 bytes=8 req=0\n");
    leaks(2, 0, 1, "isend(comm 0, peer +1, tag 0, bytes 8");
    conserved(1, 8);
    /* a receive that nobody waited for need not have received anything ... */
    sound(2, "0 irecv peer=1 tag=1 bytes=8 req=0\n0 irecv peer=1 tag=1 bytes=8 req=1\n"
             "1 send peer=-1 tag=1 bytes=8\n");
    leaks(2, 0, 1, "irecv");
    conserved(1, 8);
    sound(2, "0 irecv peer=1 tag=1 bytes=8 req=0\n0 request_free req=0\n");
    assert_int_equal(check.leaked.n, 0);
    /* ... and one with a wildcard anything */
    sound(2, "0 irecv peer=any tag=1 bytes=8 req=0\n1 send peer=-1 tag=1 bytes=8\n");
    leaks(1, 0, 1, "irecv(comm 0, peer any");
    sound(2, "0 irecv peer=any tag=1 bytes=8 req=0\n0 request_free req=0\n"
             "1 send peer=-1 tag=1 bytes=8\n");
    unsound(1, 1, 2, "never receives it", 2,
            "0 irecv peer=any tag=1 bytes=8 req=0\n1 send peer=-1 tag=1 bytes=8\n"
            "1 send peer=-1 tag=1 bytes=8\n");
}

/* ---- collectives ---- */

static void test_collectives(void **state)
{
    (void)state;
    sound(3, "* allreduce bytes=8 redop=1\n* barrier\n* barrier comm=1\n* scan redop=1 bytes=0\n"
             "* reduce_scatter redop=1 esize=8 v0=1,0,2\n"
             "* gather root=2 bytes=5 rbytes=5\n* scatter root=2 bytes=5 rbytes=5\n");
    assert_int_equal(check.conserved.collectives, 6);
    unsound(1, 2, 1, "rank 0 has event 1, barrier", 3, "0-1 barrier\n2 bcast root=0 bytes=8\n");
    unsound(1, 2, 2, "rank 0 has event 2, allreduce", 3,
            "* barrier\n0-1 allreduce bytes=8 redop=1\n2 allreduce bytes=8 redop=2\n");
    unsound(1, 2, 1, "rank 0 has event 1, reduce", 3,
            "0-1 reduce root=0 bytes=8 redop=1\n2 reduce root=1 bytes=8 redop=1\n");
    unsound(1, 2, 1, "rank 0 has event 1, bcast(comm 0, bytes 8", 3,
            "0-1 bcast root=0 bytes=8\n2 bcast root=0 bytes=9\n");
    unsound(1, 2, 1, "rank 0 has event 1, reduce_scatter", 3,
            "0-1 reduce_scatter redop=1 v0=1,2,3\n2 reduce_scatter redop=1 v0=1,2,4\n");
    unsound(1, 0, 2, "rank 2 has no more", 3, "* barrier\n0-1 barrier\n");
    unsound(1, 2, TI_NO_EVENT, "no collective", 3, "0-1 barrier\n");
    unsound(2, 0, 1, "send and receive sizes differ", 2, "* alltoall bytes=8 rbytes=9\n");
    unsound(2, 0, 1, "its root is no rank", 2, "* bcast bytes=8 root=2\n");
    unsound(2, 0, 1, "negative", 2, "* bcast bytes=-8 root=1\n");
}

static void test_blocks(void **state)
{
    (void)state;
    sound(2, "0 alltoallv esize=4 resize=2 v0=1,2 v1=2,6\n1 alltoallv esize=4 resize=8 v0=3,4 "
             "v1=1,2\n0 gatherv root=1 bytes=5\n1 gatherv root=1 bytes=6 resize=1 v0=5,6\n"
             "0 scatterv root=0 rbytes=4 esize=1 v0=4,8\n1 scatterv root=0 rbytes=8\n"
             "0 allgatherv bytes=1 resize=1 v0=1,7\n1 allgatherv bytes=7 resize=1 v0=1,7\n");
    unsound(1, 1, 2, "what this rank sends", 2,
            "* barrier\n0 alltoallv v0=1,2 v1=1,4\n1 alltoallv v0=3,4 v1=2,4\n");
    unsound(1, 1, 1, "what this rank sends", 2,
            "0 gatherv root=1 bytes=5\n1 gatherv root=1 bytes=6 resize=1 v0=5,7\n");
    unsound(1, 1, 1, "what it counts", 2,
            "0 gatherv root=1 bytes=5\n1 gatherv root=1 bytes=6 v0=5,6\n");
    unsound(1, 0, 1, "not one for each rank", 2,
            "0 alltoallv v0=1 v1=1,2\n1 alltoallv v0=2,1 v1=0,1\n");
}

static void test_communicators(void **state)
{
    (void)state;
    sound(3, "* COMM 2 d 0,1,2\n* comm_dup newcomm=2\n* bcast comm=2 root=1 bytes=8\n"
             "* comm_free comm=2\n");
    sound(4, "0 COMM 2 p 0,2\n2 COMM 2 p 0,2\n1 COMM 2 p 3,1\n3 COMM 2 p 3,1\n"
             "* comm_split color=0 key=0 newcomm=2\n"
             "0 send comm=2 peer=1 tag=1 bytes=4\n2 recv comm=2 peer=-1 tag=1 bytes=4\n"
             "3 send comm=2 peer=1 tag=1 bytes=4\n1 recv comm=2 peer=-1 tag=1 bytes=4\n"
             "* barrier comm=2\n* comm_free comm=2\n");
    conserved(2, 8);
    unsound(1, 3, 2, "on the communicator of ranks 3 1, rank 1 has event 2, barrier", 4,
            "0 COMM 2 p 0,2\n2 COMM 2 p 0,2\n1 COMM 2 p 3,1\n3 COMM 2 p 3,1\n"
            "* comm_split color=0 key=0 newcomm=2\n0-2 barrier comm=2\n"
            "3 bcast comm=2 root=0 bytes=1\n");
    unsound(2, 0, 1, "what communicator 5 is", 2, "* barrier comm=5\n");
}

/* ---- what is not there ---- */

static void test_not_there(void **state)
{
    const char *script = "0 send peer=1 tag=1 bytes=4\n1 recv peer=-1 tag=1 bytes=4\n"
                         "1 send peer=1 tag=1 bytes=5\n2 recv peer=-1 tag=1 bytes=5\n"
                         "* barrier\n";

    (void)state;
    check_of(3, -1, script);
    conserved(2, 9);
    assert_int_equal(check.unchecked.messages + check.unchecked.collectives, 0);
    check_of(3, 2, script);
    expect_problem(script, 0, 0, 0, "");
    conserved(1, 4);
    assert_int_equal(check.unchecked.messages, 1);
    assert_int_equal(check.unchecked.collectives, 1);
    check_of(3, 1, script);
    expect_problem(script, 0, 0, 0, "");
    conserved(0, 0);
    assert_int_equal(check.unchecked.messages, 2);
    /* what a rank that was cut off has not done is no problem of the others;
     * what two others do still is */
    sound(3, "2 END 3\n0 send peer=2 tag=1 bytes=4\n0 barrier\n1 barrier\n");
    conserved(0, 0);
    assert_int_equal(check.unchecked.messages, 1);
    unsound(2, 1, 1, "rank 0 has event 2, barrier", 3,
            "2 END 3\n0 send peer=1 tag=1 bytes=4\n0 barrier\n1 bcast root=0 bytes=4\n");
    /* nor is what a call that is not traced may have done */
    sound(2, "0 untraced call=MPI_Hello\n1 recv peer=-1 tag=1 bytes=4\n1 barrier\n");
    assert_int_equal(check.unchecked.collectives, 1);
}

static void test_interrupted(void **state)
{
    (void)state;
    unsound(1, 1, 2, "sends nothing for it", 2,
            "0 pcontrol level=0\n0 pcontrol level=1\n1 pcontrol level=0\n"
            "1 recv peer=-1 tag=1 bytes=10\n");
    assert_true(check.interrupted && check.unmatched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),  cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_wildcards),
        cmocka_unit_test(test_requests),  cmocka_unit_test(test_tags),
        cmocka_unit_test(test_leaks),     cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_blocks),    cmocka_unit_test(test_communicators),
        cmocka_unit_test(test_not_there), cmocka_unit_test(test_interrupted),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sound_forget();
    return failed;
}
