#!/bin/bash
# Calls on requests in an order drawn by lot, with either MPI.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

# Of the seed that failed: the step of the first event that is not as expected, or
# of the last one before the program failed.
where() {
    local line
    if [ -s "$scratch/diff" ]; then
        line=$(sed -n '1s/[^0-9].*//p' "$scratch/diff")
        echo "seed $1, first difference in $(sed -n "${line}p" "$expected/steps")"
    else
        echo "seed $1, no difference, last event in $(tail -n 1 "$expected/steps")"
    fi
}

try() { # SEED STEPS
    local before=$failures
    rm -f "$scratch/diff"
    # messages lack their partner where nothing is recorded
    GAPS=1 check 1 random "$1" "$2"
    [ "$failures" = "$before" ] || fail "$MPI: $(where "$1")"
}

some() {
    "$mpirun" -np 1 "$built/random" 1 2000 >"$scratch/log" 2>&1 ||
        fail "$MPI, untraced: $(head -n 20 "$scratch/log")"
    # few steps, where the requests are few and often all are completed; and many
    for seed in 1 2 3; do try $seed 60; done
    for seed in 4 5 6; do try $seed 5000; done
}

some
if [ "$MPI" = openmpi ] && [ -e "$TI_BUILD/libminitrace-mpich.so" ]; then
    MPI=mpich built=$TI_BUILD/tests/mpich mpirun=mpirun.mpich
    some
fi
finish
