// A C++ program: its own exceptions, and some that leave an MPI function, thrown by
// what MPI calls back.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

void complain(MPI_Comm *, int *, ...)
{
    throw std::runtime_error("by MPI");
}

int ring(int rank, int size)
{
    std::vector<int> out(1, rank), in(1, -1);

    MPI_Sendrecv(out.data(), 1, MPI_INT, (rank + 1) % size, 1, in.data(), 1, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in[0] != (rank + size - 1) % size)
        throw std::logic_error("the ring is broken");
    throw in[0];
}

} // namespace

int main(int argc, char **argv)
{
    int rank, size, caught = 0;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        ring(rank, size);
    } catch (int from) {
        caught += from >= 0;
    }
    MPI_Comm_create_errhandler(complain, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 2; i++) {
        try {
            MPI_Send(&rank, 1, MPI_INT, size, 1, MPI_COMM_WORLD); // there is no such rank
        } catch (const std::runtime_error &) {
            caught++;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    std::printf("rank %d caught %d\n", rank, caught);
    MPI_Finalize();
    return caught == 3 ? 0 : 1;
}
