/*
 * The MPI back end's list of shims, by number of the name (dispatcher.h).  A function that its MPI
 * library lacks has a 0.
 */
        .section .data.rel.ro, "aw", %progbits
        .p2align 3
        .globl  ti_mpi_backend_shims
        .hidden ti_mpi_backend_shims
        .type   ti_mpi_backend_shims, %object
ti_mpi_backend_shims:
#define NAME(mpi, pmpi)                                                                            \
        .weak   mpi;                                                                               \
        .hidden mpi;                                                                               \
        .quad   mpi;
#include "minitrace/mpi_names.inc"
        .size   ti_mpi_backend_shims, . - ti_mpi_backend_shims

        .section .note.GNU-stack, "", %progbits
