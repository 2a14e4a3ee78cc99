/*
 * The MPI back end's list of shims, by number of the name (dispatcher.h): the distance of each
 * from the list.  A function that its MPI library lacks has no shim.  Its name is defined here,
 * and is that of the byte ti_mpi_backend_no_shim, in a section of its own: assemblers would
 * compute distances within one section before the linker sees the shims.
 */
        .section .rodata.no_shim, "a", %progbits
        .globl  ti_mpi_backend_no_shim
        .hidden ti_mpi_backend_no_shim
#define NAME(mpi, pmpi)                                                                            \
        .weak   mpi;                                                                               \
        .hidden mpi;                                                                               \
mpi:
#include "minitrace/mpi_names.inc"
#undef NAME
ti_mpi_backend_no_shim:
        .byte   0

        .section .rodata, "a", %progbits
        .p2align 2
        .globl  ti_mpi_backend_shims
        .hidden ti_mpi_backend_shims
        .type   ti_mpi_backend_shims, %object
ti_mpi_backend_shims:
#define NAME(mpi, pmpi) .long mpi - ti_mpi_backend_shims;
#include "minitrace/mpi_names.inc"
        .size   ti_mpi_backend_shims, . - ti_mpi_backend_shims

        .section .note.GNU-stack, "", %progbits
