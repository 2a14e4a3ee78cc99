#!/bin/bash
# MPI_Pcontrol; calls that are not traced; calls that fail.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
GAPS=1 check 2 pcontrol
check 2 untraced

# Untraced calls are counted by name in the trace's metadata and said at its end.
trace "$scratch/trace" 2 cputime "$TI_BUILD/tests/mpi/untraced" >"$scratch/out" 2>"$scratch/err" ||
    fail "untraced: $(cat "$scratch/err")"
echo 'tiara: rank 0: not traced: MPI_Open_port 4, MPI_Close_port 3 (calls of this rank)' \
    >"$scratch/expected"
same "$scratch/expected" "$scratch/err" 'untraced: what is said'
same /dev/null "$scratch/out" 'untraced: standard output'
sed -e 's/.*not traced: //' -e 's/ (calls.*//' "$scratch/expected" >"$scratch/counts"
for rank in 0 1; do
    "$TI_BUILD/ti-info" --rank $rank "$scratch/trace" | grep -F -q -f "$scratch/counts" ||
        fail "untraced: the metadata of rank $rank"
done

# Events of calls that succeed between calls that fail.  (What the application is
# told is looked at in harmless.sh.)
mkdir "$scratch/expect"
TIARA_EXPECT=$scratch/expect MPIRUN='-x TIARA_EXPECT' trace "$scratch/errors" 2 cputime \
    "$TI_BUILD/tests/mpi/errors" >"$scratch/out" 2>"$scratch/err" || fail 'errors: status'
for rank in 0 1; do
    dump "$scratch/errors" $rank --no-volumes >"$scratch/found"
    same "$scratch/expect/rank-$rank" "$scratch/found" "errors: events of rank $rank"
done
finish
