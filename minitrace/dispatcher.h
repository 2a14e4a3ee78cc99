/*
 * The library that is preloaded, and the mpi_backends behind it.
 *
 * libminitrace.so, the front, knows no MPI library.  It stands in for every
 * function that has a shim, MPI_X and its profiling twin PMPI_X alike, in C and
 * in Fortran, with a stub: a jump through a table, which leaves registers, stack
 * and return address as they are.  What MPI library the process has shows when the
 * front is loaded, or, if the program loads MPI itself, at the first call.  The
 * front then loads the flavour made for that library, libminitrace-openmpi.so or
 * libminitrace-mpich.so, which lies beside it, and fills the table:
 *
 *     MPI_X   -> the flavour's shim, which goes on to the definition of MPI_X that
 *                comes after the front: a tool's preloaded behind us, or MPI's own
 *     PMPI_X  -> MPI's own
 *
 * except where a tool in front of us (in the program itself, or preloaded before
 * us) has taken MPI_X, which therefore never comes here; but its call of PMPI_X
 * does:
 *
 *     PMPI_X  -> the flavour's shim, which goes on to MPI's own
 *
 * With TIARA_MODE=whole only what begins and ends MPI has shims, and each other stub
 * leads to what the caller would have called without us.
 *
 * A stub whose slot leads to a shim may go there by way of its second half, which
 * first reads the counter: see read_first below.
 *
 * Where there is nothing to trace with (another MPI library, two of them, no
 * flavour for it), so does every stub.
 */
#ifndef TI_DISPATCHER_H
#define TI_DISPATCHER_H

#include <stddef.h>

/* The ways in which a shim ends. */
enum ti_leave_kind {
    TI_LEAVE_CALL,         /* with an error code, or nothing */
    TI_LEAVE_PASS_THROUGH, /* the same, of a call that is no event */
    TI_LEAVE_DOUBLE,       /* with a floating-point number, as MPI_Wtime's */
    TI_LEAVE_AINT,         /* with an address, as mpi_aint_add_'s */
    TI_LEAVE_KINDS
};

/* The names have numbers.  The slots of the table are: MPI_X, PMPI_X of the first
 * name, of the second, ...; at last those with which a flavour calibrates, by way. */
enum ti_name {
#define NAME(mpi, pmpi) TI_N_##mpi,
#include "minitrace/mpi_names.inc"
#undef NAME
    TI_NAMES
};

/* What a flavour exports, under the name ti_mpi_backend. */
struct ti_mpi_backend {
    /* its own; both must be the front's */
    const char *version;
    size_t names;

    /* its shims, NULL for names it has none of; and those of no MPI function, by way */
    void *const *shim;
    void (*const *calibration_shim)(void);

    /* filled in by the front: where each shim goes on to, MPI's own function (what
     * we call ourselves), stubs that lead to `nothing`, and a handle of the MPI
     * library for dlsym() */
    void **next;
    void **real;
    void (*calibration_stub[TI_LEAVE_KINDS])(void);
    void *mpi;

    /* and for counters that a function reads: to have `read` called from now on before
     * each shim, at the same distance from the application's call for all of them,
     * whatever a shim does before it would get there */
    void (*read_before_shims)(void (*read)(void));

    /* to be called then, before any shim */
    void (*begin)(void);
};

#endif
