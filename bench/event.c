/*
 * Cost of tracing an MPI call.
 *
 *   event PATTERN [PAIRS [ITERATIONS]]
 *   event PATTERN traced|bare ITERATIONS
 *
 * The same loop is timed over MPI_X, which a preloaded library sees, and over
 * PMPI_X, which it does not, in one process and by turns, so that both meet the
 * same machine; the difference is the library's.  Prints, per call in
 * nanoseconds of CPU time, the median over PAIRS [9] of the bare loop, of the
 * traced one and of their differences; of ITERATIONS [100000] each, so that the
 * writing of some chunks is in every one.  `traced` and `bare` run one loop
 * only, and print how many calls it made: for counting instructions.
 *
 *   send       Irecv, Send, Wait from a rank to itself
 *   serialized the same, where any thread may call (MPI_THREAD_SERIALIZED)
 *   sum        the same, for TIARA_THREADS=sum
 *   isend      Irecv, Isend, Waitall
 *   wildcard   Irecv with wildcards, Send, Wait
 *   derived    send, of a vector of doubles
 *   persistent Startall of a receive and a send, Waitall
 *   matched    Send, Mprobe, Mrecv from a rank to itself
 *   allreduce  Allreduce of one double, on MPI_COMM_SELF
 *   ibcast     Ibcast, Wait, on MPI_COMM_SELF
 *   alltoallv  Alltoallv of one double, on MPI_COMM_SELF
 *   neighbor   Neighbor_alltoallv with eight neighbours, all the rank itself
 *   changing   the same, with counts that differ from call to call
 *   comm       Comm_dup, Comm_free
 *   put        Put of one double and Win_flush, from a rank to itself
 *   fence      Win_fence, alone
 *   write      File_write_at of one double
 *   pingpong   Send, Recv between two ranks (elapsed time, per call of both)
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank;
static double in[4], out[4];
static MPI_Datatype vector;
static MPI_Win locked, fenced; /* of this rank alone, as is the file */
static MPI_File file;

/* Of an alltoallv among eight neighbours. */
#define NEIGHBOURS 8
static double in8[2 * NEIGHBOURS], out8[2 * NEIGHBOURS];
static int counts[NEIGHBOURS], displs[NEIGHBOURS];
static MPI_Comm star = MPI_COMM_NULL;

/* One loop, over calls with prefix P; every one of `calls` is an event. */
#define LOOPS(P)                                                                       \
    static void P##send(long n)                                                        \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Request r;                                                             \
            P##MPI_Irecv(in, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &r);                  \
            P##MPI_Send(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF);                      \
            P##MPI_Wait(&r, MPI_STATUS_IGNORE);                                        \
        }                                                                              \
    }                                                                                  \
    static void P##isend(long n)                                                       \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Request r[2];                                                          \
            P##MPI_Irecv(in, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &r[0]);               \
            P##MPI_Isend(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &r[1]);              \
            P##MPI_Waitall(2, r, MPI_STATUSES_IGNORE);                                 \
        }                                                                              \
    }                                                                                  \
    static void P##wildcard(long n)                                                    \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Request r;                                                             \
            P##MPI_Irecv(in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &r); \
            P##MPI_Send(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF);                      \
            P##MPI_Wait(&r, MPI_STATUS_IGNORE);                                        \
        }                                                                              \
    }                                                                                  \
    static void P##derived(long n)                                                     \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Request r;                                                             \
            P##MPI_Irecv(in, 1, vector, 0, 7, MPI_COMM_SELF, &r);                      \
            P##MPI_Send(out, 1, vector, 0, 7, MPI_COMM_SELF);                          \
            P##MPI_Wait(&r, MPI_STATUS_IGNORE);                                        \
        }                                                                              \
    }                                                                                  \
    static void P##comm(long n)                                                        \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Comm twin;                                                             \
            P##MPI_Comm_dup(MPI_COMM_SELF, &twin);                                     \
            P##MPI_Comm_free(&twin);                                                   \
        }                                                                              \
    }                                                                                  \
    static void P##put(long n)                                                         \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            P##MPI_Put(out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, locked);               \
            P##MPI_Win_flush(0, locked);                                               \
        }                                                                              \
    }                                                                                  \
    static void P##fence(long n)                                                       \
    {                                                                                  \
        for (long i = 0; i < n; i++)                                                   \
            P##MPI_Win_fence(0, fenced);                                               \
    }                                                                                  \
    static void P##write_at(long n)                                                    \
    {                                                                                  \
        for (long i = 0; i < n; i++)                                                   \
            P##MPI_File_write_at(file, 0, out, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);      \
    }                                                                                  \
    static void P##persistent(long n)                                                  \
    {                                                                                  \
        MPI_Request r[2];                                                              \
        P##MPI_Recv_init(in, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &r[0]);               \
        P##MPI_Send_init(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &r[1]);              \
        for (long i = 0; i < n; i++) {                                                 \
            P##MPI_Startall(2, r);                                                     \
            P##MPI_Waitall(2, r, MPI_STATUSES_IGNORE);                                 \
        }                                                                              \
        P##MPI_Request_free(&r[0]);                                                    \
        P##MPI_Request_free(&r[1]);                                                    \
    }                                                                                  \
    static void P##matched(long n)                                                     \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Message m;                                                             \
            P##MPI_Send(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF);                      \
            P##MPI_Mprobe(0, 7, MPI_COMM_SELF, &m, MPI_STATUS_IGNORE);                 \
            P##MPI_Mrecv(in, 1, MPI_DOUBLE, &m, MPI_STATUS_IGNORE);                    \
        }                                                                              \
    }                                                                                  \
    static void P##allreduce(long n)                                                   \
    {                                                                                  \
        for (long i = 0; i < n; i++)                                                   \
            P##MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);          \
    }                                                                                  \
    static void P##ibcast(long n)                                                      \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            MPI_Request r;                                                             \
            P##MPI_Ibcast(in, 1, MPI_DOUBLE, 0, MPI_COMM_SELF, &r);                    \
            P##MPI_Wait(&r, MPI_STATUS_IGNORE);                                        \
        }                                                                              \
    }                                                                                  \
    static void P##alltoallv(long n)                                                   \
    {                                                                                  \
        for (long i = 0; i < n; i++)                                                   \
            P##MPI_Alltoallv(out8, counts, displs, MPI_DOUBLE, in8, counts, displs,    \
                             MPI_DOUBLE, MPI_COMM_SELF);                               \
    }                                                                                  \
    static void P##neighbor(long n)                                                    \
    {                                                                                  \
        for (long i = 0; i < n; i++)                                                   \
            P##MPI_Neighbor_alltoallv(out8, counts, displs, MPI_DOUBLE, in8, counts,   \
                                      displs, MPI_DOUBLE, star);                       \
    }                                                                                  \
    static void P##changing(long n)                                                    \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            counts[i % NEIGHBOURS] = (int)(i >> 3) % 3;                                \
            P##MPI_Neighbor_alltoallv(out8, counts, displs, MPI_DOUBLE, in8, counts,   \
                                      displs, MPI_DOUBLE, star);                       \
        }                                                                              \
    }                                                                                  \
    static void P##pingpong(long n)                                                    \
    {                                                                                  \
        for (long i = 0; i < n; i++) {                                                 \
            if (rank == 0)                                                             \
                P##MPI_Send(out, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);                 \
            P##MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD,                \
                        MPI_STATUS_IGNORE);                                            \
            if (rank == 1)                                                             \
                P##MPI_Send(out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);                 \
        }                                                                              \
    }
LOOPS()
LOOPS(P)

static const struct pattern {
    const char *name;
    int calls; /* of an iteration; in ping-pong those of both ranks, in turns */
    int ranks;
    void (*traced)(long), (*bare)(long);
} patterns[] = {
    {"send", 3, 1, send, Psend},
    {"serialized", 3, 1, send, Psend},
    {"sum", 3, 1, send, Psend},
    {"isend", 3, 1, isend, Pisend},
    {"wildcard", 3, 1, wildcard, Pwildcard},
    {"derived", 3, 1, derived, Pderived},
    {"persistent", 2, 1, persistent, Ppersistent},
    {"matched", 3, 1, matched, Pmatched},
    {"allreduce", 1, 1, allreduce, Pallreduce},
    {"ibcast", 2, 1, ibcast, Pibcast},
    {"alltoallv", 1, 1, alltoallv, Palltoallv},
    {"neighbor", 1, 1, neighbor, Pneighbor},
    {"changing", 1, 1, changing, Pchanging},
    {"comm", 2, 1, comm, Pcomm},
    {"put", 2, 1, put, Pput},
    {"fence", 1, 1, fence, Pfence},
    {"write", 1, 1, write_at, Pwrite_at},
    {"pingpong", 4, 2, pingpong, Ppingpong},
};

static double now_ns(const struct pattern *p)
{
    struct timespec t;

    clock_gettime(p->ranks == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double timed(const struct pattern *p, void (*loop)(long), long iterations)
{
    double start;

    PMPI_Barrier(MPI_COMM_WORLD);
    start = now_ns(p);
    loop(iterations);
    return (now_ns(p) - start) / ((double)iterations * p->calls);
}

static void measure(const struct pattern *p, int pairs, long iterations)
{
    double *bare = calloc((size_t)pairs * 3, sizeof *bare), *traced = bare + pairs;
    double *added = traced + pairs, b, t, a;

    if (!bare)
        exit(1);
    for (int i = -1; i < pairs; i++) { /* the first warms up */
        b = timed(p, p->bare, iterations);
        t = timed(p, p->traced, iterations);
        if (i < 0)
            continue;
        bare[i] = b;
        traced[i] = t;
        added[i] = t - b;
    }
    b = median(bare, pairs);
    t = median(traced, pairs);
    a = median(added, pairs);
    if (rank == 0)
        printf("%.1f %.1f %.1f\n", b, t, a);
    free(bare);
}

static void meet_neighbours(void)
{
    int self[NEIGHBOURS], weight[NEIGHBOURS];

    for (int i = 0; i < NEIGHBOURS; i++) {
        self[i] = 0;
        weight[i] = 1;
        counts[i] = 1;
        displs[i] = 2 * i;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, NEIGHBOURS, self, weight, NEIGHBOURS, self,
                                   weight, MPI_INFO_NULL, 0, &star);
}

static void open_all(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    double *base;

    snprintf(path, sizeof path, "%s/bench-event-%d", tmp ? tmp : "/tmp", (int)getpid());
    MPI_File_open(MPI_COMM_SELF, path,
                  MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_SELF, &base, &fenced);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_SELF, &base, &locked);
    MPI_Win_lock_all(0, locked);
}

static void close_all(void)
{
    MPI_Win_unlock_all(locked);
    MPI_Win_free(&locked);
    MPI_Win_free(&fenced);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    const struct pattern *p = NULL;
    bool any_thread = argc > 1 && strcmp(argv[1], "serialized") == 0;
    int ranks, level;

    MPI_Init_thread(&argc, &argv, any_thread ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    open_all();
    for (size_t i = 0; argc > 1 && i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(argv[1], patterns[i].name) == 0)
            p = &patterns[i];
    if (ranks == 1)
        meet_neighbours();
    if (!p || p->ranks != ranks) {
        fprintf(stderr, "event: no such pattern, or not that many ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    if (argc > 3 && (strcmp(argv[2], "traced") == 0 || strcmp(argv[2], "bare") == 0)) {
        long n = atol(argv[3]);

        (argv[2][0] == 't' ? p->traced : p->bare)(n);
        if (rank == 0)
            printf("%ld\n", n * p->calls);
    } else {
        measure(p, argc > 2 ? atoi(argv[2]) : 9, argc > 3 ? atol(argv[3]) : 100000);
    }
    close_all();
    MPI_Finalize();
    return 0;
}
