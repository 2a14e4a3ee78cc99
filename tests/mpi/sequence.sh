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
programs=(sequence)
if [ -x "$TI_BUILD/tests/mpi/sequence_f08" ]; then
    programs+=(sequence_mpifh sequence_usempi sequence_f08)
fi
for program in "${programs[@]}"; do
    trace "$scratch/$program" 3 cputime "$TI_BUILD/tests/mpi/$program" >"$scratch/log" 2>&1 ||
        fail "$program: $(cat "$scratch/log")"
    for rank in 0 1 2; do
        dump "$scratch/$program" $rank --no-volumes >"$scratch/found" 2>&1
        same "$scratch/expected-$rank" "$scratch/found" "$program: events of rank $rank"
    done
done
if [ ${#programs[@]} = 1 ] && [ "$failures" -eq 0 ]; then
    skip 'no MPI for Fortran here: only C was looked at'
fi
finish
