#!/bin/bash
# Faces of parts in three dimensions, with rests of cells along each axis: products that no class of
# ranks has enough of, so that all classes together give them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = mpich ] && skip 'programs are compiled with the compiler wrapper of Open MPI'
[ -x "$TI_BUILD/blocks/lu" ] || skip 'no counter that is exact and fast: ti-mpicc was not built'
export TIARA_QUIET=1
MPIRUN="--oversubscribe $(pass TIARA_QUIET)"
"$TI_BUILD/ti-mpicc" -O2 -o "$scratch/faces" tests/mpi/faces.c >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 1; }
cd "$scratch" || exit 1

for np in 8 12 18 27 64; do
    trace "run.$np" "$np" blocks "$scratch/faces" 33 26 40 >log 2>&1 ||
        fail "faces on $np ranks: $(head -n 5 log)"
done
"$TI_BUILD/ti-extrapolate" run.8 run.12 run.18 run.27 --np 64 --explain -o made >log 2>&1 ||
    fail "faces: $(tail -n 3 log)"
# a run of 27 has ranks without a rim, and none of the others has: they cannot make it
grep -q '^ti-extrapolate: warning: unproven: without the largest input' log || fail "faces: $(cat log)"
grep -q ' \* block(26, py, y) \* block(33, pz, z)' log || fail "faces, products: $(cat log)"
"$TI_BUILD/ti-info" --compare run.64 --no-volumes made >log 2>&1 || fail "faces: $(cat log)"
grep -q '^equal: 64 ranks' log || fail "faces: $(cat log)"
echo "# $(grep ^equal log)"
"$TI_BUILD/ti-info" --verify made >log 2>&1 || fail "faces: $(cat log)"
finish
