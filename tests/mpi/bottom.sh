#!/bin/bash
# MPI_BOTTOM in every binding.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

for np in 2 3 5 8; do
    check $np bottom
    for form in mpifh usempi f08; do
        [ -x "$built/bottom_$form" ] && check_like $np bottom_$form
    done
done
[ -x "$built/bottom_f08" ] || echo 'no MPI for Fortran here: only C was looked at'
finish
