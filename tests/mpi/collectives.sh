#!/bin/bash
# Collectives, each against the event it must leave.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 5 8; do
    check "$np" collectives
    check "$np" icollectives
done
finish
