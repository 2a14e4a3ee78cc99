/*
 * Receives of rank 1 that are cancelled, and messages of rank 0 that would match them if they
 * were not.  The ranks meet by PMPI, which is not traced: a simulation knows nothing of it.
 */
#include <mpi.h>
#include <time.h>

static int rank, in[4], out;

static void compute(double seconds)
{
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

    while (clock() < end)
        ;
}

/* Takes no processor time on a rank that waits. */
static void meet(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    MPI_Request all;

    PMPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int done = 0; !done; nanosleep(&pause, NULL))
        PMPI_Test(&all, &done, MPI_STATUS_IGNORE);
}

static void sends(void)
{
    meet();
    MPI_Send(&out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); /* simulated before the first cancel */
    meet();
    MPI_Send(&out, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    compute(0.5);
    MPI_Send(&out, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

static void recv(int tag)
{
    MPI_Recv(in, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receives(void)
{
    MPI_Request any, named;

    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
    compute(0.2);
    MPI_Cancel(&any);
    MPI_Wait(&any, MPI_STATUS_IGNORE);
    meet();
    recv(1);
    MPI_Irecv(&in[2], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &named);
    MPI_Cancel(&named);
    meet();
    recv(3); /* the message with tag 2 has come, too */
    MPI_Wait(&named, MPI_STATUS_IGNORE);
    recv(2);
    MPI_Barrier(MPI_COMM_WORLD);
    recv(2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        sends();
    else if (rank == 1)
        receives();
    MPI_Finalize();
    return 0;
}
