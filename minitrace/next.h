/*
 * The two ways from a flavour to MPI, both filled in by the front (front.h):
 *
 *     TI_NEXT(MPI_X)   where the application's call goes on to; for shims only
 *     PMPI_X           the MPI library's own function; for what we call ourselves
 */
#ifndef TI_NEXT_H
#define TI_NEXT_H

#include "minitrace/front.h"

extern void *ti_next[] __attribute__((visibility("hidden")));
extern void *ti_real[] __attribute__((visibility("hidden")));
extern struct ti_flavour ti_flavour __attribute__((visibility("default")));

#define TI_NEXT(function) ((__typeof__(&(function)))ti_next[TI_N_##function])
#define TI_REAL(function) ((__typeof__(&(function)))ti_real[TI_N_##function])

#include "minitrace/mpi_real.h"

#endif
