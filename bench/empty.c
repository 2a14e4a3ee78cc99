/*
 * What an MPI program that does nothing has of its own: prints the mean over the ranks of
 * anonymous memory, in bytes, as the kernel shares it out (PSS).
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    long kib = 0, sum = 0;
    char line[256];
    int rank, np;
    FILE *f;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    MPI_Barrier(MPI_COMM_WORLD);
    f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "Pss_Anon: %ld", &kib);
    if (f)
        fclose(f);
    MPI_Reduce(&kib, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", sum * 1024 / np);
    MPI_Finalize();
    return 0;
}
