#!/bin/bash
# Applications with threads: what becomes of a trace when threads call MPI that
# may, and that may not.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
# shellcheck source=tests/mpi/threads-lib.bash
. tests/mpi/threads-lib.bash

for level in single funneled serialized multiple; do
    run cputime allowed $level
    complete "allowed $level"
    [ "$(wc -l <"$scratch/events-0")" = 1012 ] || fail "allowed $level: events"
done

# One after the other.
run cputime second serialized
complete 'second serialized'
[ "$(wc -l <"$scratch/events-1")" = 42 ] || fail 'second serialized: events'
run cputime finalize serialized
complete 'finalize serialized'
tail -n 1 "$scratch/events-1" | grep -q finalize || fail 'finalize serialized: no end'
for what in second finalize; do
    for level in single funneled multiple; do
        run cputime $what $level
        stopped 'a second thread calls MPI' "$what $level"
    done
done
run cputime overlap
stopped 'while one was in a call' 'overlap'

# At once.
run cputime blocked
stopped 'MPI_THREAD_MULTIPLE' 'blocked'
for _ in 1 2 3 4 5; do
    run cputime storm
    stopped 'MPI_THREAD_MULTIPLE' 'storm'
done
THREADS=sum run cputime storm
stopped 'MPI_THREAD_MULTIPLE' 'storm, sum'

rm -rf "$dir"
TIARA_THREADS=all MPIRUN='-x TIARA_THREADS' trace "$dir" 2 cputime "$program" other \
    >"$scratch/out" 2>"$scratch/err"
grep -q "^tiara: rank 0: nothing is recorded: unknown TIARA_THREADS 'all'; hint: choose caller or sum$" \
    "$scratch/err" || fail "an unknown word: $(cat "$scratch/err")"
finish
