#!/bin/bash
# Requests of every kind; completions that return errors.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 5 8; do
    check "$np" persistent
    check "$np" completions
    # a message that is too long does not fit its receive
    GAPS=1 check "$np" completions errors
done
finish
