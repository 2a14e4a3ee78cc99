#!/bin/bash
# Advice of ti-acquire that names an option: following it does not lead to the opposite advice.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
programs=("$o/examples/hybrid" "$tmp/app")
[ ! -x "$o/blocks/hybrid" ] || programs+=("$o/blocks/hybrid" "$o/blocks/lu")

unset OMP_NUM_THREADS
python3 "$top/tests/cli/advice.py" "$o/ti-acquire" "${programs[@]}" || fail 'advice goes in a circle'

# what blocks cannot count at all is said before how to compile for it
run 3 --dry-run --np 2 -c blocks --threads sum "$o/examples/hybrid"
says err "blocks counts each thread alone"
silent err "with ti-mpicc"

# OpenMP with the counter blocks: said before the program runs, and what to do.
if [ -x "$o/blocks/hybrid" ]; then
    run 0 --dry-run --np 2 -c blocks "$o/blocks/hybrid"
    says err "uses OpenMP, and blocks counts only the thread that calls MPI: -c papi, -c valgrind and -c cputime"
    run 3 --dry-run --np 2 -c blocks --threads sum "$o/blocks/hybrid"
    says err "hint: -c papi, -c valgrind and -c cputime (TIARA_COUNTER) count all threads"
    run 0 --dry-run --np 2 -c cputime --threads sum "$o/blocks/hybrid"
    says err "trace the program as mpicc compiles it"
    silent err "or take -c blocks"
    OMP_NUM_THREADS=1 run 0 --dry-run --np 2 -c blocks "$o/blocks/hybrid"
    silent err OpenMP
fi
finish
