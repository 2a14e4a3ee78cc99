#!/bin/bash
# Communicators, and messages and collectives on them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 3 4; do
    check "$np" comms
done
finish
