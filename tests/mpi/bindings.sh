#!/bin/bash
# One ring in C, with mpif.h, `use mpi` and `use mpi_f08`: the same events; and
# bursts that differ by no more than the few instructions with which a compiler
# prepares a call in each language.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
np=3 allowed=100 # instructions
[ -x "$examples/ring_f08" ] || skip 'no MPI for Fortran here'
counter=cputime
if exact_counter; then counter=valgrind; fi

largest=0
for ring in ring ring_mpifh ring_usempi ring_f08; do
    trace "$scratch/$ring" $np $counter "$examples/$ring" 3 1000 100000 >"$scratch/log" 2>&1 ||
        fail "$ring: $(cat "$scratch/log")"
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/ring" $rank --no-volumes >"$scratch/expected"
        dump "$scratch/$ring" $rank --no-volumes >"$scratch/found"
        same "$scratch/expected" "$scratch/found" "$ring: events of rank $rank"
        [ "$(wc -l <"$scratch/found")" = 8 ] || fail "$ring: number of events of rank $rank"
        [ $counter = valgrind ] || continue
        worst=$(paste -d' ' <(dump "$scratch/ring" $rank | cut -d' ' -f1) \
            <(dump "$scratch/$ring" $rank | cut -d' ' -f1) |
            awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > w) w = d } END { print w + 0 }')
        echo "$ring, rank $rank: bursts differ from C by up to $worst instructions"
        [ "$worst" -le "$largest" ] || largest=$worst
    done
done
if [ $counter = valgrind ]; then
    echo "largest difference: $largest instructions, $allowed allowed"
    [ "$largest" -le $allowed ] || fail 'difference'
else
    echo 'volumes were not compared: no exact counter here'
fi
finish
