/* Every collective without neighbours, in all its forms: normal and MPI_IN_PLACE,
 * each rank as the root, derived types, counts of zero, user's reductions, a type
 * for each partner, sub-communicators.  What MPI ignores is invalid on purpose. */
#include "tests/mpi/forms.h"

#define MOST  16 /* ranks */
#define APART 16 /* ints between what is for one partner and for the next */

static int me, n; /* rank and size in comm */
static int c;     /* its number in the trace */
static MPI_Comm comm;
static int counts[MOST], displs[MOST], counts2[MOST], displs2[MOST];
static MPI_Datatype column; /* 4 x 2 ints of every 8: 32 bytes packed */
static MPI_Datatype record; /* 3 ints, a double behind a gap: 20 bytes packed */
static MPI_Datatype wide;   /* an int in 64 bytes: 4 bytes packed */
static MPI_Op commutes, does_not;

static void add(void *a, void *b, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)b)[i] += ((int *)a)[i];
}

/* Not commutative: the lowest rank's. */
static void left(void *a, void *b, int *len, MPI_Datatype *type)
{
    (void)type;
    memcpy(b, a, (size_t)*len * sizeof(int));
}

/* Element k of a column of ints. */
static int in_column(int k)
{
    return k / 2 * 8 + k % 2;
}

static void bcast(int root)
{
    bool is_root = me == root;

    fill(me);
    event("bcast comm=%d bytes=40 esize=4 root=%d", c, root);
    CALL(Bcast, Ibcast, Bcast_init, is_root ? in : out, 10, MPI_INT, root, comm);
    if (!is_root)
        must_have(0, 10, root, 0);

    fill(me);
    event("bcast comm=%d bytes=0 esize=8 root=%d", c, root);
    CALL(Bcast, Ibcast, Bcast_init, out, 0, MPI_DOUBLE, root, comm);
    must_have(0, 0, 0, 0);

    /* one type on the root, another with the same signature elsewhere */
    event("bcast comm=%d bytes=32 esize=%d root=%d", c, is_root ? 32 : 4, root);
    CALL(Bcast, Ibcast, Bcast_init, is_root ? in : out, is_root ? 1 : 8, is_root ? column : MPI_INT,
         root, comm);
    for (int k = 0; k < 8 && !is_root; k++)
        MUST(out[k] == value(root, in_column(k)));
}

static void reduce(int root)
{
    bool is_root = me == root;
    struct {
        double v;
        int at;
    } most = {me, me}, result = {-1, -1};

    fill(me);
    event("reduce comm=%d bytes=40 esize=4 root=%d redop=max", c, root);
    CALL(Reduce, Ireduce, Reduce_init, in, out, 10, MPI_INT, MPI_MAX, root, comm);
    if (is_root)
        must_have(0, 10, n - 1, 0);

    event("reduce comm=%d bytes=12 esize=12 root=%d redop=maxloc", c, root);
    CALL(Reduce, Ireduce, Reduce_init, &most, is_root ? &result : NULL, 1, MPI_DOUBLE_INT,
         MPI_MAXLOC, root, comm);
    MUST(!is_root || result.at == n - 1);

    event("reduce comm=%d bytes=20 esize=4 root=%d redop=user_nc", c, root);
    CALL(Reduce, Ireduce, Reduce_init, is_root ? MPI_IN_PLACE : in, is_root ? in : NULL, 5, MPI_INT,
         does_not, root, comm);
    for (int i = 0; i < 5 && is_root; i++)
        MUST(in[i] == value(0, i));
}

static void gather(int root)
{
    bool is_root = me == root;

    fill(me);
    event("gather comm=%d bytes=12 esize=4 rbytes=12 resize=%d root=%d", c, is_root ? 1 : 4, root);
    CALL(Gather, Igather, Gather_init, in, 3, MPI_INT, is_root ? out : NULL, is_root ? 12 : -1,
         is_root ? MPI_BYTE : MPI_DATATYPE_NULL, root, comm);
    for (int i = 0; i < 3 * n && is_root; i++)
        MUST(out[i] == value(i / 3, i % 3));

    fill(me);
    memcpy(out + 8 * me, in, 8 * sizeof *in);
    event("gather comm=%d bytes=32 esize=4 rbytes=32 resize=4 root=%d", c, root);
    CALL(Gather, Igather, Gather_init, is_root ? MPI_IN_PLACE : in, is_root ? -1 : 8,
         is_root ? MPI_DATATYPE_NULL : MPI_INT, out, 8, MPI_INT, root, comm);
    for (int i = 0; i < 8 * n && is_root; i++)
        MUST(out[i] == value(i / 8, i % 8));

    event("gather comm=%d bytes=20 esize=20 rbytes=20 resize=20 root=%d", c, root);
    CALL(Gather, Igather, Gather_init, is_root ? MPI_IN_PLACE : in, is_root ? -1 : 1,
         is_root ? MPI_DATATYPE_NULL : record, out, 1, record, root, comm);
}

static void scatter(int root)
{
    bool is_root = me == root;

    fill(me);
    event("scatter comm=%d bytes=12 esize=%d rbytes=12 resize=4 root=%d", c, is_root ? 1 : 4, root);
    CALL(Scatter, Iscatter, Scatter_init, is_root ? in : NULL, is_root ? 12 : -1,
         is_root ? MPI_BYTE : MPI_DATATYPE_NULL, out, 3, MPI_INT, root, comm);
    must_have(0, 3, root, 3 * me);

    fill(me);
    event("scatter comm=%d bytes=64 esize=4 rbytes=64 resize=4 root=%d", c, root);
    CALL(Scatter, Iscatter, Scatter_init, in, is_root ? 16 : -1,
         is_root ? MPI_INT : MPI_DATATYPE_NULL, is_root ? MPI_IN_PLACE : out, is_root ? -1 : 16,
         is_root ? MPI_DATATYPE_NULL : MPI_INT, root, comm);
    if (!is_root)
        must_have(0, 16, root, 16 * me);
}

/* gatherv and scatterv; none from and to odd ranks, and twice, the second time in
 * place. */
static void rooted_v(int root)
{
    bool is_root = me == root;

    for (int i = 0; i < n; i++)
        counts[i] = i % 2 ? 0 : i + 2;
    for (int place = 0; place < 2; place++) {
        bool mine = place && is_root;

        fill(me);
        if (is_root)
            event("gatherv comm=%d bytes=%d esize=4 resize=4 root=%d recvcounts=[%s]", c,
                  4 * counts[me], root, list(counts, n, 1));
        else
            event("gatherv comm=%d bytes=%d esize=4 root=%d", c, 4 * counts[me], root);
        for (int i = 0; i < n; i++)
            displs[i] = APART * i;
        CALL(Gatherv, Igatherv, Gatherv_init, mine ? MPI_IN_PLACE : in, mine ? -1 : counts[me],
             mine ? MPI_DATATYPE_NULL : MPI_INT, is_root ? out : NULL, is_root ? counts : NULL,
             is_root ? displs : NULL, is_root ? MPI_INT : MPI_DATATYPE_NULL, root, comm);
        for (int i = 0; i < n && is_root; i++)
            if (!mine || i != me)
                must_have(APART * i, counts[i], i, 0);

        fill(me);
        for (int i = 0; i < n; i++)
            displs[i] = 12 * i;
        if (is_root)
            event("scatterv comm=%d esize=4 rbytes=%d resize=4 root=%d sendcounts=[%s]", c,
                  4 * counts[me], root, list(counts, n, 1));
        else
            event("scatterv comm=%d rbytes=%d resize=4 root=%d", c, 4 * counts[me], root);
        CALL(Scatterv, Iscatterv, Scatterv_init, is_root ? in : NULL, is_root ? counts : NULL,
             is_root ? displs : NULL, is_root ? wide : MPI_DATATYPE_NULL, mine ? MPI_IN_PLACE : out,
             mine ? -1 : counts[me], mine ? MPI_DATATYPE_NULL : MPI_INT, root, comm);
        for (int i = 0; i < counts[me] && !mine; i++)
            MUST(out[i] == value(root, 16 * (12 * me + i)));
    }
}

static void allgather(void)
{
    fill(me);
    event("allgather comm=%d bytes=12 esize=4 rbytes=12 resize=1", c);
    CALL(Allgather, Iallgather, Allgather_init, in, 3, MPI_INT, out, 12, MPI_BYTE, comm);
    for (int i = 0; i < 3 * n; i++)
        MUST(out[i] == value(i / 3, i % 3));

    fill(me);
    memcpy(out + 10 * me, in, 10 * sizeof *in);
    event("allgather comm=%d bytes=40 esize=8 rbytes=40 resize=8", c);
    CALL(Allgather, Iallgather, Allgather_init, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 5,
         MPI_2INT, comm);
    for (int i = 0; i < 10 * n; i++)
        MUST(out[i] == value(i / 10, i % 10));

    for (int i = 0; i < n; i++) {
        counts[i] = (i + 1) % n; /* zero on the last */
        displs[i] = APART * i;
    }
    for (int place = 0; place < 2; place++) {
        fill(me);
        if (place)
            memcpy(out + APART * me, in, (size_t)counts[me] * sizeof *in);
        event("allgatherv comm=%d bytes=%d esize=4 resize=4 recvcounts=[%s]", c, 4 * counts[me],
              list(counts, n, 1));
        CALL(Allgatherv, Iallgatherv, Allgatherv_init, place ? MPI_IN_PLACE : in,
             place ? -1 : counts[me], place ? MPI_DATATYPE_NULL : MPI_INT, out, counts, displs,
             MPI_INT, comm);
        for (int i = 0; i < n; i++)
            must_have(APART * i, counts[i], i, 0);
    }
}

static void alltoall(void)
{
    fill(me);
    event("alltoall comm=%d bytes=32 esize=32 rbytes=32 resize=4", c);
    CALL(Alltoall, Ialltoall, Alltoall_init, in, 1, column, out, 8, MPI_INT, comm);
    for (int i = 0; i < 8 * n; i++)
        MUST(out[i] == value(i / 8, 26 * me + in_column(i % 8))); /* a column spans 26 */

    fill(me);
    for (int i = 0; i < 2 * n; i++)
        out[i] = value(me, i);
    event("alltoall comm=%d bytes=8 esize=4 rbytes=8 resize=4", c);
    CALL(Alltoall, Ialltoall, Alltoall_init, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 2, MPI_INT,
         comm);
    for (int i = 0; i < 2 * n; i++)
        MUST(out[i] == value(i / 2, 2 * me + i % 2));
}

/* Rank i sends |i - j| ints to rank j: none to itself. */
static void alltoallv(void)
{
    for (int i = 0; i < n; i++) {
        counts[i] = abs(i - me);
        counts2[i] = 4 * counts[i];
        displs[i] = APART * i;
        displs2[i] = 4 * APART * i;
    }
    fill(me);
    event("alltoallv comm=%d esize=4 resize=1 sendcounts=[%s] recvcounts=[%s]", c,
          list(counts, n, 1), list(counts, n, 4));
    CALL(Alltoallv, Ialltoallv, Alltoallv_init, in, counts, displs, MPI_INT, out, counts2, displs2,
         MPI_BYTE, comm);
    for (int i = 0; i < n; i++)
        must_have(APART * i, counts[i], i, APART * me);

    fill(me);
    for (int i = 0; i < n; i++)
        memcpy(out + displs[i], in + displs[i], (size_t)counts[i] * sizeof *in);
    event("alltoallv comm=%d esize=4 resize=4 sendcounts=[%s] recvcounts=[%s]", c,
          list(counts, n, 1), list(counts, n, 1));
    CALL(Alltoallv, Ialltoallv, Alltoallv_init, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out,
         counts, displs, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        must_have(APART * i, counts[i], i, APART * me);
}

/* Ranks i and j exchange (i + j) % 3 eights of ints: as columns, ints or bytes. */
static void alltoallw(void)
{
    MPI_Datatype types[MOST], types2[MOST];
    int bytes[MOST];

    for (int i = 0; i < n; i++) {
        int eights = (i + me) % 3;

        types[i] = i % 2 ? MPI_BYTE : MPI_INT;
        counts[i] = eights * (i % 2 ? 32 : 8);
        types2[i] = me % 2 ? column : MPI_INT;
        counts2[i] = eights * (me % 2 ? 1 : 8);
        displs[i] = 64 * i * (int)sizeof *in;
        bytes[i] = 32 * eights;
    }
    fill(me);
    event("alltoallw comm=%d esize=1 resize=1 sendbytes=[%s] recvbytes=[%s]", c, list(bytes, n, 1),
          list(bytes, n, 1));
    CALL(Alltoallw, Ialltoallw, Alltoallw_init, in, counts, displs, types, out, counts2, displs,
         types2, comm);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < bytes[i] / 4; k++)
            MUST(out[64 * i + (me % 2 ? 26 * (k / 8) + in_column(k % 8) : k)] ==
                 value(i, 64 * me + k));

    fill(me);
    for (int i = 0; i < n; i++) {
        types2[i] = (i + me) % 2 ? MPI_BYTE : MPI_INT;
        counts2[i] = bytes[i] / ((i + me) % 2 ? 1 : 4);
        memcpy(out + 64 * i, in + 64 * i, (size_t)bytes[i]);
    }
    event("alltoallw comm=%d esize=1 resize=1 sendbytes=[%s] recvbytes=[%s]", c, list(bytes, n, 1),
          list(bytes, n, 1));
    CALL(Alltoallw, Ialltoallw, Alltoallw_init, MPI_IN_PLACE, NULL, NULL, NULL, out, counts2,
         displs, types2, comm);
    for (int i = 0; i < n; i++)
        must_have(64 * i, bytes[i] / 4, i, 64 * me);
}

/* Of i ints to rank i: their sum is everybody's vector. */
static void reduce_scatter(void)
{
    int before = me * (me - 1) / 2;

    for (int i = 0; i < n; i++)
        counts[i] = i;
    fill(me);
    event("reduce_scatter comm=%d esize=4 redop=min recvcounts=[%s]", c, list(counts, n, 1));
    CALL(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, in, out, counts, MPI_INT, MPI_MIN,
         comm);
    must_have(0, me, 0, before);

    event("reduce_scatter comm=%d esize=4 redop=user_nc recvcounts=[%s]", c, list(counts, n, 1));
    CALL(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, MPI_IN_PLACE, in, counts, MPI_INT,
         does_not, comm);
    for (int i = 0; i < me; i++)
        MUST(in[i] == value(0, before + i));

    fill(me);
    event("reduce_scatter_block comm=%d bytes=12 esize=4 redop=max", c);
    CALL(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, in, out, 3,
         MPI_INT, MPI_MAX, comm);
    must_have(0, 3, n - 1, 3 * me);
    event("reduce_scatter_block comm=%d bytes=8 esize=4 redop=user", c);
    CALL(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, MPI_IN_PLACE, in,
         2, MPI_INT, commutes, comm);
    for (int i = 0; i < 2; i++)
        MUST(in[i] == 1000 * (n * (n - 1) / 2) + n * (2 * me + i));
}

static void scans(void)
{
    for (int place = 0; place < 2; place++) {
        fill(me);
        memcpy(out, in, 2 * sizeof *in);
        event("scan comm=%d bytes=8 esize=4 redop=min", c);
        CALL(Scan, Iscan, Scan_init, place ? MPI_IN_PLACE : in, out, 2, MPI_INT, MPI_MIN, comm);
        must_have(0, 2, 0, 0);

        fill(me);
        memcpy(out, in, 2 * sizeof *in);
        event("exscan comm=%d bytes=8 esize=4 redop=max", c);
        CALL(Exscan, Iexscan, Exscan_init, place ? MPI_IN_PLACE : in, out, 2, MPI_INT, MPI_MAX,
             comm);
        if (me > 0)
            must_have(0, 2, me - 1, 0);
    }
}

static void reductions(void)
{
    static const struct {
        const char *name;
        MPI_Op op;
    } op[] = {{"sum", MPI_SUM},   {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN},
              {"land", MPI_LAND}, {"band", MPI_BAND}, {"lor", MPI_LOR}, {"bor", MPI_BOR},
              {"lxor", MPI_LXOR}, {"bxor", MPI_BXOR}};
    int odd = n % 2, one[2] = {1, 1};
    const int of_ones[] = {n, 1, 1, 1, 1, 1, 1, 1, odd, odd};

    for (unsigned i = 0; i < sizeof op / sizeof *op; i++) {
        event("allreduce comm=%d bytes=8 esize=4 redop=%s", c, op[i].name);
        CALL(Allreduce, Iallreduce, Allreduce_init, one, out, 2, MPI_INT, op[i].op, comm);
        MUST(out[0] == of_ones[i] && out[1] == of_ones[i]);
        event("allreduce comm=%d bytes=0 esize=4 redop=%s", c, op[i].name);
        CALL(Allreduce, Iallreduce, Allreduce_init, MPI_IN_PLACE, out, 0, MPI_INT, op[i].op, comm);
    }
    fill(me);
    in[1] = in[3] = me;
    event("allreduce comm=%d bytes=16 esize=8 redop=minloc", c);
    CALL(Allreduce, Iallreduce, Allreduce_init, in, out, 2, MPI_2INT, MPI_MINLOC, comm);
    MUST(out[1] == 0 && out[2] == value(0, 2) && out[4] == -1);
    event("allreduce comm=%d bytes=8 esize=4 redop=user", c);
    CALL(Allreduce, Iallreduce, Allreduce_init, one, out, 2, MPI_INT, commutes, comm);
    MUST(out[0] == n && out[1] == n);
    fill(me);
    event("allreduce comm=%d bytes=8 esize=4 redop=user_nc", c);
    CALL(Allreduce, Iallreduce, Allreduce_init, MPI_IN_PLACE, in, 2, MPI_INT, does_not, comm);
    MUST(in[0] == value(0, 0) && in[1] == value(0, 1));
}

static void barrier(void)
{
    event("barrier comm=%d", c);
    CALL(Barrier, Ibarrier, Barrier_init, comm);
}

static void everything(MPI_Comm of, int index)
{
    comm = of;
    c = index;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int root = 0; root < n; root++) {
        bcast(root);
        reduce(root);
        gather(root);
        scatter(root);
        rooted_v(root);
    }
    barrier();
    allgather();
    alltoall();
    alltoallv();
    alltoallw();
    reduce_scatter();
    scans();
    reductions();
}

int main(int argc, char **argv)
{
    int lengths[2] = {3, 1};
    MPI_Aint displacements[2] = {0, 32};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Comm sub;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MPI_Type_vector(4, 2, 8, MPI_INT, &column);
    MPI_Type_create_struct(2, lengths, displacements, types, &record);
    MPI_Type_create_resized(MPI_INT, 0, 64, &wide);
    MPI_Type_commit(&column);
    MPI_Type_commit(&record);
    MPI_Type_commit(&wide);
    MPI_Op_create(add, 1, &commutes);
    MPI_Op_create(left, 0, &does_not);

    /* the last rank alone, the others in opposite order */
    expect("comm_split comm=0 color=%d key=%d newcomm=2", rank == size - 1, -rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, -rank, &sub);
    for (form = BLOCKING; form < FORMS; form++) {
        everything(MPI_COMM_WORLD, 0);
        everything(MPI_COMM_SELF, 1);
        everything(sub, 2);
    }
    expect("comm_free comm=2");
    MPI_Comm_free(&sub);

    MPI_Type_free(&column);
    MPI_Type_free(&record);
    MPI_Type_free(&wide);
    MPI_Op_free(&commutes);
    MPI_Op_free(&does_not);
    expect_end();
    MPI_Finalize();
    return 0;
}
