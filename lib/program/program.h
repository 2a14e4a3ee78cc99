/*
 * The program to be traced: where it is, and whether it can be an MPI program
 * that a preloaded library reaches.  Its ELF headers are read, nothing is run.
 */
#ifndef TI_PROGRAM_PROGRAM_H
#define TI_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* A program that is linked with libmpi_abi.so, which has the standard ABI of MPI-5, is of the MPI
 * whose library is found under that name: Open MPI's needs others of Open MPI; all others are taken
 * for MPICH or its derivatives, which Hydra starts. */
enum ti_mpi_kind {
    TI_MPI_OPEN,    /* linked with Open MPI */
    TI_MPI_MPICH,   /* linked with MPICH */
    TI_MPI_OTHER,   /* linked with another MPI */
    TI_MPI_NONE,    /* no MPI library among those it names, itself or through them */
    TI_MPI_UNKNOWN, /* a script, say */
    TI_MPI_STATIC,  /* statically linked: nothing can be preloaded */
    TI_MPI_KINDS
};

/* "openmpi", "none", ... */
extern const char *const ti_mpi_kind_names[TI_MPI_KINDS];

struct ti_program {
    char *given;      /* as on the command line */
    char *path;       /* of the file; NULL: it is not here */
    const char *name; /* the file's own name, for directories and bundles */
    enum ti_mpi_kind mpi;
    char library[64];  /* the MPI library found */
    bool standard_abi; /* that library has the standard ABI */
    bool setid;        /* set-user-ID or -group-ID: the loader ignores LD_PRELOAD */
    bool is_elf;
    bool openmp; /* it is linked with an OpenMP runtime */
    bool blocks; /* it, or a library it names, was compiled with ti-mpicc */
};

/*
 * Find `given` as execvp() would, and look at it.  TI_ERR_INPUT with a hint when
 * it is not there, not executable, or cannot be traced (statically linked,
 * another MPI).  *p is released with ti_program_free() in any case.
 */
ti_status ti_program_find(const char *given, struct ti_program *p, struct ti_err *err);

/* A program that is on other machines only: sets its names, with kind TI_MPI_UNKNOWN and path NULL.
 */
ti_status ti_program_elsewhere(const char *given, struct ti_program *p, struct ti_err *err);
void ti_program_free(struct ti_program *p);

/* The version in what MPICH's "mpiexec --version" prints; false: it is not of Hydra. */
bool ti_mpich_version(const char *text, char *number, size_t bytes);

#endif
