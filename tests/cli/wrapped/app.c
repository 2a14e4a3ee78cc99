/* Prints what it counted over two loops, in a shared object and in an archive. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

extern _Thread_local uint64_t tiara_blocks;
long part(long n), piece(long n);

int main(int argc, char **argv)
{
    uint64_t before, part_took, piece_took;

    MPI_Init(&argc, &argv);
    before = tiara_blocks;
    part(1000);
    part_took = tiara_blocks - before;
    before = tiara_blocks;
    piece(1000);
    piece_took = tiara_blocks - before;
    printf("%llu %llu\n", (unsigned long long)part_took, (unsigned long long)piece_took);
    MPI_Finalize();
    return 0;
}
