#!/bin/bash
# The same application with the same input gives the same trace, byte for byte,
# however it was run: with all processors there are, on one of them, and again.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
np=8

run() { # COUNTER FOLDER LAUNCHER PROGRAM ARGUMENT...
    local counter=$1 into=$2 with=$3
    shift 3
    LAUNCH=$with trace "$scratch/$into" $np "$counter" "$@" >"$scratch/log" 2>&1 ||
        fail "$into: $(cat "$scratch/log")"
    "$TI_BUILD/ti-info" -q --verify "$scratch/$into" || fail "$into: not sound"
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/$into" $rank >"$scratch/$into-$rank" || fail "$into: no trace of rank $rank"
        [ "$(wc -l <"$scratch/$into-$rank")" -gt 20 ] || fail "$into: next to no events"
        same "$scratch/${into%%-*}-first-$rank" "$scratch/$into-$rank" "$into, rank $rank"
    done
}

cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
programs=('valgrind examples/lu S 5' 'valgrind examples/stencil 64 20')
[ ! -x "$TI_BUILD/blocks/lu" ] || programs+=('blocks blocks/multigrid 16 3' 'blocks blocks/amr 8 30')
for program in "${programs[@]}"; do
    read -r counter program <<<"$program"
    name=$(basename "${program%% *}")
    # shellcheck disable=SC2086  # words are meant
    for how in first: second: "pinned:taskset -c $cpu"; do
        run "$counter" "$name-${how%%:*}" "${how#*:}" "$TI_BUILD/"$program
    done
done
finish
