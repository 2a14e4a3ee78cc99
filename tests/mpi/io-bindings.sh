#!/bin/bash
# One sequence of accesses to a file in every binding.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -x "$TI_BUILD/tests/mpi/io_f08" ] || skip 'no MPI for Fortran here'

mkdir "$scratch/files"
for np in 1 2 3 5 8; do
    check $np io sequence "$scratch/files"
    for binding in mpifh usempi f08; do
        check_like $np io_$binding "$scratch/files"
    done
done
[ -z "$(ls "$scratch/files")" ] || fail 'files were left'
finish
