/*
 * The two ways from a back end to MPI, both filled in by the dispatcher (dispatcher.h):
 *
 *     TI_NEXT(MPI_X)   where the application's call continues; for shims only
 *     PMPI_X           the MPI library's own function; for the library's own calls
 */
#ifndef TI_MINITRACE_CORE_NEXT_H
#define TI_MINITRACE_CORE_NEXT_H

#include <mpi.h>

#include "minitrace/dispatcher/dispatcher.h"

/* Whether the MPI library has MPI-4's functions, apart from large counts.  Open MPI 5 has them,
 * and reports version 3.1. */
#define TI_MPI4 (MPI_VERSION >= 4 || (OMPI_MAJOR_VERSION + 0 >= 5))

extern struct ti_mpi_function ti_target[] __attribute__((visibility("hidden")));
extern struct ti_mpi_backend ti_mpi_backend __attribute__((visibility("default")));

#define TI_NEXT(function) ((__typeof__(&(function)))ti_target[TI_N_##function].next)
#define TI_REAL(function) ((__typeof__(&(function)))ti_target[TI_N_##function].real)

#include "minitrace/mpi_real.h"

#ifdef MPICH_VERSION
/* Conversions that are functions.  The back end for MPICH looks them up, because it is not linked
 * with MPICH, whose library has several names (fortran.c). */
struct ti_conversions {
    __typeof__(&PMPI_Status_f2c) status_f2c;
    __typeof__(&PMPI_Status_c2f) status_c2f;
    __typeof__(&PMPI_File_f2c) file_f2c;
};
extern struct ti_conversions ti_conversions __attribute__((visibility("hidden")));
#define PMPI_Status_f2c (*ti_conversions.status_f2c)
#define PMPI_Status_c2f (*ti_conversions.status_c2f)
#define PMPI_File_f2c   (*ti_conversions.file_f2c)
#endif

#endif
