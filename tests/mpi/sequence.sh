#!/bin/bash
# The same calls in C, with mpif.h, `use mpi` and `use mpi_f08`: the same events.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

next=('+1(1)' '+1(2)' '-2(0)')
prev=('+2(2)' '-1(0)' '-1(1)')
for rank in 0 1 2; do
    sed -n -e "/^[0-9]*${rank}[0-9]* /!d" -e 's/^[0-9]* *//' -e "s/NEXT/${next[rank]}/" \
        -e "s/PREV/${prev[rank]}/g" -e "s/FROM/${prev[rank]%(*}/g" -e p tests/mpi/sequence.expected \
        >"$scratch/expected-$rank"
done
all=(sequence)
if [ -x "$built/sequence_f08" ]; then
    all+=(sequence_mpifh sequence_usempi sequence_f08)
fi
for program in "${all[@]}"; do
    # mpi_f08 of MPICH 4.0.2 counts completions from 0
    if [ "$MPI" = mpich ] && ! "$mpirun" -np 3 "$built/$program" >/dev/null 2>&1; then
        echo "$program: MPICH fails without us"
        continue
    fi
    trace "$scratch/$program" 3 cputime "$built/$program" >"$scratch/log" 2>&1 ||
        fail "$program: $(cat "$scratch/log")"
    for rank in 0 1 2; do
        dump "$scratch/$program" $rank --no-volumes >"$scratch/found" 2>&1
        same "$scratch/expected-$rank" "$scratch/found" "$program: events of rank $rank"
    done
done
if [ ${#all[@]} = 1 ] && [ "$failures" -eq 0 ]; then
    skip 'no MPI for Fortran here: only C was looked at'
fi
finish
