/*
 * Fortran's constants: what a program gives for MPI_IN_PLACE and the ignored
 * statuses is the address of a variable that each MPI library has elsewhere.
 */
#include "minitrace/state.h"

#ifdef OPEN_MPI

/* Common blocks, of which the MPI library has one each way of being called. */
extern char mpi_fortran_in_place_[];
extern char mpi_fortran_status_ignore_[];
extern char mpi_fortran_statuses_ignore_[];

bool ti_fortran_in_place(const void *buffer)
{
    return buffer == mpi_fortran_in_place_;
}

bool ti_descriptor_in_place(const void *descriptor)
{
    return *(void *const *)descriptor == mpi_fortran_in_place_; /* its base_addr */
}

bool ti_fortran_ignores(const void *status)
{
    return !status || status == mpi_fortran_status_ignore_;
}

bool ti_fortran_ignores_all(const void *statuses)
{
    return !statuses || statuses == mpi_fortran_statuses_ignore_;
}

#endif
