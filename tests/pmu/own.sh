#!/bin/bash
# An application that counts instructions with PAPI itself, from before MPI_Init or
# from after it: the processor has counters for both.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
own=$TI_BUILD/tests/pmu/own length=1000000

for when in before after; do
    "$mpirun" -np 2 "$own" $when >"$scratch/log" 2>&1 || fail "alone: $(cat "$scratch/log")"
    [ "$(sort -u "$scratch/log")" = 'own: counted' ] || fail "alone: $(cat "$scratch/log")"
    trace "$scratch/$when" 2 auto "$own" $when >"$scratch/log" 2>&1 ||
        fail "$when: $(cat "$scratch/log")"
    [ "$(sort -u "$scratch/log")" = 'own: counted' ] || fail "$when: $(cat "$scratch/log")"
    for rank in 0 1; do
        dump "$scratch/$when" $rank >"$scratch/events" 2>"$scratch/end" ||
            fail "$when: $(cat "$scratch/end")"
        volume=$(sed -n 3p "$scratch/events" | cut -d' ' -f1)
        ((volume >= length && volume <= length + 2000)) || fail "$when: $(cat "$scratch/events")"
    done
    figure "PAPI by the application too, $when MPI_Init: a burst of $length is $volume"
done
finish
