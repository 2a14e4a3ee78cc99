/*
 * The dispatcher, and its interface to the MPI back ends.
 *
 * libminitrace.so, the dispatcher, is the library that is preloaded.  It knows no MPI
 * library.  For every function that has a shim it exports MPI_X and PMPI_X, in C and in
 * Fortran, as a stub: a jump through a table that leaves registers, stack and return
 * address as they are.
 *
 * The process's MPI library is found when the dispatcher is loaded or, if the program
 * loads MPI itself, at the first call of a stub.  The dispatcher then loads the back end
 * for that library, libminitrace-openmpi.so or libminitrace-mpich.so, from its own
 * folder, and fills the table:
 *
 *     MPI_X   -> the back end's shim, which forwards to the next definition of MPI_X
 *                behind the dispatcher: of a tool preloaded after it, or MPI's own
 *     PMPI_X  -> MPI's own function
 *
 * A tool in front of the dispatcher (in the program, or preloaded before it) may define
 * MPI_X.  Calls of MPI_X then never reach the stub, but the tool's calls of PMPI_X do:
 *
 *     PMPI_X  -> the back end's shim, which forwards to MPI's own function
 *
 * With TIARA_MODE=whole, only Init, Finalize and Abort have shims.  All other stubs
 * lead where the call would go without the library.
 *
 * If a function must be called to read the counter, a slot leads not to the shim itself
 * but to the stub's second half, which reads the counter first: see read_before_shims.
 *
 * If nothing can be traced (an unknown MPI library, two of them, no back end), every
 * stub leads where the call would go without the library.
 */
#ifndef TI_DISPATCHER_H
#define TI_DISPATCHER_H

#include <stddef.h>

/* How a shim leaves, which is also what it returns. */
enum ti_leave_kind {
    TI_LEAVE_CALL,         /* ti_leave(): an error code, or nothing */
    TI_LEAVE_PASS_THROUGH, /* ti_leave() of a pass-through call */
    TI_LEAVE_DOUBLE,       /* ti_leave_double(): a floating-point number, as MPI_Wtime */
    TI_LEAVE_AINT,         /* ti_leave_aint(): an address, as mpi_aint_add_ */
    TI_LEAVE_KINDS
};

/* Each name has a number.  The slots of the table are MPI_X and PMPI_X of the first name, of the
 * second, and so on; then the stubs for calibration, one for each way to leave. */
enum ti_name {
#define NAME(mpi, pmpi) TI_N_##mpi,
#include "minitrace/mpi_names.inc"
#undef NAME
    TI_NAMES
};

/* The interface that an MPI back end exports, under the name ti_mpi_backend. */
struct ti_mpi_backend {
    /* version and TI_NAMES of the build; must equal the dispatcher's */
    const char *version;
    size_t names;

    /* the shims, NULL for functions that the MPI library lacks; and shims of no MPI function, for
     * calibration, by way to leave */
    void *const *shim;
    void (*const *calibration_shim)(void);

    /* filled in by the dispatcher: where each shim forwards to; MPI's own functions, for calls of
     * our own; stubs of the calibration shims; and a handle of the MPI library for dlsym() */
    void **next;
    void **real;
    void (*calibration_stub[TI_LEAVE_KINDS])(void);
    void *mpi;

    /* filled in by the dispatcher: call it to have `read` called before each shim from now on.
     * The number of instructions from the application's call to `read` is the same for all
     * shims. */
    void (*read_before_shims)(void (*read)(void));

    /* called by the dispatcher before any shim */
    void (*begin)(void);
};

#endif
