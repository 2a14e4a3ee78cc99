/*
 * The dispatcher, and its interface to the MPI back ends.
 *
 * libminitrace.so, the dispatcher, is the library that is preloaded.  It knows no MPI
 * library.  For every function that has a shim it exports MPI_X and PMPI_X, in C and in
 * Fortran, as a stub: a jump through a table that leaves arguments, stack and return
 * address as they are.
 *
 * The process's MPI library is found when the dispatcher is loaded or, if the program
 * loads MPI itself, at the first call of a stub.  The dispatcher then loads the back end
 * for that library, libminitrace-openmpi.so, libminitrace-mpich.so or (for the standard
 * ABI of MPI-5) libminitrace-abi.so, from its own folder, and fills the table:
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
#ifndef TI_MINITRACE_DISPATCHER_DISPATCHER_H
#define TI_MINITRACE_DISPATCHER_DISPATCHER_H

#include <stddef.h>
#include <stdint.h>

/* For large variables of which most processes write little or nothing.  The linker puts them behind
 * all others (module.mk), which then are on few pages. */
#define TI_SPARSE __attribute__((section(".bss.sparse")))

/* How a shim leaves, which is also what it returns. */
enum ti_leave_kind {
    TI_LEAVE_CALL,         /* ti_leave(): an error code, or nothing */
    TI_LEAVE_PASS_THROUGH, /* ti_leave() of a pass-through call */
    TI_LEAVE_DOUBLE,       /* ti_leave_double(): a floating-point number, as MPI_Wtime */
    TI_LEAVE_AINT,         /* ti_leave_aint(): an address, as mpi_aint_add_ */
    TI_LEAVE_KINDS
};

/* Each name has a number.  The slots of the table are those of the stubs for calibration, one for
 * each way to leave; then MPI_X and PMPI_X of the first name, of the second, and so on. */
enum ti_name {
#define NAME(mpi, pmpi) TI_N_##mpi,
#include "minitrace/mpi_names.inc"
#undef NAME
    TI_NAMES
};

/* The MPI functions behind a name, which the dispatcher fills in; NULL until the name is found. */
struct ti_mpi_function {
    void *next; /* where the shim forwards to */
    void *real; /* MPI's own function, for calls of our own */
};

/* The interface that an MPI back end exports, under the name ti_mpi_backend. */
struct ti_mpi_backend {
    /* version and TI_NAMES of the build; must equal the dispatcher's */
    const char *version;
    size_t names;

    /* the shims by number of the name, as distances from `shim`, which need no relocation; for a
     * function that the MPI library lacks, the distance of `no_shim`.  And shims of no MPI
     * function, for calibration, by way to leave. */
    const int32_t *shim;
    const void *no_shim;
    void (*const *calibration_shim)(void);

    struct ti_mpi_function *target; /* by number of the name */

    /* filled in by the dispatcher: stubs of the calibration shims; and a handle of the MPI library
     * for dlsym() */
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
