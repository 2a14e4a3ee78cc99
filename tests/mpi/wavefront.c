/*
 * A wavefront that is not balanced: in each of STEPS steps, rank np / 2 computes four times as much
 * as the others before it hands on to the next rank.  Then all ranks compute the same in STEPS
 * steps and add up.
 */
#include <mpi.h>

enum { STEPS = 12, UNIT = 400000 };

static volatile double sink;

static void compute(long n)
{
    double x = 1;

    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

static void __attribute__((noinline)) sweep(int rank, int np)
{
    double edge = 0;

    for (int step = 0; step < STEPS; step++) {
        if (rank > 0)
            MPI_Recv(&edge, 1, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(rank == np / 2 ? 4 * UNIT : UNIT);
        if (rank < np - 1)
            MPI_Send(&edge, 1, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_SELF);
    }
    sink = edge;
}

static void __attribute__((noinline)) norm(void)
{
    double own = 1, sum;

    for (int step = 0; step < STEPS; step++) {
        compute(UNIT);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    sink = own;
}

int main(int argc, char **argv)
{
    int rank, np;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    sweep(rank, np);
    norm();
    MPI_Finalize();
    return 0;
}
