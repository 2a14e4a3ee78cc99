#!/bin/bash
# A regular program and what comes into its way: fork(), threads that take turns, and ends without
# MPI_Finalize.  Traces have the events of the program; those of ranks that did not come to their
# end have the first of these, and nothing else.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

np=3 trips=1000
export TIARA_QUIET=1
# expected RANK LEVEL TRIPS: its events
expected() {
    local rank=$1 to from trip
    to=$((rank == np - 1 ? 1 - np : 1)) from=$((rank == 0 ? np - 1 : -1))
    printf 'init level=%d\n' "$2"
    for ((trip = 0; trip < $3; trip++)); do
        printf 'sendrecv comm=0 peer=%+d(%d) tag=3 bytes=4 esize=4 rpeer=%+d(%d) rtag=3 rbytes=4 resize=4\n' \
            $to $((rank + to)) $from $((rank + from))
        echo 'allreduce comm=0 bytes=8 esize=8 redop=sum'
    done
    printf '%s\n' 'barrier comm=0' finalize
}
# events DIR: those of each rank to DIR.RANK
events() {
    local rank
    for ((rank = 0; rank < np; rank++)); do
        dump "$1" $rank --no-volumes 2>/dev/null | grep -v '^#' >"$1.$rank"
    done
}
# run HOW: traced into HOW
run() {
    MPIRUN="$(pass TIARA_QUIET)" trace "$scratch/$1" $np cputime "$built/regular" "$1" $trips \
        >"$scratch/$1.log" 2>&1
}
wrong() { fail "$*"; cat "$scratch/$1.log"; }

for how in plain fork threads; do
    level=0
    [ $how = threads ] && level=2 # MPI_THREAD_SERIALIZED
    run $how || wrong $how "mpirun failed"
    events "$scratch/$how"
    for ((rank = 0; rank < np; rank++)); do
        expected $rank $level $trips >"$scratch/expected"
        same "$scratch/expected" "$scratch/$how.$rank" "$how: events of rank $rank"
    done
    "$TI_BUILD/ti-info" -q --verify "$scratch/$how" >"$scratch/out" || { fail "$how: not sound"; cat "$scratch/out"; }
done

last() { "$TI_BUILD/ti-info" --verify "$scratch/$1" | sed -n 's/^rank 1: incomplete after \([0-9]*\) events: /\1 /p'; }
for how in abort exit kill; do
    run $how && wrong $how "mpirun succeeded"
    events "$scratch/$how"
    for ((rank = 0; rank < np; rank++)); do
        head -n $((2 * trips + 1)) "$scratch/$how.$rank" >"$scratch/found"
        expected $rank 0 $trips | head -n "$(wc -l <"$scratch/found")" >"$scratch/expected"
        [ -s "$scratch/found" ] || fail "$how: rank $rank has no events"
        same "$scratch/expected" "$scratch/found" "$how: events of rank $rank"
    done
    "$TI_BUILD/ti-info" --verify "$scratch/$how" >"$scratch/out"
    { [ $? -eq 1 ] && ! grep -q 'not sound' "$scratch/out"; } || { fail "$how: not sound"; cat "$scratch/out"; }
done
[ "$(last abort)" = "$((2 * trips + 3)) ended by MPI_Abort" ] || fail "abort: $(last abort)"
[ "$(last exit)" = "$((2 * trips + 2)) the process ended without MPI_Finalize" ] || fail "exit: $(last exit)"
finish
