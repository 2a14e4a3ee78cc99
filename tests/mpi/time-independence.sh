#!/bin/bash
# The same application with the same input gives the same trace, byte for byte,
# however it was run: with all processors there are, on one of them, and again.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
np=8

run() { # FOLDER LAUNCHER PROGRAM ARGUMENT...
    local into=$1 with=$2
    shift 2
    LAUNCH=$with trace "$scratch/$into" $np valgrind "$@" >"$scratch/log" 2>&1 ||
        fail "$into: $(cat "$scratch/log")"
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/$into" $rank >"$scratch/$into-$rank" || fail "$into: no trace of rank $rank"
        [ "$(wc -l <"$scratch/$into-$rank")" -gt 20 ] || fail "$into: next to no events"
        same "$scratch/${into%%-*}-first-$rank" "$scratch/$into-$rank" "$into, rank $rank"
    done
}

cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
for program in 'lu S 5' 'stencil 64 20'; do
    name=${program%% *}
    # shellcheck disable=SC2086  # words are meant
    for how in first: second: "pinned:taskset -c $cpu"; do
        run "$name-${how%%:*}" "${how#*:}" "$TI_BUILD/examples/"$program
    done
done
finish
