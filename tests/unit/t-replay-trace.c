/* Linting and lowering of whole traces, see script.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scratch.h"
#include "replay-bridge/simulation/simulate.h"
#include "replay-bridge/simulation/verdict.h"
#include "replay-bridge/trace/lower.h"
#include "replay-bridge/trace/refusal.h"
#include "tests/unit/script.h"

#define EAGER 65536

static struct ti_lint lint;
static struct ti_problems problems;
static struct ti_err err;

static void trace_of(int np, int missing, const char *script)
{
    ti_lint_free(&lint);
    script_trace(np, missing, script);
}

static void lint_of(int np, const char *script)
{
    trace_of(np, -1, script);
    assert_int_equal(ti_lint(script_source, &ti_lower_target, EAGER, &lint, &problems, &err),
                     TI_OK);
}

/* The script, between MPI_Init and MPI_Finalize, has exactly `n` problems, the
 * first of them on `rank` at `event` with `why` in its text. */
static void refused(uint64_t n, int64_t rank, uint64_t event, const char *why, int np,
                    const char *script)
{
    char all[4096];

    snprintf(all, sizeof all, "* init level=0\n%s* finalize\n", script);
    lint_of(np, all);
    if (problems.n != n ||
        (n && (problems.list[0].rank != rank || problems.list[0].event != event ||
               !strstr(problems.list[0].why, why)))) {
        ti_problems_print(&problems, stderr);
        fail_msg("%llu problems for:\n%s", (unsigned long long)problems.n, script);
    }
}

static void sound(int np, const char *script)
{
    refused(0, 0, 0, "", np, script);
}

/* A rank's actions, without init and finalize. */
static struct ti_bursts bursts; /* what they are replayed as */
static const char *actions(int64_t rank)
{
    static char text[1 << 16];
    uint64_t n = 0;
    char *end;
    FILE *f = fmemopen(text, sizeof text, "w");

    assert_int_equal(ti_lower_rank(script_source, &lint, rank, &bursts, f, &n, &err), TI_OK);
    fclose(f);
    end = strstr(text, "finalize");
    assert_non_null(end);
    assert_string_equal(end, "finalize\n");
    while (end > text && end[-1] != '\n')
        *--end = '\0';
    return strchr(text, '\n') + 1;
}

/* ---- lint ---- */

/* Traces that are not sound are refused, see t-check-trace.c. */
static void test_soundness(void **state)
{
    (void)state;
    sound(2, "0 send peer=1 tag=1 bytes=10\n1 recv peer=-1 tag=1 bytes=10\n");
    refused(1, 0, 2, "rank 1 never receives it", 2,
            "0 send peer=1 tag=1 bytes=10\n0 send peer=1 tag=1 bytes=10\n"
            "1 recv peer=-1 tag=1 bytes=10\n");
    refused(1, 2, 1, "rank 0 has event 1, barrier", 3, "0-1 barrier\n2 bcast root=0 bytes=8\n");
}

/* Sound, but stock replay would wait for what never comes. */
static void test_leaks(void **state)
{
    (void)state;
    refused(1, 0, 1, "neither completed nor freed", 2,
            "0 isend peer=1 tag=0 bytes=8 req=0\n1 recv peer=-1 tag=0 bytes=8\n");
    refused(1, 0, 1, "never matched", 2,
            "0 irecv peer=any tag=1 bytes=8 req=0\n0 request_free req=0\n"
            "1 send peer=-1 tag=1 bytes=8\n");
    refused(1, 0, 1, "never matched", 2,
            "0 irecv peer=any tag=1 bytes=8 req=0\n1 send peer=-1 tag=1 bytes=8\n");
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
             "* comm_free comm=2\n");
    assert_string_equal(actions(3), "3 send 1 1 4 6\n");
    refused(2, 0, 2, "collectives of all ranks only", 3,
            "0-1 COMM 2 p 0,1\n0-1 comm_split color=0 key=0 newcomm=2\n"
            "2 comm_split color=null key=0 newcomm=null\n0-1 barrier comm=2\n");
    refused(2, 0, 2, "world's order only", 2,
            "* COMM 2 p 1,0\n* comm_split color=0 key=0 newcomm=2\n* bcast comm=2 root=0 "
            "bytes=8\n");
    refused(2, 0, 1, "what communicator 5 is", 2, "* barrier comm=5\n");
}

static void test_refusals(void **state)
{
    (void)state;
    refused(1, 1, 1, "not traced", 2, "1 untraced call=MPI_Put\n");
    assert_string_equal(problems.list[0].call, "untraced(MPI_Put)");
    refused(1, 0, 1, "aborted", 1, "0 abort level=1\n");
    refused(1, 0, 1, "no synchronous send below 65536", 2,
            "0 ssend peer=1 tag=1 bytes=65535\n1 recv peer=-1 tag=1 bytes=65535\n");
    sound(2, "0 ssend peer=1 tag=1 bytes=65536\n1 recv peer=-1 tag=1 bytes=65536\n");
    refused(1, 0, 1, "for a small one", 2,
            "0 send peer=1 tag=1 bytes=3000000000\n1 recv peer=-1 tag=1 bytes=3000000000\n");
    refused(1, 0, 1, "in units of 8", 2,
            "0 send peer=1 tag=1 bytes=6000000001\n1 recv peer=-1 tag=1 bytes=6000000001\n");
    refused(2, 0, 1, "count up to", 2, "* bcast root=0 bytes=2147483648\n");
    /* SimGrid adds up the counts of all ranks in an int */
    sound(2, "* reduce_scatter_block redop=1 bytes=1073741823\n");
    refused(2, 0, 1, "all blocks together", 2, "* reduce_scatter_block redop=1 bytes=1073741824\n");
    refused(3, 0, 1, "all blocks together", 3, "* reduce_scatter_block redop=1 bytes=715827883\n");
    sound(2, "* reduce_scatter redop=1 esize=1 v0=1073741824,1073741823\n");
    sound(2, "* reduce_scatter redop=1 esize=8 v0=134217728,134217728\n");
    refused(2, 0, 1, "count up to", 2,
            "* reduce_scatter redop=1 esize=1 v0=1073741825,1073741824\n");
    refused(1, 0, 1, "count up to", 2,
            "0 gatherv root=0 bytes=1073741825 resize=1 v0=1073741825,1073741824\n"
            "1 gatherv root=0 bytes=1073741824\n");
    refused(2, 0, 1, "count up to", 2,
            "* alltoallv v0=1073741825,1073741825 v1=1073741825,1073741825\n");
    refused(12, 0, 1, "not traced", 4,
            "* untraced call=MPI_Put\n* untraced call=MPI_Put\n* untraced call=MPI_Put\n");
    assert_int_equal(problems.shown, 1);
    assert_int_equal(problems.list[0].more, 11);
    refused(6, 0, 1, "MPI_Put is not traced", 2,
            "* untraced call=MPI_Put\n* untraced call=MPI_Ibcast\n* untraced call=MPI_Put\n");
    assert_int_equal(problems.shown, 2);
    assert_int_equal(problems.list[0].more, 3);
    assert_string_equal(problems.list[1].call, "untraced(MPI_Ibcast)");
    assert_int_equal(problems.list[1].more, 1);
}

/* Why ti-smpi-replay, or ti-live-replay, cannot count the elements of an event.  The event is one
 * of a script with two ranks. */
static const char *counts_of(const struct ti_target *target, const char *script)
{
    static char all[512];

    snprintf(all, sizeof all, "* init level=0\n%s* finalize\n", script);
    trace_of(2, -1, all);
    assert_int_equal(ti_lint(script_source, target, EAGER, &lint, &problems, &err), TI_OK);
    return problems.n ? problems.list[0].why : "";
}

static void test_counts(void **state)
{
    const struct ti_target *const tiara = &ti_replayer_target, *const live = &ti_live_target;

    (void)state;
    /* a reduction is of whole elements, and by an operation that there is */
    assert_string_equal(counts_of(tiara, "* allreduce redop=1 bytes=80 esize=8\n"), "");
    assert_string_equal(counts_of(tiara, "* allreduce redop=1 bytes=81 esize=8\n"),
                        "81 bytes are no whole number of elements of 8");
    assert_string_equal(counts_of(tiara, "* allreduce redop=99 bytes=80 esize=8\n"),
                        "no reduction has the number 99");
    assert_string_equal(counts_of(live, "* reduce_scatter redop=-2 esize=8 v0=1,1\n"),
                        "no reduction has the number -2");
    /* a simulation counts bytes, a live run elements */
    assert_string_equal(counts_of(tiara, "* bcast root=0 bytes=81 esize=8\n"), "");
    assert_string_equal(counts_of(live, "* bcast root=0 bytes=81 esize=8\n"),
                        "81 bytes are no whole number of elements of 8");
    assert_string_equal(counts_of(live, "* bcast root=0 bytes=4831838208 esize=1048576\n"), "");
    assert_string_equal(counts_of(live, "* bcast root=0 bytes=4831838208 esize=1\n"),
                        "4831838208 elements of 1 bytes are more than can be counted");
    assert_string_equal(counts_of(tiara, "* bcast root=0 bytes=4831838208 esize=1\n"), "");
    assert_string_equal(counts_of(live, "* allgatherv bytes=2147483647 v0=2147483647,2147483647\n"),
                        "");
    /* communicators and windows that are there */
    assert_string_equal(
        counts_of(tiara, "* COMM 2 d 0,1\n* barrier comm=2\n* comm_dup newcomm=2\n"),
        "communicator 2 does not exist here");
    assert_string_equal(counts_of(tiara, "* win_create bytes=8 win=0\n"
                                         "* win_fence win=0 mode=0\n* win_free win=0\n"
                                         "0 put win=0 peer=1 bytes=8 rbytes=8\n"),
                        "window 0 does not exist here");
    assert_string_equal(counts_of(live, "* win_create bytes=8 win=0\n* win_fence win=0 mode=0\n"
                                        "0 put win=0 peer=2 bytes=8 rbytes=8\n* win_free win=0\n"),
                        "its partner is no rank of the window");
    assert_string_equal(counts_of(live, "* win_create bytes=8 win=0\n1 win_post win=0 v0=-1,-1\n"
                                        "1 win_wait win=0\n* win_free win=0\n"),
                        "its group has a rank twice");
    assert_string_equal(counts_of(tiara, "0 COMM 2 s 0\n1 COMM 2 s 1\n* COMM 3 c 0,1\n"
                                         "0 comm_split color=0 key=0 newcomm=2\n"
                                         "1 comm_split color=1 key=0 newcomm=2\n"
                                         "* cart_create comm=2 newcomm=3 v0=2 v1=0\n"),
                        "communicator 2 has 1 ranks, too few for the new one of 2");
    assert_string_equal(counts_of(tiara, "* file_open file=0\n"
                                         "1 file_write file=0 bytes=-5\n* file_close file=0\n"),
                        "its field bytes is below zero");
    assert_string_equal(
        counts_of(tiara, "* neighbor_allgather comm=1 bytes=8 esize=8 rbytes=8 resize=8\n"),
        "its communicator has no topology");
    /* windows have memory */
    assert_string_equal(counts_of(tiara, "* win_create bytes=4294967296 esize=8 win=0\n"
                                         "* win_free win=0\n"),
                        "");
    assert_non_null(strstr(counts_of(tiara, "* win_create bytes=9223372036854775807 win=0\n"
                                            "* win_free win=0\n"),
                           "no memory is a window"));
}

static void test_interrupted(void **state)
{
    (void)state;
    sound(2, "* pcontrol level=0\n* pcontrol level=1\n");
    assert_true(lint.check.interrupted && !lint.check.unmatched);
    refused(1, 0, 1, "never receives it", 2, "0 send peer=1 tag=1 bytes=10\n");
    assert_true(!lint.check.interrupted && lint.check.unmatched);
    refused(1, 1, 2, "sends nothing for it", 2,
            "0 pcontrol level=0\n0 pcontrol level=1\n1 pcontrol level=0\n"
            "1 recv peer=-1 tag=1 bytes=10\n");
    assert_true(lint.check.interrupted && lint.check.unmatched);
    refused(1, 2, TI_NO_EVENT, "no collective", 3, "0-1 barrier\n* pcontrol level=0\n");
    assert_true(lint.check.interrupted && lint.check.unmatched);
}

static void test_volumes(void **state)
{
    (void)state;
    script_info = (const char *const[]){"counter", "cputime", "unit", "nanoseconds", "exact", "no"};
    sound(2, "* barrier\n");
    script_info = NULL;
    assert_string_equal(lint.volumes.counter, "cputime");
    assert_string_equal(lint.volumes.unit, "nanoseconds");
    assert_true(lint.volumes.inexact);
    sound(2, "* barrier\n");
    assert_string_equal(lint.volumes.unit, "");
    assert_false(lint.volumes.inexact);
}

static void test_whole(void **state)
{
    (void)state;
    lint_of(2, "0 init level=0\n1 barrier\n0 finalize\n");
    assert_int_equal(problems.n, 3); /* no init, no finalize, no barrier on rank 0 */
    lint_of(2, "* init level=0\n* finalize\n1 END 3\n");
    assert_int_equal(problems.n, 1);
    assert_int_equal(problems.list[0].rank, 1);
    trace_of(3, 1, "* init level=0\n* finalize\n");
    assert_int_equal(ti_lint(script_source, &ti_lower_target, EAGER, &lint, &problems, &err),
                     TI_OK);
    assert_int_equal(problems.n, 1);
    assert_string_equal(problems.list[0].why, "its trace is missing");
}

/* ---- lowering ---- */

static void test_actions(void **state)
{
    (void)state;
    sound(2, "* pcontrol v=3 level=1\n"
             "* barrier v=18446744073709551000\n* pcontrol v=700 level=1\n"
             "0 bsend peer=1 tag=2 bytes=10\n0 bsend peer=1 tag=2 bytes=100000\n"
             "0 isend peer=1 tag=3 bytes=6000000000 req=0\n0 wait req=0\n"
             "1 recv peer=-1 tag=2 bytes=20\n1 recv peer=-1 tag=2 bytes=100000\n"
             "1 irecv peer=-1 tag=3 bytes=6000000000 req=0\n1 wait req=0\n"
             "* sendrecv peer=0 tag=1 bytes=5 rpeer=0 rtag=1 rbytes=6\n"
             "* gatherv root=1 bytes=4 resize=1 v0=4,4\n");
    assert_string_equal(actions(0), "0 compute 18446744073709551003\n0 barrier\n0 compute 700\n"
                                    "0 send 1 0 10 6\n0 isend 1 0 100000 6\n"
                                    "0 isend 1 1 750000000 0\n0 wait 0 1 1\n"
                                    "0 isend 0 2 5 6\n0 irecv -555 2 6 6\n"
                                    "0 wait 0 0 2\n0 wait -556 0 2\n"
                                    "0 gatherv 4 0 0 1 6 6\n");
    assert_string_equal(actions(1), "1 compute 18446744073709551003\n1 barrier\n1 compute 700\n"
                                    "1 recv 0 0 20 6\n1 recv 0 0 100000 6\n"
                                    "1 irecv 0 1 750000000 0\n1 wait 0 1 1\n"
                                    "1 isend 1 2 5 6\n1 irecv -555 2 6 6\n"
                                    "1 wait 1 1 2\n1 wait -556 1 2\n"
                                    "1 gatherv 4 4 4 1 6 6\n");
    /* volumes that would not fit into one number are not added up */
    sound(1, "0 pcontrol v=18446744073709551615 level=1\n0 pcontrol v=2 level=1\n");
    assert_string_equal(actions(0), "0 compute 18446744073709551615\n0 compute 2\n");
}

/* Requests of other kinds, where stock replay has the same. */
static void test_started(void **state)
{
    (void)state;
    sound(2, "0 send_init peer=1 tag=1 bytes=10 req=0\n0 issend peer=1 tag=2 bytes=70000 req=1\n"
             "0 startall v0=0\n0 waitall all=1\n0 start req=0\n0 wait req=0\n"
             "0 request_free req=0\n"
             "1 recv_init peer=-1 tag=1 bytes=10 req=0\n1 start req=0\n"
             "1 mprobe peer=-1 tag=2 msg=0\n1 imrecv peer=-1 tag=2 msg=0 bytes=70000 req=1\n"
             "1 wait req=0\n1 wait req=1\n1 start req=0\n1 wait req=0\n"
             "* isendrecv peer=0 tag=3 bytes=5 rpeer=0 rtag=3 rbytes=6 req=1\n* wait req=1\n"
             "* grequest_start req=1\n* grequest_complete req=1\n* wait req=1\n");
    assert_string_equal(actions(0), "0 isend 1 0 70000 6\n0 isend 1 1 10 6\n0 wait 0 1 1\n"
                                    "0 wait 0 1 0\n0 isend 1 1 10 6\n0 wait 0 1 1\n"
                                    "0 isend 0 2 5 6\n0 irecv -555 2 6 6\n"
                                    "0 wait 0 0 2\n0 wait -556 0 2\n");
    assert_string_equal(actions(1), "1 irecv 0 1 10 6\n1 irecv 0 0 70000 6\n1 wait 0 1 1\n"
                                    "1 wait 0 1 0\n1 irecv 0 1 10 6\n1 wait 0 1 1\n"
                                    "1 isend 1 2 5 6\n1 irecv -555 2 6 6\n"
                                    "1 wait 1 1 2\n1 wait -556 1 2\n");
    /* between groups, messages are as any others */
    sound(3, "0-1 COMM 2 p 0,1\n2 COMM 2 p 2\n* comm_split color=0 newcomm=2\n"
             "* COMM 3 i 0,1|2\n* intercomm_create comm=2 root=0 tag=0 newcomm=3\n"
             "1 send comm=3 peer=-1 tag=1 bytes=4\n2 recv comm=3 peer=1 tag=1 bytes=4\n");
    assert_string_equal(actions(1), "1 send 2 0 4 6\n");
}

/* Calls without a counterpart in stock replay. */
static void test_has_not(void **state)
{
    (void)state;
    refused(1, 0, 2, "cannot cancel", 2,
            "0 irecv peer=1 tag=1 bytes=4 req=0\n0 cancel req=0\n"
            "0 wait req=0 from=null fromtag=null\n");
    refused(2, 1, 4, "received out of order, after a matched probe", 2,
            "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=8\n"
            "1 mprobe peer=-1 tag=1 msg=0\n1 pcontrol level=1\n1 pcontrol level=1\n"
            "1 recv peer=-1 tag=1 bytes=8\n1 mrecv peer=-1 tag=1 msg=0 bytes=8\n");
    refused(2, 0, 1, "no non-blocking collectives", 2, "* ibarrier req=0\n* wait req=0\n");
    refused(2, 0, 1, "no persistent collectives", 2, "* barrier_init req=0\n");
    sound(2, "* ibarrier comm=1 req=0\n* wait req=0\n");
    refused(2, 0, 1, "no alltoallw", 2, "* alltoallw v0=1,1 v1=1,1\n");
    refused(2, 0, 2, "no collectives among neighbours", 2,
            "* COMM 2 g 0,1\n* cart_create newcomm=2 v0=2 v1=1\n"
            "* neighbor_alltoall comm=2 bytes=4 rbytes=4\n");
    refused(2, 0, 2, "between two groups", 2,
            "* COMM 2 i 0|1\n* intercomm_create comm=1 root=0 tag=0 newcomm=2\n"
            "* barrier comm=2\n");
    refused(4, 0, 1, "no one-sided communication", 2,
            "* win_create bytes=80 win=0\n* win_free win=0\n");
    refused(1, 0, 1, "no files", 2, "0 file_delete name=a\n");
    refused(2, 0, 1, "no partitioned messages", 2,
            "0 psend_init peer=1 tag=1 bytes=4 part=1 req=0\n"
            "1 precv_init peer=-1 tag=1 bytes=4 part=1 req=0\n");
}

/* ---- any order of anything: stock replay's waits find their requests ---- */

#define MESSAGES 400
#define RANKS    3
#define LIVE_MAX 7

struct posting {
    int message;
    bool recv, blocking, wild, buffered;
    int comm, tag, peer, bytes;
    int nth; /* on its channel */
    int req;
};

struct plan {
    struct posting posting[2 * MESSAGES];
    int n;
    int completion[2 * MESSAGES]; /* postings, in the order of their waits */
    int ncompletions;
};

static uint64_t rng;
static int rnd(int below)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (int)(rng % (uint64_t)below);
}

/* Messages at random, as each rank's postings in an order of its own. */
static void make_plans(struct plan *plan)
{
    static int seen[2][RANKS][RANKS][2][2];

    memset(plan, 0, RANKS * sizeof *plan);
    memset(seen, 0, sizeof seen);
    for (int m = 0; m < MESSAGES; m++) {
        int src = rnd(RANKS), dst = rnd(RANKS), comm = rnd(2), tag = rnd(2);
        int bytes = rnd(2) ? 100 : 100000;

        plan[src].posting[plan[src].n++] = (struct posting){.blocking = src != dst && !rnd(4),
                                                            .buffered = !rnd(5),
                                                            .comm = comm,
                                                            .tag = tag,
                                                            .peer = dst,
                                                            .bytes = bytes,
                                                            .message = m};
        plan[dst].posting[plan[dst].n++] = (struct posting){.recv = true,
                                                            .blocking = src != dst && !rnd(4),
                                                            .wild = !rnd(3),
                                                            .comm = comm,
                                                            .tag = tag,
                                                            .peer = src,
                                                            .bytes = 200000,
                                                            .message = m};
    }
    for (int r = 0; r < RANKS; r++) {
        for (int i = plan[r].n - 1; i > 0; i--) {
            int j = rnd(i + 1);
            struct posting was = plan[r].posting[i];

            plan[r].posting[i] = plan[r].posting[j];
            plan[r].posting[j] = was;
        }
        for (int i = 0; i < plan[r].n; i++) {
            struct posting *p = &plan[r].posting[i];

            p->nth = seen[p->recv][r][p->peer][p->comm][p->tag]++;
        }
    }
}

static void write_match(FILE *f, int rank, const struct posting *p)
{
    if (p->recv && p->wild)
        fprintf(f, " from=%d fromtag=%d", p->peer - rank, p->tag);
}

/* Complete one or more outstanding requests at random. */
static void write_completion(FILE *f, int rank, struct plan *plan, int *live)
{
    static const char *const one[] = {"wait", "waitany", "test", "testany"};
    int at[LIVE_MAX], n = 0;

    for (int q = 0; q < LIVE_MAX; q++)
        if (live[q] >= 0 && (rnd(3) || !n))
            at[n++] = q;
    for (int i = n - 1; i > 0; i--) {
        int j = rnd(i + 1), was = at[i];

        at[i] = at[j];
        at[j] = was;
    }
    if (n && rnd(2))
        n = 1;
    if (n == 1) {
        fprintf(f, "%d %s req=%d", rank, one[rnd(4)], at[0]);
        write_match(f, rank, &plan->posting[live[at[0]]]);
    } else if (n) {
        const char *sep = " v1=";

        fprintf(f, "%d %s v0=", rank, rnd(2) ? "waitall" : "waitsome");
        for (int i = 0; i < n; i++)
            fprintf(f, "%s%d", i ? "," : "", at[i]);
        for (int i = 0; i < n; i++) {
            const struct posting *p = &plan->posting[live[at[i]]];

            if (p->recv && p->wild) {
                fprintf(f, "%s%d,%d,%d", sep, at[i], p->peer - rank, p->tag);
                sep = ",";
            }
        }
    }
    fprintf(f, n ? "\n" : "");
    for (int i = 0; i < n; i++) {
        plan->completion[plan->ncompletions++] = live[at[i]];
        live[at[i]] = -1;
    }
}

static void write_rank(FILE *f, int rank, struct plan *plan)
{
    int live[LIVE_MAX];

    for (int q = 0; q < LIVE_MAX; q++)
        live[q] = -1;
    for (int i = 0; i < plan->n; i++) {
        struct posting *p = &plan->posting[i];
        int q = 0;

        while (q < LIVE_MAX && live[q] >= 0)
            q++;
        if (q == LIVE_MAX || !rnd(3)) {
            write_completion(f, rank, plan, live);
            for (q = 0; live[q] >= 0; q++)
                ;
        }
        fprintf(f, "%d %s comm=%d bytes=%d", rank,
                p->recv       ? p->blocking ? "recv" : "irecv"
                : p->buffered ? p->blocking ? "bsend" : "ibsend"
                : p->blocking ? "send"
                              : "isend",
                p->comm ? 2 : 0, p->bytes);
        if (p->recv && p->wild)
            fprintf(f, " peer=any tag=any");
        else
            fprintf(f, " peer=%d tag=%d", p->peer - rank, p->tag);
        if (p->blocking) {
            write_match(f, rank, p);
        } else {
            fprintf(f, " req=%d", q);
            live[q] = i;
        }
        fprintf(f, "\n");
    }
    for (int more = 1; more;) {
        more = 0;
        for (int q = 0; q < LIVE_MAX; q++)
            more |= live[q] >= 0;
        write_completion(f, rank, plan, live);
    }
}

/* The state of stock replay: requests by (script_source, destination, tag), oldest first. */
struct kept {
    int src, dst, posting;
    long tag;
    bool gone;
};

struct seen {
    int src, dst, channel_message; /* comm, tag and number, as one */
    long tag;
    bool recv;
};

static struct seen seen[RANKS * 2 * MESSAGES];
static int nseen;

static void follow(int rank, const struct plan *plan)
{
    static struct kept kept[2 * MESSAGES];
    char *text = strdup(actions(rank)), *save;
    int nkept = 0, posted = 0, completed = 0;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const struct posting *p = &plan->posting[posted];
        char name[16];
        int a, b;
        long c;

        assert_int_equal(sscanf(line, "%*d %15s %d %d %ld", name, &a, &b, &c), 4);
        if (!strcmp(name, "wait")) {
            const struct posting *want;
            int k = 0;

            /* large buffered sends are never waited for */
            do {
                want = &plan->posting[plan->completion[completed++]];
            } while (!want->recv && want->buffered && want->bytes >= EAGER);
            while (k < nkept &&
                   (kept[k].gone || kept[k].src != a || kept[k].dst != b || kept[k].tag != c))
                k++;
            assert_true(k < nkept);
            assert_int_equal(kept[k].posting, plan->completion[completed - 1]);
            kept[k].gone = true;
            continue;
        }
        if (name[0] == 'i')
            kept[nkept++] = (struct kept){p->recv ? (a == -555 ? -556 : a) : rank,
                                          p->recv ? rank : a, posted, b, false};
        assert_int_equal(strchr(name, 'r') != NULL, p->recv);
        assert_int_equal(a == -555 ? rank : a, p->peer);
        seen[nseen++] = (struct seen){p->recv ? p->peer : rank, p->recv ? rank : p->peer,
                                      p->nth * 4 + p->comm * 2 + p->tag, b, p->recv};
        posted++;
    }
    assert_int_equal(posted, plan->n);
    while (completed < plan->ncompletions) {
        const struct posting *rest = &plan->posting[plan->completion[completed++]];

        assert_true(!rest->recv && rest->buffered && rest->bytes >= EAGER);
    }
    free(text);
}

/* The n-th send with a tag meets the n-th receive with it: the right one? */
static void check_pairs(void)
{
    static bool taken[RANKS * 2 * MESSAGES];

    memset(taken, 0, sizeof taken);
    for (int i = 0; i < nseen; i++) {
        int j = 0;

        if (seen[i].recv)
            continue;
        while (j < nseen && (taken[j] || !seen[j].recv || seen[j].src != seen[i].src ||
                             seen[j].dst != seen[i].dst || seen[j].tag != seen[i].tag))
            j++;
        assert_true(j < nseen);
        assert_int_equal(seen[j].channel_message, seen[i].channel_message);
        taken[j] = true;
    }
}

static void test_any_order(void **state)
{
    static struct plan plan[RANKS];

    (void)state;
    for (int round = 1; round <= 40; round++) {
        char *script;
        size_t bytes;
        FILE *f = open_memstream(&script, &bytes);

        rng = (uint64_t)round * UINT64_C(0x9e3779b97f4a7c15);
        make_plans(plan);
        fprintf(f, "* COMM 2 d 0,1,2\n* comm_dup newcomm=2\n");
        for (int r = 0; r < RANKS; r++)
            write_rank(f, r, &plan[r]);
        fclose(f);
        nseen = 0;
        {
            char *all;

            assert_true(asprintf(&all, "* init level=0\n%s* finalize\n", script) > 0);
            lint_of(RANKS, all);
            free(all);
        }
        free(script);
        ti_problems_print(&problems, stderr);
        assert_int_equal(problems.n, 0);
        assert_int_equal(lint.check.messages, MESSAGES);
        for (int r = 0; r < RANKS; r++)
            follow(r, &plan[r]);
        check_pairs();
    }
}

/* ---- nonsense is refused, not believed ---- */

static int64_t odd_number(void)
{
    static const int64_t odd[] = {TI_ANY,  TI_NULL,   INT64_MAX,        INT64_MIN,       -1,
                                  1 << 24, INT32_MAX, INT64_C(1) << 32, INT64_C(1) << 60};

    return rnd(8) ? rnd(4) - 1 : odd[rnd(sizeof odd / sizeof odd[0])];
}

static void write_nonsense(FILE *f, int rank)
{
    for (int i = rnd(30); i >= 0; i--) {
        const struct ti_op_info *op = ti_op_info((uint32_t)rnd(TI_OP_COUNT));

        if (!strcmp(op->text, "untraced"))
            continue;
        fprintf(f, "%d %s", rank, op->text);
        for (unsigned field = 0; field < TI_F_COUNT; field++)
            if ((op->fields | (rnd(2) ? op->optional : 0)) & 1u << field)
                fprintf(f, " %s=%lld", ti_field_text(field), (long long)odd_number());
        for (int v = 0; v < TI_VECS; v++)
            if (op->vec[v][0] && rnd(4)) {
                fprintf(f, " v%d=", v);
                for (int n = rnd(8); n >= 0; n--)
                    fprintf(f, "%lld%s", (long long)odd_number(), n ? "," : "");
            }
        fprintf(f, "\n");
    }
}

static void test_nonsense(void **state)
{
    (void)state;
    for (int round = 1; round <= 300; round++) {
        char *script;
        size_t bytes;
        FILE *f = open_memstream(&script, &bytes);

        rng = (uint64_t)round * UINT64_C(0xbf58476d1ce4e5b9);
        fprintf(f, "* init level=0\n* COMM 2 d 0,1,2\n0-1 COMM 3 p 1,0\n");
        for (int r = 0; r < 3; r++)
            write_nonsense(f, r);
        fprintf(f, "* finalize\n");
        fclose(f);
        lint_of(3, script);
        free(script);
        if (!problems.n)
            for (int r = 0; r < 3; r++)
                actions(r);
    }
}

/* ---- through SimGrid: the ring of four, by hand 0.065963 s ---- */

static void test_ring(void **state)
{
    static char platform[] = "platform.xml";
    struct ti_sim sim = {.np = 4, .platform = platform};
    struct ti_verdict verdict;
    uint64_t n;
    int exit_status;
    double wall_s;
    FILE *f;

    (void)state;
    if (ti_sim_available(&err) != TI_OK)
        skip();
    sound(4, "0 send v=1000000 peer=1 tag=0 bytes=1000000\n"
             "1-3 recv peer=-1 tag=0 bytes=1000000\n"
             "1-2 send v=1000000 peer=1 tag=0 bytes=1000000\n"
             "3 send v=1000000 peer=-3 tag=0 bytes=1000000\n"
             "0 recv peer=3 tag=0 bytes=1000000\n");
    assert_int_equal(ti_scratch_open(NULL, &err), TI_OK);
    for (int merged = 0; merged < 2; merged++) {
        f = fopen(ti_scratch_path(TI_SIM_PLATFORM), "w");
        fprintf(f, "<?xml version='1.0'?>\n"
                   "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                   "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">\n"
                   "<cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-3\" "
                   "speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\" bb_bw=\"2.25GBps\" "
                   "bb_lat=\"500us\"/></zone></platform>\n");
        fclose(f);
        f = fopen(ti_scratch_path(TI_SIM_HOSTS), "w");
        fprintf(f, "node-0\nnode-1\nnode-2\nnode-3\n");
        fclose(f);
        assert_int_equal(ti_lower(script_source, &lint, &bursts, merged, &n, &err), TI_OK);
        assert_int_equal(n, 20);
        assert_int_equal(ti_simulate(&sim, &exit_status, &wall_s, &err), TI_OK);
        assert_int_equal(ti_verdict_read(ti_scratch_path(TI_SIM_LOG), exit_status, &verdict, &err),
                         TI_OK);
        assert_string_equal(verdict.time, "0.065963");
    }
    ti_scratch_close();
}

/* With durations, bursts are slept: exactly, whatever their volume. */
static void test_times(void **state)
{
    char path[128];

    (void)state;
    bursts.as = TI_BURSTS_TIMES;
    sound(2, "0 pcontrol level=2 v=7 ns=5\n0 pcontrol level=2 v=7 ns=10\n"
             "0 send peer=1 tag=1 bytes=10 v=1000 ns=12500000000\n"
             "0 barrier v=3\n1 recv peer=-1 tag=1 bytes=10 ns=999999999\n1 barrier ns=1\n");
    assert_int_equal(ti_bursts_check(script_source, &bursts, &err), TI_OK);
    assert_string_equal(actions(0), "0 sleep 12.500000015\n0 send 1 0 10 6\n0 barrier\n");
    assert_string_equal(actions(1), "1 sleep 0.999999999\n1 recv 0 0 10 6\n"
                                    "1 sleep 0.000000001\n1 barrier\n");
    bursts.as = TI_BURSTS_VOLUME;
    assert_string_equal(actions(0), "0 compute 1014\n0 send 1 0 10 6\n0 compute 3\n0 barrier\n");

    sound(2, "0-1 barrier\n");
    bursts.as = TI_BURSTS_TIMES;
    assert_int_equal(ti_bursts_check(script_source, &bursts, &err), TI_ERR_INPUT);
    bursts.as = TI_BURSTS_VOLUME;
    snprintf(path, sizeof path, "rank 0 of '%s' has no column 'burst_ns'", script_dir());
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.hint, "--times"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_soundness),   cmocka_unit_test(test_started),
        cmocka_unit_test(test_has_not),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_leaks),       cmocka_unit_test(test_communicators),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_whole),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_actions),     cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_nonsense),    cmocka_unit_test(test_ring),
        cmocka_unit_test(test_times)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    ti_lint_free(&lint);
    script_forget();
    return failed;
}
