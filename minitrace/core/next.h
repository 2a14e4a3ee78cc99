/*
 * The two ways from a back end to MPI, both filled in by the dispatcher (dispatcher.h):
 *
 *     TI_NEXT(MPI_X)   where the application's call continues; for shims only
 *     PMPI_X           the MPI library's own function; for the library's own calls
 */
#ifndef TI_MINITRACE_CORE_NEXT_H
#define TI_MINITRACE_CORE_NEXT_H

#include <mpi.h>
#include <string.h>

#include "minitrace/dispatcher/dispatcher.h"
#include "minitrace/mpi_has.h" /* TI_HAS_MPI_X: mpi.h declares MPI_X */

/* Functions that MPI-4.1 deprecates are all that older libraries have, and applications call them.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern struct ti_mpi_function ti_target[] __attribute__((visibility("hidden")));
extern struct ti_mpi_backend ti_mpi_backend __attribute__((visibility("default")));

#define TI_NEXT(function) ((__typeof__(&(function)))ti_target[TI_N_##function].next)
#define TI_REAL(function) ((__typeof__(&(function)))ti_target[TI_N_##function].real)

#include "minitrace/mpi_real.h"

/*
 * Conversions of handles and statuses from Fortran to C.  Open MPI has functions.  MPICH's handles
 * are equal in both languages, whatever its mpi.h has for them; only its statuses and files are
 * converted by functions.  The standard ABI numbers handles (MPI-5, 20.3.5), and its statuses are
 * equal in both languages.
 *
 * The back ends for MPICH and for the standard ABI are not linked with an MPI library, because
 * several libraries have their ABI.  They look up the functions of TI_LOOKED_UP (fortran.c).
 */
#ifndef OPEN_MPI
#undef PMPI_Status_f2c
#undef PMPI_Status_c2f
#undef PMPI_File_f2c
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

#define TI_LOOKED_UP(X)          X(Status_f2c) X(Status_c2f) X(File_f2c)
#define PMPI_Status_f2c          (*ti_looked_up.Status_f2c)
#define PMPI_Status_c2f          (*ti_looked_up.Status_c2f)
#define PMPI_File_f2c            (*ti_looked_up.File_f2c)
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

#define TI_STANDARD_ABI 1
#define TI_LOOKED_UP(X)                                                                            \
    X(Comm_fromint)                                                                                \
    X(Comm_toint) X(File_fromint) X(Group_fromint) X(Info_fromint) X(Message_fromint)              \
        X(Op_fromint) X(Request_fromint) X(Type_fromint) X(Win_fromint)
#define MPI_Fint                  int /* its mpi.h may lack it */
#define PMPI_Status_f2c(from, to) memcpy((to), (from), sizeof(MPI_Status))
#define PMPI_Status_c2f(from, to) memcpy((to), (from), sizeof(MPI_Status))
#define PMPI_File_f2c             (*ti_looked_up.File_fromint)
#define PMPI_Comm_f2c             (*ti_looked_up.Comm_fromint)
#define PMPI_Comm_c2f             (*ti_looked_up.Comm_toint)
#define PMPI_Type_f2c             (*ti_looked_up.Type_fromint)
#define PMPI_Group_f2c            (*ti_looked_up.Group_fromint)
#define PMPI_Info_f2c             (*ti_looked_up.Info_fromint)
#define PMPI_Message_f2c          (*ti_looked_up.Message_fromint)
#define PMPI_Op_f2c               (*ti_looked_up.Op_fromint)
#define PMPI_Request_f2c          (*ti_looked_up.Request_fromint)
#define PMPI_Win_f2c              (*ti_looked_up.Win_fromint)

#endif

struct ti_looked_up {
#define MEMBER(name) __typeof__(&MPI_##name) name;
    TI_LOOKED_UP(MEMBER)
#undef MEMBER
};
extern struct ti_looked_up ti_looked_up __attribute__((visibility("hidden")));
#endif

#endif
