/* Every collective that is traced: normal and MPI_IN_PLACE, several roots,
 * derived types, counts of zero, user's reductions, sub-communicators. */
#include "tests/mpi/expect.h"

#include <string.h>

#define ROOM 4096

static double in[ROOM], out[ROOM];
static int counts[16], displs[16], counts2[16], displs2[16];
static int me, n; /* rank and size in comm */
static int c;     /* its number in the trace */
static MPI_Comm comm;
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

/* "3,0,4" */
static const char *list(const int *v)
{
    static char text[2][256];
    static int turn;
    char *t = text[turn = !turn];

    t[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(t + strlen(t), 256 - strlen(t), "%s%d", i ? "," : "", v[i]);
    return t;
}

static void rooted(int root)
{
    int is_root = me == root;

    expect("bcast comm=%d bytes=40 esize=4 root=%d", c, root);
    MPI_Bcast(in, 10, MPI_INT, root, comm);
    expect("bcast comm=%d bytes=0 esize=8 root=%d", c, root);
    MPI_Bcast(in, 0, MPI_DOUBLE, root, comm);
    /* one type on the root, another with the same signature elsewhere */
    expect("bcast comm=%d bytes=32 esize=%d root=%d", c, is_root ? 32 : 4, root);
    MPI_Bcast(in, is_root ? 1 : 8, is_root ? column : MPI_INT, root, comm);

    expect("reduce comm=%d bytes=80 esize=8 root=%d redop=max", c, root);
    MPI_Reduce(in, out, 10, MPI_DOUBLE, MPI_MAX, root, comm);
    expect("reduce comm=%d bytes=12 esize=12 root=%d redop=maxloc", c, root);
    MPI_Reduce(in, out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, root, comm);
    expect("reduce comm=%d bytes=20 esize=4 root=%d redop=user_nc", c, root);
    MPI_Reduce(is_root ? MPI_IN_PLACE : in, out, 5, MPI_INT, does_not, root, comm);

    expect("gather comm=%d bytes=12 esize=4 rbytes=12 resize=%d root=%d", c, is_root ? 1 : 4, root);
    MPI_Gather(in, 3, MPI_INT, out, is_root ? 12 : -1, is_root ? MPI_BYTE : MPI_DATATYPE_NULL, root,
               comm);
    expect("gather comm=%d bytes=20 esize=20 rbytes=20 resize=20 root=%d", c, root);
    MPI_Gather(is_root ? MPI_IN_PLACE : in, is_root ? -1 : 1, is_root ? MPI_DATATYPE_NULL : record,
               out, 1, record, root, comm);

    for (int i = 0; i < n; i++) {
        counts[i] = i % 2 ? 0 : i + 2; /* zero on odd ranks */
        displs[i] = 16 * i;
    }
    for (int place = 0; place < 2; place++) {
        int mine = place && is_root;

        if (is_root)
            expect("gatherv comm=%d bytes=%d esize=4 resize=4 root=%d recvcounts=[%s]", c,
                   4 * counts[me], root, list(counts));
        else
            expect("gatherv comm=%d bytes=%d esize=4 root=%d", c, 4 * counts[me], root);
        MPI_Gatherv(mine ? MPI_IN_PLACE : in, mine ? -1 : counts[me],
                    mine ? MPI_DATATYPE_NULL : MPI_INT, out, is_root ? counts : NULL,
                    is_root ? displs : NULL, is_root ? wide : MPI_DATATYPE_NULL, root, comm);
    }

    expect("scatter comm=%d bytes=12 esize=%d rbytes=12 resize=4 root=%d", c, is_root ? 1 : 4,
           root);
    MPI_Scatter(in, is_root ? 12 : -1, is_root ? MPI_BYTE : MPI_DATATYPE_NULL, out, 3, MPI_INT,
                root, comm);
    expect("scatter comm=%d bytes=64 esize=32 rbytes=64 resize=32 root=%d", c, root);
    MPI_Scatter(in, 2, column, is_root ? MPI_IN_PLACE : out, is_root ? -1 : 2,
                is_root ? MPI_DATATYPE_NULL : column, root, comm);

    for (int place = 0; place < 2; place++) {
        int mine = place && is_root;

        if (is_root)
            expect("scatterv comm=%d esize=4 rbytes=%d resize=4 root=%d sendcounts=[%s]", c,
                   4 * counts[me], root, list(counts));
        else
            expect("scatterv comm=%d rbytes=%d resize=4 root=%d", c, 4 * counts[me], root);
        MPI_Scatterv(in, is_root ? counts : NULL, is_root ? displs : NULL,
                     is_root ? wide : MPI_DATATYPE_NULL, mine ? MPI_IN_PLACE : out,
                     mine ? -1 : counts[me], mine ? MPI_DATATYPE_NULL : MPI_INT, root, comm);
    }
}

static void all(void)
{
    expect("barrier comm=%d", c);
    MPI_Barrier(comm);

    expect("allgather comm=%d bytes=12 esize=4 rbytes=12 resize=1", c);
    MPI_Allgather(in, 3, MPI_INT, out, 12, MPI_BYTE, comm);
    expect("allgather comm=%d bytes=40 esize=20 rbytes=40 resize=20", c);
    MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 2, record, comm);

    for (int i = 0; i < n; i++) {
        counts[i] = (i + 1) % n; /* zero on the last */
        displs[i] = 16 * i;
    }
    expect("allgatherv comm=%d bytes=%d esize=4 resize=4 recvcounts=[%s]", c, 4 * counts[me],
           list(counts));
    MPI_Allgatherv(in, counts[me], MPI_INT, out, counts, displs, wide, comm);
    expect("allgatherv comm=%d bytes=%d esize=8 resize=8 recvcounts=[%s]", c, 8 * counts[me],
           list(counts));
    MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, counts, displs, MPI_DOUBLE, comm);

    expect("alltoall comm=%d bytes=32 esize=32 rbytes=32 resize=4", c);
    MPI_Alltoall(in, 1, column, out, 8, MPI_INT, comm);
    expect("alltoall comm=%d bytes=16 esize=8 rbytes=16 resize=8", c);
    MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 2, MPI_DOUBLE, comm);

    /* rank i sends |i - j| ints to rank j: none to itself */
    for (int i = 0; i < n; i++) {
        counts[i] = counts2[i] = abs(i - me);
        counts2[i] *= 4;
        displs[i] = 8 * i;
        displs2[i] = 64 * i;
    }
    expect("alltoallv comm=%d esize=4 resize=1 sendcounts=[%s] recvcounts=[%s]", c, list(counts),
           list(counts2));
    MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts2, displs2, MPI_BYTE, comm);
    expect("alltoallv comm=%d esize=1 resize=1 sendcounts=[%s] recvcounts=[%s]", c, list(counts2),
           list(counts2));
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts2, displs2, MPI_BYTE,
                  comm);

    for (int i = 0; i < n; i++)
        counts[i] = i;
    expect("reduce_scatter comm=%d esize=8 redop=sum recvcounts=[%s]", c, list(counts));
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
    expect("reduce_scatter comm=%d esize=4 redop=bxor recvcounts=[%s]", c, list(counts));
    MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, MPI_INT, MPI_BXOR, comm);
    expect("reduce_scatter_block comm=%d bytes=24 esize=8 redop=min", c);
    MPI_Reduce_scatter_block(in, out, 3, MPI_DOUBLE, MPI_MIN, comm);
    expect("reduce_scatter_block comm=%d bytes=8 esize=4 redop=user", c);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, out, 2, MPI_INT, commutes, comm);

    expect("scan comm=%d bytes=8 esize=4 redop=land", c);
    MPI_Scan(in, out, 2, MPI_INT, MPI_LAND, comm);
    expect("scan comm=%d bytes=8 esize=4 redop=lor", c);
    MPI_Scan(MPI_IN_PLACE, out, 2, MPI_INT, MPI_LOR, comm);
    expect("exscan comm=%d bytes=8 esize=4 redop=user_nc", c);
    MPI_Exscan(in, out, 2, MPI_INT, does_not, comm);
    expect("exscan comm=%d bytes=8 esize=4 redop=lxor", c);
    MPI_Exscan(MPI_IN_PLACE, out, 2, MPI_INT, MPI_LXOR, comm);
}

static void reductions(void)
{
    static const struct {
        const char *name;
        MPI_Op op;
    } op[] = {{"sum", MPI_SUM},   {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN},
              {"land", MPI_LAND}, {"band", MPI_BAND}, {"lor", MPI_LOR}, {"bor", MPI_BOR},
              {"lxor", MPI_LXOR}, {"bxor", MPI_BXOR}};

    for (unsigned i = 0; i < sizeof op / sizeof *op; i++) {
        expect("allreduce comm=%d bytes=12 esize=4 redop=%s", c, op[i].name);
        MPI_Allreduce(in, out, 3, MPI_INT, op[i].op, comm);
        expect("allreduce comm=%d bytes=0 esize=4 redop=%s", c, op[i].name);
        MPI_Allreduce(MPI_IN_PLACE, out, 0, MPI_INT, op[i].op, comm);
    }
    expect("allreduce comm=%d bytes=16 esize=8 redop=minloc", c);
    MPI_Allreduce(in, out, 2, MPI_2INT, MPI_MINLOC, comm);
    expect("allreduce comm=%d bytes=8 esize=4 redop=user", c);
    MPI_Allreduce(in, out, 2, MPI_INT, commutes, comm);
    expect("allreduce comm=%d bytes=8 esize=4 redop=user_nc", c);
    MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, does_not, comm);
}

static void everything(MPI_Comm of, int index)
{
    comm = of;
    c = index;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int root = 0; root < n; root++)
        rooted(root);
    all();
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
    MPI_Op_create(add, 0, &does_not);

    everything(MPI_COMM_WORLD, 0);
    everything(MPI_COMM_SELF, 1);
    /* the last rank alone, the others in opposite order */
    expect("comm_split comm=0 color=%d key=%d newcomm=2", rank == size - 1, -rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, -rank, &sub);
    everything(sub, 2);
    expect("comm_free comm=2");
    MPI_Comm_free(&sub);

    MPI_Op_free(&commutes);
    MPI_Op_free(&does_not);
    expect_end();
    MPI_Finalize();
    return 0;
}
