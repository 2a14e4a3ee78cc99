#!/bin/bash
# Instructions of a program outside of MPI, as ticount sees them: the same without the
# library, with it, and by the sum of all bursts, to the instruction.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
VALGRIND_OPTIONS='--outside=yes --report=yes'

# reported LOG: what each process reported, in ascending order.
reported() { sed -n 's/.*ticount: \([0-9]*\) of them outside.*/\1/p' "$1" | sort -n; }

# exact NAME PROGRAM ARGUMENT...: the trace's bursts are what was executed.
exact() {
    local name=$1 rank
    shift
    trace "$scratch/$name" 2 valgrind "$@" >"$scratch/log" 2>&1 || fail "$name: $(cat "$scratch/log")"
    reported "$scratch/log" >"$scratch/traced"
    for rank in 0 1; do
        dump "$scratch/$name" $rank
    done | awk '$1 ~ /^[0-9]+$/ { sum += $1 } / finalize$/ { print sum; sum = 0 }' | sort -n \
        >"$scratch/bursts"
    echo "$name: $(tr '\n' ' ' <"$scratch/traced")outside"
    [ "$(wc -l <"$scratch/traced")" = 2 ] || fail "$name: nothing is reported"
    same "$scratch/traced" "$scratch/bursts" "$name: bursts"
    "$TI_BUILD/ti-info" --json "$scratch/$name" >"$scratch/json"
    grep -q "\"outside\": $(awk '{ sum += $1 } END { print sum }' "$scratch/traced"),*$" \
        "$scratch/json" || fail "$name: its trace says something else"
}

# alike NAME PROGRAM ARGUMENT...: and also without the library.
alike() {
    exact "$@"
    bare 2 "${@:2}" >"$scratch/log" 2>&1 || fail "$1: $(cat "$scratch/log")"
    reported "$scratch/log" >"$scratch/bare"
    same "$scratch/bare" "$scratch/traced" "$1: the traced program executes what the bare one does"
}

exact known-volumes "$built/bursts" "$scratch/truth"
for ring in ring ring_f08; do
    [ ! -x "$examples/$ring" ] || alike $ring "$examples/$ring"
done
mpich=$TI_BUILD/tests/mpich/ring_mpifh
if [ "$MPI" = openmpi ] && [ -x "$mpich" ]; then
    MPI=mpich mpirun=mpirun.mpich alike mpich "$mpich"
fi

# Callbacks, signal handlers, calls through pointers, calls left by longjmp().
for PRELOAD in '' "$TI_BUILD/libminitrace.so"; do
    TIARA_QUIET=1 trace "$scratch/calls" 1 valgrind "$built/outside" >"$scratch/log" 2>&1
    case $? in
        0) ;;
        77) echo 'kinds of calls: for x86-64' ;;
        *) fail "kinds of calls, with '$PRELOAD': $(cat "$scratch/log")" ;;
    esac
done

# Without the option it is not counted, and the trace does not tell it.
unset PRELOAD VALGRIND_OPTIONS
trace "$scratch/no" 2 valgrind "$examples/ring" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
"$TI_BUILD/ti-info" --json "$scratch/no" >"$scratch/json" || fail 'ti-info'
! grep -q '"outside": [0-9]' "$scratch/json" || fail 'a trace tells what was not counted'
finish
