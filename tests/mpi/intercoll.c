/* Every collective on an intercommunicator, in all its forms: both groups as the
 * root's, each rank as the root, different sizes in either direction. */
#include "tests/mpi/forms.h"

#define MOST  16 /* ranks */
#define APART 16 /* ints between what is for one partner and for the next */
#define ASIDE 99 /* a count for those that take no part: MPI ignores it */

static MPI_Comm comm;
static const int c = 3;    /* its number in the trace */
static int side;           /* 0 or 1: the group we are in */
static int me, n;          /* rank and size in it */
static int m, other[MOST]; /* the other group: ranks in the world, ascending */
static int own[MOST];      /* the same of ours */
static int counts[MOST], counts2[MOST], displs[MOST];

/* The argument `root` of this rank when `root` of group `from` is the root. */
static bool is_root, is_nobody;
static int argument;

static void set_root(int from, int root)
{
    is_root = from == side && root == me;
    is_nobody = from == side && root != me;
    argument = is_root ? MPI_ROOT : is_nobody ? MPI_PROC_NULL : root;
}

/* " root=self" */
static const char *root_text(void)
{
    static char text[32];

    snprintf(text, sizeof text, "root=%d", argument);
    return is_root ? "root=self" : is_nobody ? "root=null" : text;
}

/* Ints that rank `from` of the world has for rank `to`. */
static int amount(int from, int to)
{
    return (from + 2 * to) % 4;
}

static void bcast(void)
{
    fill(rank);
    if (is_nobody)
        event("bcast comm=%d bytes=0 esize=0 %s", c, root_text());
    else
        event("bcast comm=%d bytes=40 esize=4 %s", c, root_text());
    CALL(Bcast, Ibcast, Bcast_init, is_root ? in : out, is_nobody ? ASIDE : 10, MPI_INT, argument,
         comm);
    if (is_root || is_nobody)
        must_have(0, 0, 0, 0);
    else
        must_have(0, 10, other[argument], 0);
}

static void reduce(void)
{
    fill(rank);
    if (is_nobody)
        event("reduce comm=%d bytes=0 esize=0 %s redop=null", c, root_text());
    else
        event("reduce comm=%d bytes=40 esize=4 %s redop=max", c, root_text());
    CALL(Reduce, Ireduce, Reduce_init, in, out, is_nobody ? ASIDE : 10, MPI_INT, MPI_MAX, argument,
         comm);
    must_have(0, is_root ? 10 : 0, other[m - 1], 0);
}

static void gather(void)
{
    fill(rank);
    if (is_nobody)
        event("gather comm=%d bytes=0 esize=0 rbytes=0 resize=0 %s", c, root_text());
    else
        event("gather comm=%d bytes=12 esize=%d rbytes=12 resize=%d %s", c, is_root ? 1 : 4,
              is_root ? 1 : 4, root_text());
    CALL(Gather, Igather, Gather_init, in, is_root || is_nobody ? ASIDE : 3, MPI_INT, out,
         is_root ? 12 : ASIDE, MPI_BYTE, argument, comm);
    for (int i = 0; i < 3 * m && is_root; i++)
        MUST(out[i] == value(other[i / 3], i % 3));

    for (int i = 0; i < m; i++) {
        counts[i] = other[i] % 3;
        displs[i] = APART * i;
    }
    fill(rank);
    if (is_root)
        event("gatherv comm=%d bytes=0 esize=4 resize=4 root=self recvcounts=[%s]", c,
              list(counts, m, 1));
    else if (is_nobody)
        event("gatherv comm=%d bytes=0 esize=0 root=null", c);
    else
        event("gatherv comm=%d bytes=%d esize=4 %s", c, 4 * (rank % 3), root_text());
    CALL(Gatherv, Igatherv, Gatherv_init, in, is_root || is_nobody ? ASIDE : rank % 3, MPI_INT, out,
         counts, displs, MPI_INT, argument, comm);
    for (int i = 0; i < m && is_root; i++)
        must_have(APART * i, counts[i], other[i], 0);
}

static void scatter(void)
{
    fill(rank);
    if (is_nobody)
        event("scatter comm=%d bytes=0 esize=0 rbytes=0 resize=0 %s", c, root_text());
    else
        event("scatter comm=%d bytes=12 esize=%d rbytes=12 resize=%d %s", c, is_root ? 1 : 4,
              is_root ? 1 : 4, root_text());
    CALL(Scatter, Iscatter, Scatter_init, in, is_root ? 12 : ASIDE, MPI_BYTE, out,
         is_root || is_nobody ? ASIDE : 3, MPI_INT, argument, comm);
    if (!is_root && !is_nobody)
        must_have(0, 3, other[argument], 3 * me);

    for (int i = 0; i < m; i++) {
        counts[i] = other[i] % 3;
        displs[i] = APART * i;
    }
    fill(rank);
    if (is_root)
        event("scatterv comm=%d esize=4 rbytes=0 resize=4 root=self sendcounts=[%s]", c,
              list(counts, m, 1));
    else if (is_nobody)
        event("scatterv comm=%d rbytes=0 resize=0 root=null", c);
    else
        event("scatterv comm=%d rbytes=%d resize=4 %s", c, 4 * (rank % 3), root_text());
    CALL(Scatterv, Iscatterv, Scatterv_init, in, counts, displs, MPI_INT, out,
         is_root || is_nobody ? ASIDE : rank % 3, MPI_INT, argument, comm);
    if (!is_root && !is_nobody)
        must_have(0, rank % 3, other[argument], APART * me);
}

static void barrier(void)
{
    event("barrier comm=%d", c);
    CALL(Barrier, Ibarrier, Barrier_init, comm);
}

/* Group 0 gives 3 ints each, group 1 two. */
static void gather_to_all(void)
{
    int mine = 3 - side, theirs = 2 + side;

    fill(rank);
    event("allgather comm=%d bytes=%d esize=4 rbytes=%d resize=1", c, 4 * mine, 4 * theirs);
    CALL(Allgather, Iallgather, Allgather_init, in, mine, MPI_INT, out, 4 * theirs, MPI_BYTE, comm);
    for (int i = 0; i < theirs * m; i++)
        MUST(out[i] == value(other[i / theirs], i % theirs));

    for (int i = 0; i < m; i++) {
        counts[i] = other[i] % 4;
        displs[i] = APART * i;
    }
    fill(rank);
    event("allgatherv comm=%d bytes=%d esize=4 resize=4 recvcounts=[%s]", c, 4 * (rank % 4),
          list(counts, m, 1));
    CALL(Allgatherv, Iallgatherv, Allgatherv_init, in, rank % 4, MPI_INT, out, counts, displs,
         MPI_INT, comm);
    for (int i = 0; i < m; i++)
        must_have(APART * i, counts[i], other[i], 0);
}

static void alltoall(void)
{
    int mine = 3 - side, theirs = 2 + side;
    MPI_Datatype types[MOST], types2[MOST];

    fill(rank);
    event("alltoall comm=%d bytes=%d esize=4 rbytes=%d resize=4", c, 4 * mine, 4 * theirs);
    CALL(Alltoall, Ialltoall, Alltoall_init, in, mine, MPI_INT, out, theirs, MPI_INT, comm);
    for (int i = 0; i < theirs * m; i++)
        MUST(out[i] == value(other[i / theirs], theirs * me + i % theirs));

    for (int i = 0; i < m; i++) {
        counts[i] = amount(rank, other[i]);
        counts2[i] = amount(other[i], rank);
        displs[i] = APART * i;
    }
    fill(rank);
    event("alltoallv comm=%d esize=4 resize=4 sendcounts=[%s] recvcounts=[%s]", c,
          list(counts, m, 1), list(counts2, m, 1));
    CALL(Alltoallv, Ialltoallv, Alltoallv_init, in, counts, displs, MPI_INT, out, counts2, displs,
         MPI_INT, comm);
    for (int i = 0; i < m; i++)
        must_have(APART * i, counts2[i], other[i], APART * me);

    fill(rank);
    event("alltoallw comm=%d esize=1 resize=1 sendbytes=[%s] recvbytes=[%s]", c, list(counts, m, 4),
          list(counts2, m, 4));
    for (int i = 0; i < m; i++) {
        types[i] = i % 2 ? MPI_BYTE : MPI_INT;
        counts[i] *= i % 2 ? 4 : 1;
        types2[i] = i % 2 ? MPI_INT : MPI_BYTE;
        counts2[i] *= i % 2 ? 1 : 4;
        displs[i] *= (int)sizeof *in;
    }
    CALL(Alltoallw, Ialltoallw, Alltoallw_init, in, counts, displs, types, out, counts2, displs,
         types2, comm);
    for (int i = 0; i < m; i++)
        must_have(APART * i, amount(other[i], rank), other[i], APART * me);
}

/* Each group has the reduction of the other's vectors. */
static void reductions(void)
{
    fill(rank);
    event("allreduce comm=%d bytes=16 esize=4 redop=max", c);
    CALL(Allreduce, Iallreduce, Allreduce_init, in, out, 4, MPI_INT, MPI_MAX, comm);
    must_have(0, 4, other[m - 1], 0);

    for (int i = 0; i < n; i++)
        counts[i] = 2 * m;
    fill(rank);
    event("reduce_scatter comm=%d esize=4 redop=min recvcounts=[%s]", c, list(counts, n, 1));
    CALL(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, in, out, counts, MPI_INT, MPI_MIN,
         comm);
    must_have(0, 2 * m, other[0], 2 * m * me);

    fill(rank);
    event("reduce_scatter_block comm=%d bytes=%d esize=4 redop=min", c, 8 * m);
    CALL(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, in, out, 2 * m,
         MPI_INT, MPI_MIN, comm);
    must_have(0, 2 * m, other[0], 2 * m * me);
}

/* Every third rank of the world against the others. */
static void connect(void)
{
    MPI_Comm local;

    side = rank % 3 != 0;
    for (int r = 0; r < size; r++) {
        if (side == (r % 3 != 0))
            own[n++] = r;
        else
            other[m++] = r;
    }
    expect("comm_split comm=0 color=%d key=0 newcomm=2", side);
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    MPI_Comm_rank(local, &me);
    MUST(own[me] == rank);
    if (me == 0)
        expect("intercomm_create comm=2 peer=%s tag=8 root=0 newcomm=%d peercomm=0", to(other[0]),
               c);
    else
        expect("intercomm_create comm=2 tag=8 root=0 newcomm=%d", c);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, other[0], 8, &comm);
    expect("comm_free comm=2");
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size > 1 && size <= MOST);
    connect();
    for (form = BLOCKING; form < FORMS; form++) {
        for (int from = 0; from < 2; from++) {
            for (int root = 0; root < (from == side ? n : m); root++) {
                set_root(from, root);
                bcast();
                reduce();
                gather();
                scatter();
            }
        }
        barrier();
        gather_to_all();
        alltoall();
        reductions();
    }
    expect("comm_free comm=%d", c);
    MPI_Comm_free(&comm);
    expect_end();
    MPI_Finalize();
    return 0;
}
