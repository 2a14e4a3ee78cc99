/* Messages from and to MPI_BOTTOM, of a type that has the address in it: the same
 * in each binding (bottom_*).  Rank 0 sends to the last one. */
#include "tests/mpi/expect.h"

int main(int argc, char **argv)
{
    int out[3] = {7, 8, 9}, in[3] = {0}, three = 3;
    MPI_Datatype type;
    MPI_Aint place;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size > 1);
    MPI_Get_address(rank == 0 ? out : in, &place);
    MPI_Type_create_hindexed(1, &three, &place, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
        expect("send comm=0 peer=%s tag=5 bytes=12 esize=12", to(size - 1));
        MPI_Send(MPI_BOTTOM, 1, type, size - 1, 5, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        expect("recv comm=0 peer=%s tag=any bytes=12 esize=12 from=%s fromtag=5", to(0), to(0));
        MPI_Recv(MPI_BOTTOM, 1, type, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MUST(in[0] == 7 && in[1] == 8 && in[2] == 9);
    }
    MPI_Type_free(&type);
    expect_end();
    MPI_Finalize();
    return 0;
}
