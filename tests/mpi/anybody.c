/* Rank 0 receives from anybody with any tag, and must receive what the application sends and
 * nothing else. */
#include "tests/mpi/expect.h"

int main(int argc, char **argv)
{
    int in[1024], flag;
    MPI_Status status;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    for (int round = 0; round < 3; round++) {
        if (rank)
            MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        for (int i = 1; rank == 0 && i < size; i++) {
            int count;

            MPI_Recv(in, 1024, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            if (status.MPI_TAG != 5 || count != 1 || in[0] != status.MPI_SOURCE)
                printf("a message that nobody sent: tag %d, %d integers, from rank %d\n",
                       status.MPI_TAG, count, status.MPI_SOURCE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    if (flag)
        printf("rank %d: a message that nobody sent: tag %d, from rank %d\n", rank, status.MPI_TAG,
               status.MPI_SOURCE);
    expect_end();
    MPI_Finalize();
    return 0;
}
