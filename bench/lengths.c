/*
 * Bursts of known length, from 30 to 3 * 10^7 instructions, each followed by a
 * message round the ring whose tag is the power of ten: lengths [RUNS=1].  The
 * first of each length, which has the way there in it, has tag 0.
 */
#include <mpi.h>
#include <stdlib.h>

#include "examples/burst.h"

int main(int argc, char **argv)
{
    static const int repeats[] = {2000, 2000, 1000, 500, 200, 50, 10};
    int rank, np, runs = argc > 1 ? atoi(argv[1]) : 1, to, from;
    char out = 0, in;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    to = (rank + 1) % np;
    from = (rank + np - 1) % np;
    for (int run = 0; run < runs; run++) {
        int64_t length = 30;

        for (int power = 1; power <= 7; power++, length *= 10)
            for (int i = 0; i <= repeats[power - 1]; i++) {
                int tag = i > 0 ? power : 0;

                burst(length);
                MPI_Sendrecv(&out, 1, MPI_CHAR, to, tag, &in, 1, MPI_CHAR, from, tag,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
    }
    MPI_Finalize();
    return 0;
}
