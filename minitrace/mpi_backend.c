/* The interface of an MPI back end for the dispatcher. */
#include "minitrace/core/state.h"

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

void *ti_next[TI_NAMES];
void *ti_real[TI_NAMES];

/* mpi_backend_shims.S */
extern void *const ti_mpi_backend_shims[TI_NAMES] __attribute__((visibility("hidden")));

struct ti_mpi_backend ti_mpi_backend = {
    .version = TI_VERSION,
    .names = TI_NAMES,
    .shim = ti_mpi_backend_shims,
    .calibration_shim = ti_calibration_shims,
    .next = ti_next,
    .real = ti_real,
    .begin = ti_fortran_begin,
};
