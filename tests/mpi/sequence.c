/*
 * One sequence of calls in every binding: this, sequence_mpifh.f and
 * sequence_usempi.f90 (both of sequence.inc), and sequence_f08.f90 must leave the
 * events in sequence.expected.  On 3 ranks.
 */
#include <mpi.h>
#include <stdlib.h>

#define W MPI_COMM_WORLD

static int a[100], b[100], counts[3], displs[3] = {0, 10, 20};

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    int rank, np, next, prev, flag, index, done, indices[4], ranks[2] = {2, 0}, dims[1] = {3};
    int periods[1] = {1};
    MPI_Status status, statuses[4];
    MPI_Request r[4];
    MPI_Comm twin, part, pair, cart;
    MPI_Group world, group;
    MPI_Datatype column;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &np);
    next = (rank + 1) % np;
    prev = (rank + np - 1) % np;

    /* point to point */
    MPI_Irecv(b, 10, MPI_INT, prev, 1, W, &r[0]);
    MPI_Send(a, 10, MPI_INT, next, 1, W);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Irecv(b, 10, MPI_INT, MPI_ANY_SOURCE, 2, W, &r[0]);
    MPI_Ssend(a, 5, MPI_INT, next, 2, W);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Isend(a, 3, MPI_DOUBLE, next, 3, W, &r[0]);
    MPI_Recv(b, 3, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, W, MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], &status);
    MPI_Isend(a, 1, MPI_CHAR, next, 4, W, &r[0]);
    MPI_Recv(b, 1, MPI_CHAR, prev, MPI_ANY_TAG, W, &status);
    if (status.MPI_SOURCE != prev || status.MPI_TAG != 4)
        MPI_Abort(W, 1);
    MPI_Request_free(&r[0]);
    MPI_Sendrecv(a, 1, MPI_INT, next, 5, b, 2, MPI_INT, MPI_ANY_SOURCE, 5, W, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(a, 4, MPI_INT, next, 6, prev, 6, W, &status);
    MPI_Send(a, 4, MPI_INT, MPI_PROC_NULL, 6, W);
    MPI_Isend(a, 1, MPI_INT, next, 7, W, &r[0]);
    MPI_Probe(MPI_ANY_SOURCE, 7, W, MPI_STATUS_IGNORE);
    do
        MPI_Iprobe(prev, MPI_ANY_TAG, W, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Recv(b, 1, MPI_INT, prev, 7, W, &status);
    do
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    while (!flag);

    /* many at once */
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 1, W, &r[0]);
    MPI_Irecv(b + 10, 1, MPI_INT, prev, 2, W, &r[1]);
    MPI_Isend(a, 1, MPI_INT, next, 1, W, &r[2]);
    MPI_Issend(a, 1, MPI_INT, next, 2, W, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, 1, MPI_INT, prev, MPI_ANY_TAG, W, &r[0]);
    r[1] = MPI_REQUEST_NULL;
    MPI_Isend(a, 1, MPI_INT, next, 1, W, &r[2]);
    MPI_Waitall(2, r, statuses);
    if (statuses[0].MPI_SOURCE != prev)
        MPI_Abort(W, 2);
    MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 2, W, &r[0]);
    MPI_Send(a, 1, MPI_INT, next, 2, W);
    MPI_Waitany(3, r, &index, &status);
    if (index != 0 || status.MPI_SOURCE != prev)
        MPI_Abort(W, 3);
    MPI_Waitany(3, r, &index, &status); /* none */
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 3, W, &r[1]);
    MPI_Send(a, 1, MPI_INT, next, 3, W);
    MPI_Waitsome(3, r, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 4, W, &r[2]);
    MPI_Send(a, 1, MPI_INT, next, 4, W);
    do
        MPI_Testsome(3, r, &done, indices, statuses);
    while (done == 0);
    if (done != 1 || indices[0] != 2 || statuses[0].MPI_TAG != 4)
        MPI_Abort(W, 4);
    MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 5, W, &r[1]);
    MPI_Isend(a, 1, MPI_INT, next, 5, W, &r[2]);
    do
        MPI_Testall(3, r, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    MPI_Irecv(b, 1, MPI_INT, prev, MPI_ANY_TAG, W, &r[1]);
    MPI_Send(a, 1, MPI_INT, next, 6, W);
    do
        MPI_Testany(3, r, &index, &flag, MPI_STATUS_IGNORE);
    while (!flag);

    /* collectives */
    MPI_Barrier(W);
    MPI_Bcast(a, 7, MPI_INT, 1, W);
    MPI_Op_create(add, 0, &op);
    MPI_Reduce(rank == 2 ? MPI_IN_PLACE : a, b, 2, MPI_INT, op, 2, W);
    MPI_Op_free(&op);
    MPI_Allreduce(MPI_IN_PLACE, b, 3, MPI_DOUBLE, MPI_SUM, W);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 2, MPI_INT, b, 2, MPI_INT, 0, W);
    for (int i = 0; i < 3; i++)
        counts[i] = i;
    MPI_Gatherv(rank == 1 ? MPI_IN_PLACE : a, rank, MPI_INT, b, counts, displs, MPI_INT, 1, W);
    MPI_Scatter(b, 2, MPI_INT, rank == 2 ? MPI_IN_PLACE : a, 2, MPI_INT, 2, W);
    MPI_Scatterv(b, counts, displs, MPI_INT, rank == 0 ? MPI_IN_PLACE : a, rank, MPI_INT, 0, W);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INT, W);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INT, W);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INT, W);
    for (int i = 0; i < 3; i++)
        counts[i] = abs(i - rank);
    MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, W);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, displs, MPI_INT, W);
    for (int i = 0; i < 3; i++)
        counts[i] = i + 1;
    MPI_Reduce_scatter(MPI_IN_PLACE, b, counts, MPI_INT, MPI_MAX, W);
    MPI_Reduce_scatter_block(a, b, 2, MPI_INT, MPI_BOR, W);
    MPI_Scan(MPI_IN_PLACE, b, 2, MPI_INT, MPI_MIN, W);
    MPI_Exscan(a, b, 2, MPI_INT, MPI_PROD, W);

    /* communicators */
    MPI_Comm_dup(W, &twin);
    MPI_Comm_split(twin, rank == 1 ? MPI_UNDEFINED : 5, -rank, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Bcast(a, 1, MPI_INT, 1, part);
        MPI_Comm_free(&part);
    }
    MPI_Comm_group(W, &world);
    MPI_Group_incl(world, 2, ranks, &group);
    MPI_Comm_create(twin, group, &pair);
    if (pair != MPI_COMM_NULL)
        MPI_Comm_free(&pair);
    MPI_Cart_create(twin, 1, dims, periods, 0, &cart);
    MPI_Comm_free(&twin);
    MPI_Sendrecv(a, 1, MPI_INT, next, 1, b, 1, MPI_INT, prev, 1, cart, MPI_STATUS_IGNORE);

    /* every second element; by a type, and as a slice in Fortran */
    MPI_Type_vector(5, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Bcast(a, 1, column, 0, cart);
    MPI_Type_free(&column);
    for (int i = 0; i < 5; i++)
        b[i] = a[2 * i];
    MPI_Bcast(b, 5, MPI_INT, 0, cart);
    MPI_Comm_free(&cart);

    MPI_Pcontrol(0);
    MPI_Barrier(W);
    MPI_Pcontrol(1);
    MPI_Ibarrier(W, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
