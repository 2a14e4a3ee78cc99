/*
 * killed EVENTS SHAPE: a rank that kills itself by SIGKILL when it has recorded so many events,
 * MPI_Init among them.  SHAPE "loop": all calls are alike; "mixed": sizes have no pattern.
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char in[4096], out[4096];
    unsigned long state = 1;
    bool mixed;
    long n;

    MPI_Init(&argc, &argv);
    n = argc > 2 ? atol(argv[1]) : 0;
    mixed = argc > 2 && strcmp(argv[2], "mixed") == 0;
    for (long i = 1; i < n; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        MPI_Allreduce(in, out, mixed ? (int)(state >> 33) % 4096 : 8, MPI_BYTE, MPI_BOR,
                      MPI_COMM_SELF);
    }
    raise(SIGKILL);
    return 1;
}
