/* The interface of an MPI back end for the dispatcher. */
#include "minitrace/core/state.h"

#ifndef TI_VERSION
#define TI_VERSION "0.1.0"
#endif

TI_SPARSE struct ti_mpi_function ti_target[TI_NAMES];

/* mpi_backend_shims.S */
extern const int32_t ti_mpi_backend_shims[TI_NAMES] __attribute__((visibility("hidden")));
extern const char ti_mpi_backend_no_shim[] __attribute__((visibility("hidden")));

struct ti_mpi_backend ti_mpi_backend = {
    .version = TI_VERSION,
    .names = TI_NAMES,
    .shim = ti_mpi_backend_shims,
    .no_shim = ti_mpi_backend_no_shim,
    .calibration_shim = ti_calibration_shims,
    .target = ti_target,
    .begin = ti_fortran_begin,
};
