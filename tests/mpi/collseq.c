/* Collectives as Fortran programs have them: collseq.inc is the same in Fortran,
 * and leaves the events that are told here.  MPI_IN_PLACE wherever it may be,
 * types for each partner, characters, logicals, MPI_BOTTOM, parts of arrays.  Each
 * call is there in its blocking and in its non-blocking form. */
#include "tests/mpi/forms.h"

#define W    MPI_COMM_WORLD
#define T    MPI_INT
#define MOST 16 /* ranks */

static int a[ROOM], b[ROOM];
static int n1[MOST], n2[MOST], d1[MOST], d2[MOST];
static MPI_Datatype t1[MOST], t2[MOST];
static MPI_Request r;

/* The event of `text`, a call; the event of its other form, that call, MPI_Wait. */
#define BOTH(text, blocking, nonblocking, ...)                                                     \
    do {                                                                                           \
        form = BLOCKING;                                                                           \
        event("%s", text);                                                                         \
        MUST(MPI_##blocking(__VA_ARGS__) == MPI_SUCCESS);                                          \
        form = NONBLOCKING;                                                                        \
        event("%s", text);                                                                         \
        MUST(MPI_##nonblocking(__VA_ARGS__, &r) == MPI_SUCCESS);                                   \
        expect("wait req=0");                                                                      \
        MPI_Wait(&r, MPI_STATUS_IGNORE);                                                           \
    } while (0)

/* Text of an event.  Good until the next. */
__attribute__((format(printf, 1, 2))) static const char *say(const char *fmt, ...)
{
    static char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

static void fill_both(void)
{
    for (int i = 0; i < ROOM; i++) {
        a[i] = value(rank, i + 1);
        b[i] = -1;
    }
}

static void reductions(void)
{
    int yes[3] = {1, rank == 0, 0};

    fill_both();
    BOTH(say("reduce comm=0 bytes=12 esize=4 root=%d redop=max", size - 1), Reduce, Ireduce,
         rank == size - 1 ? MPI_IN_PLACE : a, a, 3, T, MPI_MAX, size - 1, W);
    BOTH("allreduce comm=0 bytes=12 esize=4 redop=min", Allreduce, Iallreduce, MPI_IN_PLACE, a, 3,
         T, MPI_MIN, W);
    MUST(a[0] == value(0, 1) && a[2] == value(0, 3));
    BOTH("allreduce comm=0 bytes=12 esize=4 redop=lor", Allreduce, Iallreduce, MPI_IN_PLACE, yes, 3,
         T, MPI_LOR, W);
    MUST(yes[0] && yes[1] && !yes[2]);
    for (int i = 0; i < size; i++)
        n1[i] = i % 3;
    fill_both();
    BOTH(say("reduce_scatter comm=0 esize=4 redop=max recvcounts=[%s]", list(n1, size, 1)),
         Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, a, n1, T, MPI_MAX, W);
    fill_both();
    BOTH("reduce_scatter_block comm=0 bytes=8 esize=4 redop=max", Reduce_scatter_block,
         Ireduce_scatter_block, MPI_IN_PLACE, a, 2, T, MPI_MAX, W);
    fill_both();
    BOTH("scan comm=0 bytes=8 esize=4 redop=min", Scan, Iscan, MPI_IN_PLACE, a, 2, T, MPI_MIN, W);
    MUST(a[1] == value(0, 2));
    BOTH("exscan comm=0 bytes=8 esize=4 redop=min", Exscan, Iexscan, MPI_IN_PLACE, a, 2, T, MPI_MIN,
         W);
    MUST(a[1] == value(0, 2));
}

static void rooted(int root)
{
    bool mine = rank == root;

    fill_both();
    BOTH(say("gather comm=0 bytes=8 esize=4 rbytes=8 resize=4 root=%d", root), Gather, Igather,
         mine ? MPI_IN_PLACE : a, mine ? 0 : 2, mine ? MPI_DATATYPE_NULL : T, b, 2, T, root, W);
    for (int i = 0; i < size && mine; i++)
        MUST(i == root || b[2 * i + 1] == value(i, 2));
    fill_both();
    BOTH(say("scatter comm=0 bytes=8 esize=4 rbytes=8 resize=4 root=%d", root), Scatter, Iscatter,
         a, 2, T, mine ? MPI_IN_PLACE : b, mine ? 0 : 2, mine ? MPI_DATATYPE_NULL : T, root, W);
    MUST(mine || b[1] == value(root, 2 * rank + 2));
    for (int i = 0; i < size; i++) {
        n1[i] = i % 3;
        d1[i] = 4 * i;
    }
    fill_both();
    BOTH(mine ? say("gatherv comm=0 bytes=%d esize=4 resize=4 root=%d recvcounts=[%s]",
                    4 * n1[rank], root, list(n1, size, 1))
              : say("gatherv comm=0 bytes=%d esize=4 root=%d", 4 * n1[rank], root),
         Gatherv, Igatherv, mine ? MPI_IN_PLACE : a, mine ? 0 : n1[rank],
         mine ? MPI_DATATYPE_NULL : T, b, n1, d1, T, root, W);
    for (int i = 0; i < size && mine; i++)
        MUST(i == root || i % 3 == 0 || b[4 * i] == value(i, 1));
    fill_both();
    BOTH(mine ? say("scatterv comm=0 esize=4 rbytes=%d resize=4 root=%d sendcounts=[%s]",
                    4 * n1[rank], root, list(n1, size, 1))
              : say("scatterv comm=0 rbytes=%d resize=4 root=%d", 4 * n1[rank], root),
         Scatterv, Iscatterv, a, n1, d1, T, mine ? MPI_IN_PLACE : b, mine ? 0 : n1[rank],
         mine ? MPI_DATATYPE_NULL : T, root, W);
    MUST(mine || rank % 3 == 0 || b[0] == value(root, 4 * rank + 1));
}

static void all(void)
{
    BOTH("barrier comm=0", Barrier, Ibarrier, W);
    fill_both();
    memcpy(b + 2 * rank, a, 8);
    BOTH("allgather comm=0 bytes=8 esize=4 rbytes=8 resize=4", Allgather, Iallgather, MPI_IN_PLACE,
         0, MPI_DATATYPE_NULL, b, 2, T, W);
    for (int i = 0; i < size; i++) {
        MUST(b[2 * i + 1] == value(i, 2));
        n1[i] = i % 3;
        d1[i] = 4 * i;
    }
    BOTH(say("allgatherv comm=0 bytes=%d esize=4 resize=4 recvcounts=[%s]", 4 * n1[rank],
             list(n1, size, 1)),
         Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, n1, d1, T, W);
    BOTH("alltoall comm=0 bytes=8 esize=4 rbytes=8 resize=4", Alltoall, Ialltoall, MPI_IN_PLACE, 0,
         MPI_DATATYPE_NULL, b, 2, T, W);
    for (int i = 0; i < size; i++) {
        n1[i] = (rank + i) % 3;
        n2[i] = 8 * n1[i];
        d2[i] = 16 * i;
        t1[i] = MPI_2INT;
        t2[i] = MPI_BYTE;
    }
    BOTH(say("alltoallv comm=0 esize=4 resize=4 sendcounts=[%s] recvcounts=[%s]", list(n1, size, 1),
             list(n1, size, 1)),
         Alltoallv, Ialltoallv, MPI_IN_PLACE, n1, d1, T, b, n1, d1, T, W);
    fill_both();
    BOTH(say("alltoallw comm=0 esize=1 resize=1 sendbytes=[%s] recvbytes=[%s]", list(n2, size, 1),
             list(n2, size, 1)),
         Alltoallw, Ialltoallw, a, n1, d2, t1, b, n2, d2, t2, W);
    for (int i = 0; i < size; i++)
        MUST((rank + i) % 3 == 0 || b[4 * i + 1] == value(i, 4 * rank + 2));
    BOTH(say("alltoallw comm=0 esize=1 resize=1 sendbytes=[%s] recvbytes=[%s]", list(n2, size, 1),
             list(n2, size, 1)),
         Alltoallw, Ialltoallw, MPI_IN_PLACE, n1, d2, t1, b, n2, d2, t2, W);
}

static void buffers(void)
{
    char text[8] = "trace it";
    const int one = 1;
    MPI_Datatype there;
    MPI_Aint address;

    BOTH("bcast comm=0 bytes=8 esize=1 root=0", Bcast, Ibcast, text, 8, MPI_CHAR, 0, W);
    fill_both();
    MPI_Get_address(a, &address);
    MPI_Type_create_hindexed(1, &one, &address, T, &there);
    MPI_Type_commit(&there);
    BOTH("bcast comm=0 bytes=4 esize=4 root=0", Bcast, Ibcast, MPI_BOTTOM, 1, there, 0, W);
    MPI_Type_free(&there);
    MUST(a[0] == value(0, 1));
    /* every second one: in Fortran an array section */
    expect("bcast comm=0 bytes=20 esize=4 root=0");
    MPI_Bcast(b, 5, T, 0, W);
}

/* On a line of all ranks. */
static void neighbours(void)
{
    int no = 0, near[2] = {rank - 1, rank + 1};
    MPI_Aint dw[2] = {0, 16};
    MPI_Comm cart;

    expect("cart_create comm=0 newcomm=2 reorder=0 dims=[%d] periods=[0]", size);
    MPI_Cart_create(W, 1, &size, &no, 0, &cart);
    for (int k = 0; k < 2; k++) {
        n1[k] = k + 1;
        n2[k] = 2 - k;
        d1[k] = 4 * k;
        t1[k] = t2[k] = T;
    }
    fill_both();
    BOTH("neighbor_allgather comm=2 bytes=8 esize=4 rbytes=8 resize=4", Neighbor_allgather,
         Ineighbor_allgather, a, 2, T, b, 2, T, cart);
    for (int k = 0; k < 2; k++)
        MUST(b[2 * k] == (near[k] < 0 || near[k] >= size ? -1 : value(near[k], 1)));
    n2[1] = 2;
    BOTH("neighbor_allgatherv comm=2 bytes=8 esize=4 resize=4 recvcounts=[2,2]",
         Neighbor_allgatherv, Ineighbor_allgatherv, a, 2, T, b, n2, d1, T, cart);
    n2[1] = 1;
    BOTH("neighbor_alltoall comm=2 bytes=8 esize=4 rbytes=8 resize=4", Neighbor_alltoall,
         Ineighbor_alltoall, a, 2, T, b, 2, T, cart);
    BOTH("neighbor_alltoallv comm=2 esize=4 resize=4 sendcounts=[1,2] recvcounts=[2,1]",
         Neighbor_alltoallv, Ineighbor_alltoallv, a, n1, d1, T, b, n2, d1, T, cart);
    if (size > 1)
        BOTH("neighbor_alltoallw comm=2 esize=1 resize=1 sendbytes=[4,8] recvbytes=[8,4]",
             Neighbor_alltoallw, Ineighbor_alltoallw, a, n1, dw, t1, b, n2, dw, t2, cart);
    expect("comm_free comm=2");
    MPI_Comm_free(&cart);
}

/* Rank 0 against the others. */
static void two_groups(void)
{
    int root = rank == 0 ? MPI_ROOT : 0;
    bool first = rank == 0;
    MPI_Comm part, inter;

    if (size == 1)
        return;
    expect("comm_split comm=0 color=%d key=0 newcomm=3", rank > 0);
    MPI_Comm_split(W, rank > 0, 0, &part);
    if (rank < 2)
        expect("intercomm_create comm=3 peer=%s tag=5 root=0 newcomm=4 peercomm=0", to(1 - rank));
    else
        expect("intercomm_create comm=3 tag=5 root=0 newcomm=4");
    MPI_Intercomm_create(part, 0, W, first ? 1 : 0, 5, &inter);
    for (int i = 0; i < size; i++) {
        n1[i] = 2;
        d1[i] = 2 * i;
    }
    fill_both();
    BOTH(first ? "bcast comm=4 bytes=12 esize=4 root=self" : "bcast comm=4 bytes=12 esize=4 root=0",
         Bcast, Ibcast, a, 3, T, root, inter);
    MUST(a[2] == value(0, 3));
    fill_both();
    BOTH(first ? say("gatherv comm=4 bytes=0 esize=4 resize=4 root=self recvcounts=[%s]",
                     list(n1, size - 1, 1))
               : "gatherv comm=4 bytes=8 esize=4 root=0",
         Gatherv, Igatherv, a, 2, T, b, n1, d1, T, root, inter);
    for (int i = 1; i < size && first; i++)
        MUST(b[2 * i - 1] == value(i, 2));
    /* now the first of the others is the root, if it is not alone in its group */
    if (!first)
        root = rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
    else
        root = 0;
    BOTH(rank == 1  ? "reduce comm=4 bytes=12 esize=4 root=self redop=sum"
         : rank > 1 ? "reduce comm=4 bytes=0 esize=0 root=null redop=null"
                    : "reduce comm=4 bytes=12 esize=4 root=0 redop=sum",
         Reduce, Ireduce, a, b, 3, T, MPI_SUM, root, inter);
    MUST(rank != 1 || b[2] == value(0, 3));
    BOTH(say("allgatherv comm=4 bytes=8 esize=4 resize=4 recvcounts=[%s]",
             list(n1, first ? size - 1 : 1, 1)),
         Allgatherv, Iallgatherv, a, 2, T, b, n1, d1, T, inter);
    expect("comm_free comm=4");
    MPI_Comm_free(&inter);
    expect("comm_free comm=3");
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size <= MOST);
    reductions();
    for (int root = 0; root < size; root++)
        rooted(root);
    all();
    buffers();
    neighbours();
    two_groups();
    expect_end();
    MPI_Finalize();
    return 0;
}
