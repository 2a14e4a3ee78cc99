#!/bin/bash
# Blocking sends and receives, and their completions by request.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
for np in 1 2 3 4 5; do
    check "$np" p2p
    check "$np" requests
done
finish
