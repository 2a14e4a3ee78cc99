#!/bin/bash
# Collectives in C, with mpif.h, `use mpi` and `use mpi_f08`: the same events.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
programs=()
if [ -x "$TI_BUILD/tests/mpi/collseq_f08" ]; then
    programs=(collseq_mpifh collseq_usempi collseq_f08)
fi
for np in 1 2 3 5 8; do
    check "$np" collseq
    case $np in 2 | 5) continue ;; esac # to be brief
    for program in "${programs[@]}"; do
        check_like "$np" "$program"
    done
done
if [ ${#programs[@]} = 0 ] && [ "$failures" -eq 0 ]; then
    skip 'no MPI for Fortran here: only C was looked at'
fi
finish
