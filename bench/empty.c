/*
 * Private memory of an MPI program that does nothing: prints the mean over the ranks of memory
 * without a file behind it, in bytes, as the kernel shares it out (PSS): of the mappings that
 * bench/shares calls anonymous.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* KiB */
static long anonymous(void)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    bool named = false;
    long kib, sum = 0;
    char line[512];

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            sum += named ? 0 : kib;
        else if (strcspn(line, "-") < strcspn(line, " :"))
            named = strchr(line, '/') != NULL;
    if (f)
        fclose(f);
    return sum;
}

int main(int argc, char **argv)
{
    long kib, sum = 0;
    int rank, np;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    MPI_Barrier(MPI_COMM_WORLD);
    kib = anonymous();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&kib, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", sum * 1024 / np);
    MPI_Finalize();
    return 0;
}
