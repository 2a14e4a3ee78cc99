#!/bin/bash
# Messages that are probed, and matched so; requests that are cancelled.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 5 8; do
    check "$np" matched
    check "$np" cancel
done
finish
