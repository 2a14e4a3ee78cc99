#!/bin/bash
# Messages on an intercommunicator.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 2 3 5 8; do
    check "$np" interp2p
done
mpirun -np 3 "$TI_BUILD/tests/mpi/interp2p" || fail 'interp2p, not traced'
finish
