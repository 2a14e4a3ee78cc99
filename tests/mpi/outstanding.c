/*
 * Many requests at a time: N receives, whose handles are moved to an array in the
 * opposite order, and N sends to nobody, whose handle is one and the same in many
 * MPI libraries and is moved as well.  On 1 rank.
 *
 *   outstanding N
 *
 * Without TIARA_EXPECT it prints what a call costs, in nanoseconds: made and
 * completed.
 */
#include "tests/mpi/expect.h"

#include <time.h>

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, in = 0, out = 1;
    MPI_Request one, *receives = malloc(2 * (size_t)n * sizeof *receives), *sends = receives + n;
    double start, made, completed;

    if (!receives)
        return 1;
    MPI_Init(&argc, &argv);
    expect_begin(0);
    start = now_ns();
    for (int i = 0; i < n; i++) {
        expect("irecv comm=0 peer=%s tag=1 bytes=4 esize=4 req=%d", to(0), i);
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &one);
        receives[n - 1 - i] = one;
    }
    for (int i = 0; i < n; i++) {
        expect("isend comm=0 peer=null tag=2 bytes=4 esize=4 req=%d", n + i);
        MPI_Isend(&out, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &one);
        sends[i] = one;
    }
    made = now_ns() - start;
    start = now_ns();
    for (int i = 0; i < n; i++) {
        expect("wait req=%d", n + i);
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    }
    completed = now_ns() - start;
    for (int i = 0; i < n; i++) {
        expect("send comm=0 peer=%s tag=1 bytes=4 esize=4", to(0));
        MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    start = now_ns();
    for (int i = 0; i < n / 2; i++) {
        expect("wait req=%d", n - 1 - i);
        MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
    }
    /* the lowest number that is free */
    expect("irecv comm=0 peer=null tag=1 bytes=4 esize=4 req=%d", n - n / 2);
    MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &one);
    expect("wait req=%d", n - n / 2);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    expect("waitall all=1");
    MPI_Waitall(n, receives, MPI_STATUSES_IGNORE);
    completed += now_ns() - start;
    if (!expect_file)
        printf("%.0f %.0f\n", made / n / 2, completed / n / 2);
    expect_end();
    MPI_Finalize();
    free(receives);
    return 0;
}
