#!/bin/bash
# One-sided communication: its events, and what windows hold with and without the
# library.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

# Open MPI's component for networks that reach into memory fails on a machine that
# has none; the others can do all that is called here.
export OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma}

for np in 1 2 3 5 8; do
    mkdir "$scratch/bare-$np" "$scratch/traced-$np"
    mpirun -np $np "$TI_BUILD/tests/mpi/rma" all "$scratch/bare-$np" >"$scratch/log" 2>&1 ||
        fail "rma on $np ranks, not even untraced: $(head "$scratch/log")"
    check $np rma all "$scratch/traced-$np"
    diff -r "$scratch/bare-$np" "$scratch/traced-$np" || fail "rma: windows on $np ranks"
done

# A window that the trace cannot know.
trace "$scratch/stranger" 2 cputime "$TI_BUILD/tests/mpi/rma" stranger >"$scratch/out" 2>&1 ||
    fail "stranger: $(cat "$scratch/out")"
echo 'tiara: rank 0: recording stopped: MPI_Win_fence, after event 1: a window that no traced' \
    'call made; the application goes on, its trace is incomplete' >"$scratch/expected"
same "$scratch/expected" "$scratch/out" 'stranger: what is said'
finish
