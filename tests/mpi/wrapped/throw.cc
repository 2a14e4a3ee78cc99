// Bursts as in main.c, half of each before an exception and half in its handler.
#include <mpi.h>
#include <stdexcept>
#include <string>

extern "C" {
#include "burst.h"
}

static void fails(int64_t half)
{
    std::string kept("on the heap, to be destroyed on the way out");

    burst(half);
    throw std::runtime_error(kept);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int64_t length : {1000, 100000}) {
        MPI_Barrier(MPI_COMM_WORLD);
        try {
            fails(length / 2);
        } catch (const std::exception &e) {
            burst(length / 2);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
