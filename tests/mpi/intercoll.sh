#!/bin/bash
# Collectives on an intercommunicator, each against the event it must leave.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 2 3 5 8; do
    check "$np" intercoll
done
finish
