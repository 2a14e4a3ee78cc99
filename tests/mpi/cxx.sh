#!/bin/bash
# A program in C++.  Exceptions that leave an MPI function pass through us, and the
# calls that follow are recorded.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

if [ "$MPI" = mpich ]; then
    mpicxx=${MPICXX_MPICH:-mpicxx.mpich}
else
    mpicxx=${MPICXX:-mpicxx}
fi
command -v "$mpicxx" >/dev/null || skip "there is no $mpicxx"
"$mpicxx" -O2 -o "$scratch/cxx" tests/mpi/loaded/cxx.cc 2>"$scratch/log" ||
    skip 'cannot compile C++ with MPI here'
"$mpirun" -np 2 "$scratch/cxx" 2>/dev/null | sort >"$scratch/bare"
trace "$scratch/trace" 2 cputime "$scratch/cxx" 2>"$scratch/err" | sort >"$scratch/out"
same "$scratch/bare" "$scratch/out" 'what the program says'
grep -q 'rank 1 caught 3' "$scratch/bare" || fail 'exceptions do not leave MPI here, even without us'
for rank in 0 1; do
    to=$([ $rank = 0 ] && echo '+1(1)' || echo '-1(0)')
    printf '%s\n' 'init level=0' \
        "sendrecv comm=0 peer=$to tag=1 bytes=4 esize=4 rpeer=$to rtag=1 rbytes=4 resize=4" \
        'barrier comm=0' 'barrier comm=0' finalize >"$scratch/expected"
    dump "$scratch/trace" $rank --no-volumes >"$scratch/found" 2>&1
    same "$scratch/expected" "$scratch/found" "events of rank $rank"
done
if [ "$MPI" != mpich ] && [ -e "$TI_BUILD/libminitrace-mpich.so" ]; then
    MPI=mpich bash "$0" || fail 'the same with MPICH'
fi
finish
