#!/bin/bash
# Communicators: every way to make one, and messages and collectives on them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 5 8; do
    check "$np" creations
done
for np in 3 4; do
    check "$np" comms
done
check 2 late_idup
mpirun -np 3 "$TI_BUILD/tests/mpi/creations" || fail 'creations, not traced'
finish
