/* Calls that this release does not trace: named, each time.  On 2 ranks. */
#include "tests/mpi/expect.h"

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];

    MPI_Init(&argc, &argv);
    expect_begin(0);
    for (int i = 0; i < 3; i++) {
        expect("untraced call=MPI_Open_port");
        MPI_Open_port(MPI_INFO_NULL, port);
        expect("untraced call=MPI_Close_port");
        MPI_Close_port(port);
        expect("barrier comm=0");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    expect("untraced call=MPI_Open_port");
    MPI_Open_port(MPI_INFO_NULL, port);
    expect_end();
    MPI_Finalize();
    return 0;
}
