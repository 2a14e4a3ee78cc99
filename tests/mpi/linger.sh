#!/bin/bash
# TIARA_LINGER: ranks stay when they are through MPI_Finalize, once, in every binding.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
now() { date +%s%N; }

# stays NAME PROGRAM: for 1 s after its traces are complete, at least
stays() {
    local written
    TIARA_LINGER=1 MPIRUN="$(pass TIARA_LINGER)" trace "$scratch/$1" 2 cputime "$2" 1 10 \
        >"$scratch/log" 2>&1 || { fail "$1"; cat "$scratch/log"; return; }
    written=$(find "$scratch/$1" -name 'rank-*.ti' -printf '%T@\n' | sort -n | tail -n 1)
    awk "BEGIN { exit !($(now) / 1e9 - $written >= 1) }" || fail "$1 did not stay"
    "$TI_BUILD/ti-info" -q --verify "$scratch/$1" || fail "$1: --verify"
}

for program in "$examples/ring" "$examples/ring_mpifh" "$examples/ring_f08"; do
    [ ! -x "$program" ] || stays "$(basename "$program")" "$program"
done
mpich=$TI_BUILD/tests/mpich/ring
if [ "$MPI" = openmpi ] && command -v mpirun.mpich >/dev/null && [ -x "$mpich" ]; then
    MPI=mpich mpirun=mpirun.mpich stays mpich "$mpich"
fi

# Not a number of seconds: nothing is recorded, and the application runs.
for value in soon 61 -1 2s; do
    TIARA_LINGER=$value MPIRUN="$(pass TIARA_LINGER)" trace "$scratch/not" 2 cputime \
        "$examples/ring" 1 10 >"$scratch/log" 2>&1 || { fail "$value ends the application"; cat "$scratch/log"; }
    grep -q "nothing is recorded: TIARA_LINGER '$value' is no number of seconds from 0 to 60" \
        "$scratch/log" || { fail "$value is not said to be wrong"; cat "$scratch/log"; }
    [ ! -e "$scratch/not" ] || fail "$value is recorded"
done
finish
