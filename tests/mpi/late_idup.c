/* MPI_Comm_idup with an MPI library that gives the handle only when the request is
 * complete (late/idup.c makes ours one).  On any number of ranks. */
#include "tests/mpi/expect.h"

int main(int argc, char **argv)
{
    MPI_Comm twin = MPI_COMM_NULL, other = MPI_COMM_NULL;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    expect("comm_idup comm=0 req=0 newcomm=2");
    MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
    MUST(twin == MPI_COMM_NULL);
    expect("comm_dup comm=1 newcomm=3");
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    expect("wait req=0");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("barrier comm=3");
    MPI_Barrier(other);
    expect("barrier comm=2");
    MPI_Barrier(twin);
    expect("comm_free comm=2");
    MPI_Comm_free(&twin);
    expect("comm_free comm=3");
    MPI_Comm_free(&other);

    /* freed before anything else was done with it */
    expect("comm_idup comm=0 req=0 newcomm=4");
    MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
    expect("wait req=0");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("comm_free comm=4");
    MPI_Comm_free(&twin);
    expect_end();
    MPI_Finalize();
    return 0;
}
