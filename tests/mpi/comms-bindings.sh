#!/bin/bash
# Every way to make a communicator, in every binding.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -x "$TI_BUILD/tests/mpi/creations_f08" ] || skip 'no MPI for Fortran here'
for np in 1 2 3 5 8; do
    check $np creations sequence
    for binding in mpifh usempi f08; do
        check_like $np creations_$binding
    done
done
for binding in mpifh usempi f08; do
    mpirun -np 3 "$TI_BUILD/tests/mpi/creations_$binding" || fail "$binding, not traced"
done
finish
