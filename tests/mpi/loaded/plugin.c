/* Linked with MPI, and loaded by a program that is not (host.c). */
#include <mpi.h>
#include <stddef.h>

int run(void);

int run(void)
{
    int rank, size, got = -1;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return got == (rank + size - 1) % size ? 0 : 2;
}
