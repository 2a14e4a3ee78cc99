/* Soundness of the calls beyond sends, receives and plain
 * collectives.  See sound.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sound.h"

static int texts; /* events that were looked up in a trace */

const char *__real_ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                                 size_t bytes);
const char *__wrap_ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                                 size_t bytes);

const char *__wrap_ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                                 size_t bytes)
{
    texts++;
    return __real_ti_event_text(s, rank, index, buf, bytes);
}

/* ---- requests ---- */

static void test_persistent(void **state)
{
    (void)state;
    sound(2, "0 send_init peer=1 tag=1 bytes=10 req=0\n0 send_init peer=1 tag=2 bytes=20 req=1\n"
             "1 recv_init peer=-1 tag=1 bytes=10 req=0\n1 recv_init peer=any tag=any bytes=30 "
             "req=1\n0-1 start req=0\n0-1 wait req=0\n0-1 startall v0=1,0\n"
             "0 waitall all=1\n1 waitall all=1 v1=1,-1,2\n0-1 wait req=0\n"
             "* request_free req=0\n* request_free req=1\n");
    conserved(3, 40);
    assert_int_equal(check.leaked.n, 0);
    unsound(1, 0, 2, "request 0 is not persistent", 1,
            "0 isend peer=null tag=1 bytes=1 req=0\n0 start req=0\n0 wait req=0\n");
    unsound(1, 0, 3, "request 0 is active since event 2", 1,
            "0 send_init peer=null tag=1 bytes=1 req=0\n0 start req=0\n0 start req=0\n");
    unsound(1, 0, 2, "rank 1 never receives it", 2,
            "0 send_init peer=1 tag=1 bytes=10 req=0\n0 start req=0\n0 wait req=0\n");
    /* one that is not active may stay, one that is leaks */
    sound(1, "0 send_init peer=null tag=1 bytes=1 req=0\n");
    assert_int_equal(check.leaked.n, 0);
    sound(1, "0 send_init peer=null tag=1 bytes=1 req=0\n0 start req=0\n");
    leaks(1, 0, 2, "start(req 0)");
}

/* The trace is read again for problems that are shown, not for each that is like one of them. */
static void test_many_alike(void **state)
{
    enum { MANY = 200 };
    char text[MANY * 100];
    int n = 0;

    (void)state;
    for (int i = 0; i < MANY; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "0 isend peer=1 tag=1 bytes=8 req=%d\n1 recv peer=-1 tag=1 bytes=8\n", i);
    texts = 0;
    sound(2, text);
    leaks(MANY, 0, 1, "isend(");
    assert_in_range(texts, 1, 2); /* once, and in the check of the folded traces */
    n = 0;
    for (int i = 0; i < MANY; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "0 send peer=1 tag=%d bytes=8\n", i);
    texts = 0;
    unsound(MANY, 0, 1, "rank 1 never receives it", 2, text);
    assert_in_range(texts, 1, 2);
}

static void test_cancelled(void **state)
{
    (void)state;
    /* the last on its channel, with a wildcard, and one that others follow */
    sound(2, "0 isend peer=1 tag=1 bytes=10 req=0\n0 cancel req=0\n"
             "0 wait req=0 from=null fromtag=null\n");
    conserved(0, 0);
    sound(2, "1 irecv peer=any tag=1 bytes=10 req=0\n1 cancel req=0\n"
             "1 waitall v0=0 v1=0,null,null\n0 send peer=1 tag=1 bytes=8\n"
             "1 recv peer=-1 tag=1 bytes=8\n");
    conserved(1, 8);
    sound(2, "1 irecv peer=-1 tag=1 bytes=5 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=1\n"
             "1 irecv peer=-1 tag=1 bytes=20 req=2\n1 cancel req=0\n"
             "1 waitall all=1 v1=0,null,null\n"
             "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=20\n");
    conserved(2, 28);
    unsound(1, 1, 3, "its 19 bytes are too few for the 20", 2,
            "1 irecv peer=-1 tag=1 bytes=5 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=1\n"
            "1 irecv peer=-1 tag=1 bytes=19 req=2\n1 cancel req=0\n"
            "1 waitall all=1 v1=0,null,null\n"
            "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=20\n");
    /* an attempt that came too late */
    sound(2, "1 irecv peer=-1 tag=1 bytes=8 req=0\n1 cancel req=0\n1 wait req=0\n"
             "0 send peer=1 tag=1 bytes=8\n");
    conserved(1, 8);
    unsound(1, 0, 2, "MPI_Cancel was not called", 2,
            "0 isend peer=1 tag=1 bytes=10 req=0\n0 wait req=0 from=null fromtag=null\n");
    unsound(1, 0, 1, "request 0 is not outstanding", 2, "0 cancel req=0\n");
}

/* Whether one that was freed, or is left, was cancelled, nobody knows: both will do. */
static void test_perhaps_cancelled(void **state)
{
    static const char *const given_up[] = {"request_free req=0\n", "send peer=null bytes=1\n"};
    char text[512];

    (void)state;
    for (int left = 0; left < 2; left++) {
        const char *end = given_up[left];

        snprintf(text, sizeof text, "0 isend peer=1 tag=1 bytes=10 req=0\n0 cancel req=0\n0 %s",
                 end);
        sound(2, text);
        strcat(text, "1 recv peer=-1 tag=1 bytes=10\n");
        sound(2, text);
        conserved(1, 10);
        snprintf(text, sizeof text, "1 irecv peer=-1 tag=1 bytes=10 req=0\n1 cancel req=0\n1 %s",
                 end);
        sound(2, text);
        strcat(text, "0 send peer=1 tag=1 bytes=10\n");
        sound(2, text);
        conserved(1, 10);
        /* others come after it: one message for two receives, or two */
        strcat(text, "1 recv peer=-1 tag=1 bytes=20\n");
        sound(2, text);
        strcat(text, "0 send peer=1 tag=1 bytes=20\n");
        sound(2, text);
        conserved(2, 30);
        /* a third is too much; and one for nobody, on another channel */
        strcat(text, "0 send peer=1 tag=1 bytes=20\n");
        unsound(1, 0, 3, "rank 1 never receives it", 2, text);
        snprintf(text, sizeof text,
                 "1 irecv peer=-1 tag=1 bytes=10 req=0\n1 cancel req=0\n1 %s"
                 "1 recv peer=-1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n"
                 "0 send peer=1 tag=1 bytes=10\n",
                 end);
        unsound(1, 1, 5, "rank 0 sends nothing for it", 2, text);
        snprintf(text, sizeof text,
                 "1 irecv peer=-1 tag=1 bytes=10 req=0\n1 cancel req=0\n1 %s"
                 "0 send peer=1 tag=2 bytes=10\n",
                 end);
        unsound(1, 0, 1, "rank 1 never receives it", 2, text);
        /* the small one need not have met the large message */
        snprintf(text, sizeof text,
                 "1 irecv peer=-1 tag=1 bytes=5 req=0\n1 cancel req=0\n1 %s"
                 "1 recv peer=-1 tag=1 bytes=10\n0 send peer=1 tag=1 bytes=10\n",
                 end);
        sound(2, text);
        conserved(1, 10);
    }
    /* without MPI_Cancel, it does take its message */
    unsound(1, 1, 3, "rank 0 sends nothing for it", 2,
            "1 irecv peer=-1 tag=1 bytes=10 req=0\n1 request_free req=0\n"
            "1 recv peer=-1 tag=1 bytes=10\n0 send peer=1 tag=1 bytes=10\n");
}

/* A probe found a message, so one comes that the rank receives afterwards. */
static void test_probes(void **state)
{
    (void)state;
    sound(2, "0 send peer=1 tag=3 bytes=8\n1 probe peer=-1 tag=3\n1 iprobe peer=-1 tag=3\n"
             "1 recv peer=-1 tag=3 bytes=8\n1 probe peer=null tag=3\n");
    sound(2, "0 send peer=1 tag=3 bytes=8\n0 send peer=1 tag=4 bytes=8\n"
             "1 irecv peer=any tag=any bytes=8 req=0\n"
             "1 probe peer=any tag=any from=-1 fromtag=4\n1 wait req=0 from=-1 fromtag=3\n"
             "1 recv peer=-1 tag=4 bytes=8\n");
    sound(2, "0 send peer=1 tag=3 bytes=8\n1 probe peer=-1 tag=3\n"
             "1 mprobe peer=-1 tag=3 msg=0\n1 mrecv peer=-1 tag=3 msg=0 bytes=8\n");
    /* of a channel on which there is none, and after the last */
    unsound(1, 1, 1, "it finds a message from rank 0 with tag 4 that is never received", 2,
            "1 probe peer=-1 tag=4\n0 send peer=1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=8\n");
    assert_true(check.unmatched);
    unsound(1, 1, 2, "it finds a message from rank 0 with tag 3 that is never received", 2,
            "0 send peer=1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=8\n"
            "1 iprobe peer=any tag=3 from=-1\n1 probe peer=-1 tag=3\n");
    /* a receive that is posted before takes the message */
    unsound(1, 1, 2, "that is never received", 2,
            "0 send peer=1 tag=3 bytes=8\n1 irecv peer=-1 tag=3 bytes=8 req=0\n"
            "1 probe peer=-1 tag=3\n1 wait req=0\n");
    unsound(1, 1, 1, "its partner is no rank of the communicator", 2, "1 probe peer=7 tag=3\n");
    unsound(1, 1, 1, "what the wildcard matched is not in the trace", 2,
            "1 probe peer=any tag=3\n");
    /* which message a receive took is not known */
    sound(2, "1 irecv peer=any tag=3 bytes=8 req=0\n1 probe peer=-1 tag=3\n");
}

static void test_matched_probes(void **state)
{
    (void)state;
    /* received in another order than probed */
    sound(2, "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=20\n"
             "1 mprobe peer=any tag=any msg=0 from=-1 fromtag=1\n"
             "1 improbe peer=-1 tag=1 msg=1\n1 imrecv peer=-1 tag=1 msg=1 bytes=20 req=0\n"
             "1 mrecv peer=-1 tag=1 msg=0 bytes=8\n1 wait req=0\n");
    conserved(2, 28);
    unsound(1, 1, 4, "its 8 bytes are too few for the 20", 2,
            "0 send peer=1 tag=1 bytes=20\n0 send peer=1 tag=1 bytes=8\n"
            "1 mprobe peer=-1 tag=1 msg=0\n1 mprobe peer=-1 tag=1 msg=1\n"
            "1 mrecv peer=-1 tag=1 msg=1 bytes=20\n1 mrecv peer=-1 tag=1 msg=0 bytes=8\n");
    unsound(1, 1, 1, "message 0 was not probed", 2, "1 mrecv peer=-1 tag=1 msg=0 bytes=8\n");
    sound(1, "0 mprobe peer=null tag=1 msg=-1\n0 mrecv peer=null tag=1 msg=-1 bytes=8\n");
    sound(2, "0 send peer=1 tag=1 bytes=8\n1 mprobe peer=-1 tag=1 msg=0\n");
    leaks(1, 1, 1, "mprobe(");
    unsound(1, 1, 2, "rank 0 sends nothing", 2,
            "1 mprobe peer=-1 tag=1 msg=0\n1 mrecv peer=-1 tag=1 msg=0 bytes=8\n");
}

static void test_ready(void **state)
{
    (void)state;
#define READY                                                                                      \
    "0 psend_init peer=1 tag=1 bytes=8 part=4 req=0\n"                                             \
    "1 precv_init peer=-1 tag=1 bytes=8 part=2 req=0\n* start req=0\n"
    sound(2, READY "0 pready_list req=0 v0=2,0\n0 pready_range req=0 v0=1,1\n"
                   "0 pready req=0 part=3\n* wait req=0\n* start req=0\n"
                   "0 pready_range req=0 v0=0,3\n* wait req=0\n* request_free req=0\n");
    unsound(1, 0, 4, "fewer partitions that are not ready", 2,
            READY "0 pready_range req=0 v0=0,2\n0 pready_list req=0 v0=3,1\n"
                  "* wait req=0\n* request_free req=0\n");
    unsound(1, 0, 3, "fewer partitions that are not ready", 2,
            READY "0 pready_range req=0 v0=0,9223372036854775807\n"
                  "* wait req=0\n* request_free req=0\n");
    unsound(1, 0, 3, "request 0 is complete already", 1,
            "0 grequest_start req=0\n0 grequest_complete req=0\n0 grequest_complete req=0\n"
            "0 wait req=0\n");
#undef READY
}

static void test_other_requests(void **state)
{
    (void)state;
    sound(2, "* isendrecv peer=0 tag=1 bytes=8 rpeer=any rtag=1 rbytes=9 req=0\n"
             "* wait req=0 from=0 fromtag=1\n");
    conserved(2, 16);
    sound(1, "0 grequest_start req=0\n0 grequest_complete req=0\n0 wait req=0\n");
    unsound(1, 0, 1, "no generalized request", 1, "0 grequest_complete req=0\n");
    /* partitioned messages meet those of the request that was made as early */
    sound(2, "0 psend_init peer=1 tag=1 bytes=8 part=4 req=0\n"
             "0 psend_init peer=1 tag=1 bytes=20 part=4 req=1\n"
             "1 precv_init peer=-1 tag=1 bytes=8 part=2 req=0\n"
             "1 precv_init peer=-1 tag=1 bytes=20 part=2 req=1\n"
             "0 startall v0=1,0\n1 startall v0=0,1\n0 pready req=0 part=0\n"
             "0 pready_range req=1 v0=0,3\n1 parrived req=1 part=0\n* waitall all=1\n"
             "0 start req=0\n1 start req=0\n0-1 wait req=0\n");
    conserved(3, 36);
    unsound(2, 0, 2, "never receives it", 2,
            "0 psend_init peer=1 tag=1 bytes=8 part=4 req=0\n0 start req=0\n0 wait req=0\n"
            "1 recv peer=-1 tag=1 bytes=8\n");
    unsound(1, 0, 2, "no partitioned request", 1,
            "0 psend_init peer=null tag=1 bytes=8 part=4 req=0\n0 pready req=0 part=1\n");
}

/* ---- collectives ---- */

static void test_forms(void **state)
{
    (void)state;
    sound(2, "* ibcast root=0 bytes=8 req=0\n* iallreduce redop=1 bytes=4 req=1\n"
             "* waitall all=1\n* barrier_init req=0\n* allgather_init bytes=2 rbytes=2 req=1\n"
             "* startall v0=1,0\n* waitall all=1\n* start req=0\n* wait req=0\n");
    assert_int_equal(check.conserved.collectives, 5);
    unsound(1, 1, 1, "rank 0 has event 1, ibcast", 2,
            "0 ibcast root=0 bytes=8 req=0\n1 bcast root=0 bytes=8\n0 wait req=0\n");
    /* persistent ones take their places as they are started */
    unsound(1, 1, 3, "rank 0 has event 3, start(req 0)", 2,
            "* barrier_init req=0\n* bcast_init root=1 bytes=1 req=1\n0 start req=0\n"
            "1 start req=1\n0 start req=1\n1 start req=0\n* waitall all=1\n");
    unsound(1, 1, 2, "what this rank sends", 2,
            "* barrier\n0 ialltoallw v0=1,2 v1=1,4 req=0\n1 ialltoallw v0=3,4 v1=2,4 req=0\n"
            "* wait req=0\n");
    sound(2, "* ibarrier req=0\n");
    leaks(2, 0, 1, "ibarrier");
}

static void test_neighbours(void **state)
{
    static const char *const grid = "* COMM 2 g 0,1,2,3\n"
                                    "* cart_create newcomm=2 v0=2,2 v1=1,0\n";
    char script[1000];

    (void)state;
    /* in the first dimension both neighbours are the same, in the second there
     * is one at the most */
    snprintf(script, sizeof script,
             "%s* neighbor_allgather comm=2 bytes=3 rbytes=3\n"
             "* neighbor_alltoallv comm=2 v0=1,1,5,5 v1=1,1,5,5\n",
             grid);
    sound(4, script);
    snprintf(script, sizeof script,
             "%s0-2 neighbor_alltoallv comm=2 v0=1,1,5,5 v1=1,1,5,5\n"
             "3 neighbor_alltoallv comm=2 v0=1,1,6,5 v1=1,1,5,5\n",
             grid);
    unsound(1, 3, 2, "what this rank sends", 4, script);
    snprintf(script, sizeof script, "%s* neighbor_alltoallv comm=2 v0=1,1 v1=1,1\n", grid);
    unsound(4, 0, 2, "not one for each rank", 4, script);
    unsound(2, 0, 1, "does not say who its neighbours are", 2,
            "* neighbor_allgather bytes=3 rbytes=3\n");
    /* a copy has the same neighbours, a part those that remain */
    sound(4, "* COMM 2 g 0,1,2,3\n* cart_create newcomm=2 v0=2,2 v1=1,0\n* COMM 3 d 0,1,2,3\n"
             "* comm_dup comm=2 newcomm=3\n"
             "* ineighbor_alltoall comm=3 bytes=3 rbytes=3 req=0\n* wait req=0\n"
             "0-1 COMM 4 p 0,1\n2-3 COMM 4 p 2,3\n* cart_sub comm=2 newcomm=4 v0=0,1\n"
             "* neighbor_alltoallw comm=4 v0=7,7 v1=7,7\n");
    /* 0 -> 1 -> 2 -> 0 */
    sound(3, "* COMM 2 a 0,1,2\n0 dist_graph_create_adjacent newcomm=2 v0=2 v1=1\n"
             "1 dist_graph_create_adjacent newcomm=2 v0=-1 v1=1\n"
             "2 dist_graph_create_adjacent newcomm=2 v0=-1 v1=-2\n"
             "* neighbor_allgatherv comm=2 bytes=4 resize=2 v0=2\n");
    unsound(1, 1, 2, "what this rank sends", 3,
            "* COMM 2 a 0,1,2\n0 dist_graph_create newcomm=2 v0=2 v1=1\n"
            "1 dist_graph_create newcomm=2 v0=-1 v1=1\n2 dist_graph_create newcomm=2 v0=-1 v1=-2\n"
            "0-1 neighbor_allgatherv comm=2 bytes=4 resize=2 v0=2\n"
            "2 neighbor_allgatherv comm=2 bytes=4 resize=2 v0=1\n");
}

/* ---- two groups ---- */

#define GROUPS                                                                                     \
    "0-1 COMM 2 p 0,1\n2-4 COMM 2 p 2,3,4\n* comm_split color=0 newcomm=2\n"                       \
    "* COMM 3 i 0,1|2,3,4\n"                                                                       \
    "0-1 intercomm_create comm=2 root=0 tag=0 newcomm=3\n"                                         \
    "2-4 intercomm_create comm=2 root=0 tag=0 newcomm=3\n"

static void test_groups(void **state)
{
    (void)state;
    /* ranks count from our own to those of the other group */
    sound(5, GROUPS "0 send comm=3 peer=2 tag=1 bytes=5\n4 recv comm=3 peer=-2 tag=1 bytes=5\n"
                    "3 send comm=3 peer=0 tag=1 bytes=6\n1 recv comm=3 peer=0 tag=1 bytes=6\n");
    conserved(2, 11);
    unsound(2, 0, 3, "it waits for tag 1 on the communicator of the world", 5,
            GROUPS "0 send comm=3 peer=0 tag=1 bytes=5\n2 recv peer=-2 tag=1 bytes=5\n");
    unsound(1, 0, 3, "no rank of the communicator", 5,
            GROUPS "0 send comm=3 peer=3 tag=1 bytes=5\n");
    sound(5, GROUPS "0 bcast comm=3 root=null bytes=0\n1 bcast comm=3 root=self bytes=8\n"
                    "2-4 bcast comm=3 root=1 bytes=8\n"
                    "0-1 allgather comm=3 bytes=3 rbytes=4\n2-4 allgather comm=3 bytes=4 rbytes=3\n"
                    "0-1 reduce comm=3 root=2 redop=1 bytes=6\n2-3 reduce comm=3 root=null redop=0 "
                    "bytes=0\n4 reduce comm=3 root=self redop=1 bytes=6\n"
                    "0-1 alltoallv comm=3 v0=1,2,3 v1=4,5,6\n2 alltoallv comm=3 v0=4,4 v1=1,1\n"
                    "3 alltoallv comm=3 v0=5,5 v1=2,2\n4 alltoallv comm=3 v0=6,6 v1=3,3\n"
                    "0-1 reduce_scatter comm=3 redop=1 v0=3,3\n"
                    "2-4 reduce_scatter comm=3 redop=1 v0=1,2,3\n"
                    "0 gatherv comm=3 root=self bytes=0 resize=1 v0=1,2,3\n"
                    "1 gatherv comm=3 root=null bytes=0\n2 gatherv comm=3 root=0 bytes=1\n"
                    "3 gatherv comm=3 root=0 bytes=2\n4 gatherv comm=3 root=0 bytes=3\n"
                    "* ibarrier comm=3 req=0\n* wait req=0\n");
    unsound(1, 0, 3, "what this rank sends", 5,
            GROUPS "0 bcast comm=3 root=self bytes=9\n1 bcast comm=3 root=null bytes=0\n"
                   "2-4 bcast comm=3 root=0 bytes=8\n");
    unsound(1, 2, 3, "on the communicator of ranks 0 1 and ranks 2 3 4, rank 0 has event 3", 5,
            GROUPS
            "0-1 allgather comm=3 bytes=3 rbytes=4\n2-4 allgather comm=3 bytes=4 rbytes=4\n");
    unsound(1, 4, 3, "what this rank sends", 5,
            GROUPS "0 gather comm=3 root=self bytes=0 rbytes=2\n"
                   "1 gather comm=3 root=null bytes=0 rbytes=0\n"
                   "2-3 gather comm=3 root=0 bytes=2 rbytes=0\n"
                   "4 gather comm=3 root=0 bytes=3 rbytes=0\n");
    unsound(1, 3, 3, "its root is no rank", 5,
            GROUPS "0 bcast comm=3 root=self bytes=8\n1 bcast comm=3 root=null bytes=0\n"
                   "2 bcast comm=3 root=0 bytes=8\n3 bcast comm=3 root=2 bytes=8\n"
                   "4 bcast comm=3 root=0 bytes=8\n");
    /* both sides of a copy, and of what is merged, mean the same */
    sound(5, GROUPS "* comm_idup comm=3 newcomm=4 req=0\n* wait req=0\n* COMM 4 i 0,1|2,3,4\n"
                    "1 send comm=4 peer=-1 tag=1 bytes=5\n2 recv comm=4 peer=1 tag=1 bytes=5\n"
                    "* COMM 5 m 2,3,4,0,1\n* intercomm_merge comm=3 key=0 newcomm=5\n"
                    "* barrier comm=5\n");
    conserved(1, 5);
}

static void test_created(void **state)
{
    (void)state;
    sound(2, "* COMM 2 d 0,1\n* COMM 3 d 0,1\n* comm_idup newcomm=2 req=0\n"
             "* comm_idup newcomm=3 req=1\n0 waitall all=1\n1 wait req=1\n1 wait req=0\n"
             "0 send comm=2 peer=1 tag=1 bytes=5\n1 recv comm=2 peer=-1 tag=1 bytes=5\n");
    conserved(1, 5);
    /* those outside of the group take no part */
    sound(3, "0-1 COMM 2 c 0,1\n0-1 comm_create_group tag=1 newcomm=2\n0-1 barrier comm=2\n"
             "* barrier\n");
    unsound(1, 1, 1, "rank 0 has event 1, cart_create", 2,
            "* COMM 2 g 0,1\n0 cart_create newcomm=2 v0=2,1 v1=0,0\n"
            "1 cart_create newcomm=2 v0=1,2 v1=0,0\n");
}

/* ---- windows and files ---- */

static void test_windows(void **state)
{
    (void)state;
    sound(2, "* win_create bytes=80 win=0\n* win_allocate bytes=8 win=1\n* win_fence win=0 mode=2\n"
             "0 put win=0 peer=1 bytes=8 rbytes=8\n0 rget win=0 peer=0 bytes=8 rbytes=8 req=0\n"
             "0 wait req=0\n* win_fence win=0 mode=0\n* win_free win=1\n* win_free win=0\n");
    unsound(1, 0, 3, "on the communicator of the world, window 0, rank 1 has no more", 2,
            "* win_create bytes=80 win=0\n* win_fence win=0 mode=0\n0 win_fence win=0 mode=0\n");
    unsound(1, 1, 3, "window 1, rank 0 has event 3, win_fence(win 1", 2,
            "* win_create bytes=80 win=0\n* win_create bytes=80 win=1\n"
            "0 win_fence win=1 mode=0\n1 win_free win=1\n");
    unsound(1, 0, 1, "what window 3 is", 1, "0 win_fence win=3 mode=0\n");
    unsound(1, 0, 2, "there was a window 0 before", 1,
            "0 win_create bytes=8 win=0\n0 win_create bytes=8 win=0\n");
}

static void test_epochs(void **state)
{
    (void)state;
#define WINDOW "* win_create bytes=80 win=0\n"
#define PUT    "0 put win=0 peer=1 bytes=8 rbytes=8\n"
    sound(2, WINDOW "0 win_start win=0 v0=1\n1 win_post win=0 v0=-1\n" PUT
                    "0 win_complete win=0\n1 win_wait win=0\n1 win_post win=0 v0=-1\n"
                    "0 win_start win=0 v0=1\n0 win_complete win=0\n1 win_test win=0\n"
                    "0 win_lock win=0 peer=1\n0 win_lock win=0 peer=0\n" PUT
                    "0 win_unlock win=0 peer=1\n0 win_unlock win=0 peer=0\n"
                    "0 win_lock_all win=0\n" PUT "0 win_unlock_all win=0\n* win_free win=0\n");
    sound(2, WINDOW "0 put win=0 peer=null bytes=8 rbytes=8\n* win_free win=0\n");
    unsound(1, 0, 2, "no MPI_Win_start began", 2, WINDOW "0 win_complete win=0\n");
    unsound(1, 0, 4, "no MPI_Win_start began", 2,
            WINDOW "0 win_start win=0 v0=1\n0 win_complete win=0\n0 win_complete win=0\n");
    unsound(1, 1, 2, "no MPI_Win_post began", 2, WINDOW "1 win_wait win=0\n");
    unsound(1, 1, 2, "no MPI_Win_post began", 2, WINDOW "1 win_test win=0\n");
    unsound(1, 0, 2, "no MPI_Win_lock of its target began", 2,
            WINDOW "0 win_unlock win=0 peer=1\n");
    unsound(1, 0, 3, "no MPI_Win_lock of its target began", 2,
            WINDOW "0 win_lock win=0 peer=0\n0 win_unlock win=0 peer=1\n");
    unsound(1, 0, 3, "no MPI_Win_lock_all began", 2,
            WINDOW "0 win_lock win=0 peer=0\n0 win_unlock_all win=0\n");
    unsound(1, 0, 2, "no epoch of window 0 is open", 2, WINDOW PUT);
    unsound(1, 0, 3, "no epoch of window 0 is open", 2, WINDOW "0 win_lock win=0 peer=0\n" PUT);
    unsound(1, 0, 4, "no epoch of window 1 is open", 2,
            WINDOW "* win_create bytes=80 win=1\n* win_fence win=0 mode=0\n"
                   "0 get win=1 peer=1 bytes=8 rbytes=8\n");
    /* what begins them may be hidden */
    sound(2, WINDOW "0 pcontrol level=0\n0 pcontrol level=1\n" PUT "0 win_unlock win=0 peer=1\n");
#undef WINDOW
#undef PUT
}

static void test_files(void **state)
{
    (void)state;
    sound(2, "* file_open file=0 mode=512 name=a\n* file_set_view file=0 bytes=0 offset=0\n"
             "0 file_write file=0 bytes=8\n1 file_iwrite file=0 bytes=9 req=0\n1 wait req=0\n"
             "0 file_write_all file=0 bytes=8\n1 file_write_all file=0 bytes=80\n"
             "* file_read_ordered_begin file=0 bytes=8\n* file_read_ordered_end file=0\n"
             "* file_close file=0\n");
    unsound(1, 1, 1, "rank 0 has event 1, file_open", 2,
            "0 file_open file=0 mode=512 name=a\n1 file_open file=0 mode=64 name=a\n");
    unsound(1, 1, 2, "file 0, rank 0 has event 2, file_write_all", 2,
            "* file_open file=0 mode=512 name=a\n0 file_write_all file=0 bytes=8\n"
            "1 file_write_at_all file=0 bytes=8 offset=0\n");
    unsound(1, 1, 2, "set_size", 2,
            "* file_open file=0 mode=512 name=a\n0 file_set_size file=0 bytes=8\n"
            "1 file_set_size file=0 bytes=9\n");
    unsound(1, 0, 1, "what file 0 is", 1, "0 file_read file=0 bytes=8\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_persistent),     cmocka_unit_test(test_many_alike),
        cmocka_unit_test(test_cancelled),      cmocka_unit_test(test_perhaps_cancelled),
        cmocka_unit_test(test_probes),         cmocka_unit_test(test_matched_probes),
        cmocka_unit_test(test_other_requests), cmocka_unit_test(test_ready),
        cmocka_unit_test(test_forms),          cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_groups),         cmocka_unit_test(test_created),
        cmocka_unit_test(test_windows),        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_files),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sound_forget();
    return failed;
}
