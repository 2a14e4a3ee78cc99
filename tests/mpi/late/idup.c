/* Between a program and its MPI library: the handle of MPI_Comm_idup's communicator
 * comes only when its request is waited for. */
#include <mpi.h>
#include <stddef.h>

static MPI_Comm made, *wanted;

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    wanted = newcomm;
    return PMPI_Comm_idup(comm, &made, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int rc = PMPI_Wait(request, status);

    if (wanted)
        *wanted = made;
    wanted = NULL;
    return rc;
}
