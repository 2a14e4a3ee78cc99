/*
 * A flavour's list of its shims, by the numbers of their names (dispatcher.h); 0 for
 * what it has none of, since its MPI library does not have it.
 */
        .section .data.rel.ro, "aw", %progbits
        .p2align 3
        .globl  ti_flavour_shims
        .hidden ti_flavour_shims
        .type   ti_flavour_shims, %object
ti_flavour_shims:
#define NAME(mpi, pmpi)                                                                            \
        .weak   mpi;                                                                               \
        .hidden mpi;                                                                               \
        .quad   mpi;
#include "minitrace/mpi_names.inc"
        .size   ti_flavour_shims, . - ti_flavour_shims

        .section .note.GNU-stack, "", %progbits
