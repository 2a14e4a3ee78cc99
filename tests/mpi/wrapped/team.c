/* Threads of OpenMP that take turns: the first with a burst of 1000 instructions, the
 * second one of 100000, each before a barrier of its own. */
#include <mpi.h>
#include <omp.h>

#include "burst.h"

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED)
        return 77;
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 2; turn++) {
#pragma omp barrier
        if (omp_get_thread_num() == turn) {
            int64_t length = turn ? 100000 : 1000;

            MPI_Barrier(MPI_COMM_SELF);
            burst(length);
            MPI_Barrier(MPI_COMM_SELF);
        } else {
            burst(12345); /* nobody's business but this thread's */
        }
#pragma omp barrier
    }
    MPI_Finalize();
    return 0;
}
