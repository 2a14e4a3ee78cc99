#!/bin/bash
# Requests, cancelling and probes in C, with mpif.h, `use mpi` and `use mpi_f08`:
# the same events.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -x "$TI_BUILD/tests/mpi/reqseq_f08" ] || skip 'no MPI for Fortran here'
for np in 1 3 8; do
    check $np reqseq
    for binding in mpifh usempi f08; do
        check_like $np reqseq_$binding
    done
done
for binding in mpifh usempi f08; do
    mpirun -np 3 "$TI_BUILD/tests/mpi/reqseq_$binding" || fail "$binding, not traced"
done
finish
