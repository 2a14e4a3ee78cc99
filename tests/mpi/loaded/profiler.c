/* A profiling tool as MPI's profiling interface means it: counts some calls, and
 * writes in MPI_Finalize how many there were to the file named by PROFILE, with the
 * rank at its end.  Linked into a program, or preloaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sends, recvs, waits, sizes;

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    recvs++;
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    waits++;
    return PMPI_Wait(request, status);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    sizes++;
    return PMPI_Comm_size(comm, size);
}

int MPI_Finalize(void)
{
    char path[4096];
    int rank, most, sent;
    FILE *f;

    /* what a tool does for itself is none of the program's calls */
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sent = sends;
    PMPI_Allreduce(&sent, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s-%d", getenv("PROFILE"), rank);
    f = fopen(path, "w");
    if (!f)
        return PMPI_Finalize();
    fprintf(f, "sends %d of at most %d, recvs %d, waits %d, sizes %d\n", sends, most, recvs, waits,
            sizes);
    fclose(f);
    return PMPI_Finalize();
}
