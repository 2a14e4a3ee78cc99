#!/bin/bash
# What comes into the way of folding: fork(), threads that take turns, and ends without
# MPI_Finalize.  Traces have the events that they have without folding; those of ranks that did not
# come to their end have the first of these, and nothing else.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

np=3 trips=1000
export TIARA_QUIET=1
# events DIR: those of each rank to DIR.RANK
events() {
    local rank
    for ((rank = 0; rank < np; rank++)); do
        dump "$1" $rank --no-volumes 2>/dev/null | grep -v '^#' >"$1.$rank"
    done
}
# run HOW [FOLD]: traced into HOW or, with FOLD 0, HOW-0
run() {
    TIARA_FOLD=${2:-1} MPIRUN="$(pass TIARA_FOLD) $(pass TIARA_QUIET)" \
        trace "$scratch/$1${2:+-$2}" $np cputime "$built/folding" "$1" $trips >"$scratch/$1.log" 2>&1
}
wrong() { fail "$*"; cat "$scratch/$1.log"; }

for how in plain fork threads; do
    run $how || wrong $how "mpirun failed"
    run $how 0 || wrong $how "mpirun failed without folding"
    events "$scratch/$how"
    events "$scratch/$how-0"
    for ((rank = 0; rank < np; rank++)); do
        same "$scratch/$how-0.$rank" "$scratch/$how.$rank" "$how: events of rank $rank"
        [ "$(wc -l <"$scratch/$how.$rank")" -eq $((2 * trips + 3)) ] || fail "$how: number of events"
    done
    "$TI_BUILD/ti-info" -q --verify "$scratch/$how" >"$scratch/out" || { fail "$how: not sound"; cat "$scratch/out"; }
done

last() { "$TI_BUILD/ti-info" --verify "$scratch/$1" | sed -n 's/^rank 1: incomplete after \([0-9]*\) events: /\1 /p'; }
for how in abort exit kill; do
    run $how && wrong $how "mpirun succeeded"
    events "$scratch/$how"
    for ((rank = 0; rank < np; rank++)); do
        head -n $((2 * trips + 1)) "$scratch/$how.$rank" >"$scratch/found"
        head -n "$(wc -l <"$scratch/found")" "$scratch/plain.$rank" >"$scratch/expected"
        [ -s "$scratch/found" ] || fail "$how: rank $rank has no events"
        same "$scratch/expected" "$scratch/found" "$how: events of rank $rank"
    done
    "$TI_BUILD/ti-info" --verify "$scratch/$how" >"$scratch/out"
    { [ $? -eq 1 ] && ! grep -q 'not sound' "$scratch/out"; } || { fail "$how: not sound"; cat "$scratch/out"; }
done
[ "$(last abort)" = "$((2 * trips + 3)) ended by MPI_Abort" ] || fail "abort: $(last abort)"
[ "$(last exit)" = "$((2 * trips + 2)) the process ended without MPI_Finalize" ] || fail "exit: $(last exit)"
finish
