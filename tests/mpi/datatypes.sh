#!/bin/bash
# Volumes of datatypes.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 5 8; do
    check "$np" datatypes
done
mpirun -np 2 "$TI_BUILD/tests/mpi/datatypes" || fail 'datatypes, not traced'
finish
