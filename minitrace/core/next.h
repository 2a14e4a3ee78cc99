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
#include "minitrace/mpi_has.h" /* TI_HAS_MPI_X: mpi.h declares MPI_X */

extern struct ti_mpi_function ti_target[] __attribute__((visibility("hidden")));
extern struct ti_mpi_backend ti_mpi_backend __attribute__((visibility("default")));

#define TI_NEXT(function) ((__typeof__(&(function)))ti_target[TI_N_##function].next)
#define TI_REAL(function) ((__typeof__(&(function)))ti_target[TI_N_##function].real)

#include "minitrace/mpi_real.h"

/*
 * Conversions of handles and statuses between Fortran and C.  Open MPI has functions, and so has the
 * standard ABI.  MPICH's handles are equal in both languages, whatever its mpi.h has for them; only
 * its statuses and files are converted by functions.
 *
 * The back ends for MPICH and for the standard ABI are not linked with an MPI library, because
 * several libraries have their ABI.  They look functions up (fortran.c).
 */
#ifdef MPICH_VERSION
#define TI_CONVERSIONS(X) X(Status_f2c) X(Status_c2f) X(File_f2c)
#elif !defined OPEN_MPI
#define TI_CONVERSIONS(X)                                                                          \
    X(Status_f2c)                                                                                  \
    X(Status_c2f)                                                                                  \
    X(File_f2c)                                                                                    \
    X(Comm_f2c)                                                                                    \
    X(Comm_c2f) X(Type_f2c) X(Group_f2c) X(Info_f2c) X(Message_f2c) X(Op_f2c) X(Request_f2c) X(Win_f2c)
#endif

#ifdef TI_CONVERSIONS
struct ti_conversions {
#define MEMBER(name) __typeof__(&PMPI_##name) name;
    TI_CONVERSIONS(MEMBER)
#undef MEMBER
};
extern struct ti_conversions ti_conversions __attribute__((visibility("hidden")));
#undef PMPI_Status_f2c
#undef PMPI_Status_c2f
#undef PMPI_File_f2c
#define PMPI_Status_f2c (*ti_conversions.Status_f2c)
#define PMPI_Status_c2f (*ti_conversions.Status_c2f)
#define PMPI_File_f2c   (*ti_conversions.File_f2c)
#undef PMPI_Comm_f2c
#undef PMPI_Comm_c2f
#undef PMPI_Type_f2c
#undef PMPI_Group_f2c
#undef PMPI_Info_f2c
#undef PMPI_Message_f2c
#undef PMPI_Op_f2c
#undef PMPI_Request_f2c
#undef PMPI_Win_f2c
#ifdef MPICH_VERSION
#define PMPI_Comm_f2c(handle)    ((MPI_Comm)(handle))
#define PMPI_Comm_c2f(handle)    ((MPI_Fint)(handle))
#define PMPI_Type_f2c(handle)    ((MPI_Datatype)(handle))
#define PMPI_Group_f2c(handle)   ((MPI_Group)(handle))
#define PMPI_Info_f2c(handle)    ((MPI_Info)(handle))
#define PMPI_Message_f2c(handle) ((MPI_Message)(handle))
#define PMPI_Op_f2c(handle)      ((MPI_Op)(handle))
#define PMPI_Request_f2c(handle) ((MPI_Request)(handle))
#define PMPI_Win_f2c(handle)     ((MPI_Win)(handle))
#else
#define PMPI_Comm_f2c    (*ti_conversions.Comm_f2c)
#define PMPI_Comm_c2f    (*ti_conversions.Comm_c2f)
#define PMPI_Type_f2c    (*ti_conversions.Type_f2c)
#define PMPI_Group_f2c   (*ti_conversions.Group_f2c)
#define PMPI_Info_f2c    (*ti_conversions.Info_f2c)
#define PMPI_Message_f2c (*ti_conversions.Message_f2c)
#define PMPI_Op_f2c      (*ti_conversions.Op_f2c)
#define PMPI_Request_f2c (*ti_conversions.Request_f2c)
#define PMPI_Win_f2c     (*ti_conversions.Win_f2c)
#endif
#endif

#endif
