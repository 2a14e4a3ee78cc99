/*
 * An MPI library that refuses: to be preloaded behind us (residuals.sh).  Every
 * function returns an error, and writes it to the address that all arguments of
 * residuals.c are, so that a Fortran call finds it in ierror.  What residuals.c needs MPI
 * for is left to MPI.
 */
#include <dlfcn.h>

__asm__(".text\n"
        ".macro refuse name\n"
        ".ifnc \\name, MPI_Init\n"
        ".ifnc \\name, MPI_Barrier\n"
        ".ifnc \\name, MPI_Finalize\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name:\n"
        "movabsq $0x100000000, %rcx\n"
        "movl $15, %eax\n" /* MPI_ERR_OTHER */
        "movl %eax, (%rcx)\n"
        "ret\n"
        ".size \\name, . - \\name\n"
        ".endif\n"
        ".endif\n"
        ".endif\n"
        ".endm\n"
#define NAME(mpi, pmpi) "refuse " #mpi "\n"
#include "minitrace/mpi_names.inc"
#undef NAME
);

/* The function of this name in the real MPI library. */
void *refused(const char *name);
void *refused(const char *name)
{
    void *volatile found = dlsym(RTLD_NEXT, name); /* no jump: the caller counts */

    return found;
}
