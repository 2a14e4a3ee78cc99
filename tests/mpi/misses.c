/*
 * misses LIBRARY OWN: so many calls of libm's functions, and so many steps of its own, ten times,
 * each time followed by a message.  Then system calls that must not be interrupted.  Prints how
 * many were.
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sum;

static int interrupted(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    int n = 0;

    for (int i = 0; i < 100000; i++)
        n += poll(NULL, 0, 0) < 0;
    for (int i = 0; i < 100; i++)
        n += nanosleep(&pause, NULL) != 0;
    return n;
}

int main(int argc, char **argv)
{
    long library, own;
    double all;
    int n = 0;

    MPI_Init(&argc, &argv);
    library = atol(argv[1]);
    own = atol(argv[2]);
    for (int i = 0; i < 10; i++) {
        for (long k = 0; k < library; k++)
            sum += sin((double)k) * exp(-1e-9 * (double)k);
        for (long k = 0; k < own; k++)
            sum += (double)(k % 7) * sum * 1e-9;
        all = sum;
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        n += interrupted();
    }
    MPI_Finalize();
    printf("interrupted %d\n", n);
    return 0;
}
