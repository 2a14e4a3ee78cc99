#!/bin/bash
# The counter `blocks` in programs of several parts: shared objects, linked or loaded,
# of a program that was compiled so or not; C++ with exceptions; OpenMP; clang; MPICH.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -x "$TI_BUILD/libexec/blocks/as" ] || skip 'no counter blocks here'
PATH=$TI_BUILD:$PATH
from=tests/mpi/wrapped
export TIARA_MPICC=${MPICC:-mpicc} TIARA_MPICXX=${MPICXX:-mpicxx}

# build WORDS...: or say why not, and fail.
build() {
    "$@" -I. -I examples >"$scratch/log" 2>&1 || fail "$*: $(head -n 20 "$scratch/log")"
}

# volumes TITLE BESIDE PROGRAM ARGUMENT...: the bursts have 1000 and 100000 instructions,
# and BESIDE as many more; any few, but the same with both ("-"); or any few ("some").
volumes() {
    local title=$1 beside=$2
    shift 2
    rm -rf "$scratch/trace"
    if ! trace "$scratch/trace" 1 blocks "$@" >"$scratch/log" 2>&1 || grep -q '^tiara:' "$scratch/log"; then
        fail "$title: $(cat "$scratch/log")"
        return
    fi
    dump "$scratch/trace" 0 | awk -v beside="$beside" '
        $2 == "barrier" && ++n % 2 == 0 {
            more = $1 - (n % 4 ? 1000 : 100000)
            if (n == 2 && beside == "-") beside = more
            if ((beside != "some" && more != beside) || more < -1 || more > 200) { print "burst " n ": " $1; bad = 1 }
        }
        END { exit bad || n < 4 }' >"$scratch/bad" || fail "$title: $(cat "$scratch/bad")"
}

# tries COMPILER: programs and shared objects in all combinations.
tries() {
    local dir=$scratch/$1
    mkdir "$dir"
    for name in one two; do
        build ti-mpicc -O1 -fPIC -shared -o "$dir/lib$name.so" examples/burst.c
    done
    build ti-mpicc -O2 -o "$dir/linked" $from/main.c -Wl,--no-as-needed "$dir/libone.so" -Wl,-rpath,"$dir" -ldl
    volumes "$1: with a shared object" - "$dir/linked"
    volumes "$1: which loads others" - "$dir/linked" "$dir/libtwo.so" "$dir/libone.so"
    # of a program that was not compiled so, the call is not counted, nor the argument
    build "$TIARA_MPICC" -O2 -o "$dir/plain" $from/main.c -Wl,--no-as-needed "$dir/libone.so" -Wl,-rpath,"$dir" -ldl
    volumes "$1: in a plain program" -1 "$dir/plain"
    build "$TIARA_MPICC" -O2 -o "$dir/host" $from/main.c -ldl
    volumes "$1: loaded by a plain program" -1 "$dir/host" "$dir/libone.so" "$dir/libtwo.so"
    build ti-mpicc -O2 -o "$dir/alone" $from/main.c examples/burst.c -ldl
    volumes "$1: all in one" - "$dir/alone"
    # and they run without us
    for program in linked plain alone; do
        "$mpirun" -np 1 "$dir/$program" >"$scratch/log" 2>&1 ||
            fail "$1: $program alone: $(cat "$scratch/log")"
    done
}
tries gcc
if command -v clang >/dev/null; then
    OMPI_CC=clang tries clang
else
    echo 'not tried: clang, which is not here'
fi
if [ -e "$TI_BUILD/libminitrace-mpich.so" ]; then
    TIARA_MPICC=${MPICC_MPICH:-mpicc.mpich} MPI=mpich mpirun=mpirun.mpich tries mpich
fi

# Executables of all kinds.
for kind in -no-pie '-fpie -pie' '-fPIC -pie' -static-libgcc '-O3 -march=native' -O0; do
    # shellcheck disable=SC2086  # words are meant
    build ti-mpicc $kind -o "$scratch/kind" $from/main.c examples/burst.c -ldl
    volumes "$kind" some "$scratch/kind"
done
build ti-mpicc -O2 -c -o "$scratch/burst.o" examples/burst.c
build ti-mpicxx -O2 -o "$scratch/throw" $from/throw.cc "$scratch/burst.o"
volumes 'exceptions' - "$scratch/throw"
build ti-mpicc -fopenmp -O2 -o "$scratch/team" $from/team.c examples/burst.c
volumes 'OpenMP' - "$scratch/team"

# Programs that were not compiled so are refused, with a remedy.
build "$TIARA_MPICC" -o "$scratch/without" $from/main.c examples/burst.c -ldl
trace "$scratch/none" 1 blocks "$scratch/without" >"$scratch/log" 2>&1 || fail 'the program failed'
grep -q 'nothing is recorded: the program does not count its blocks; hint: compile .* ti-mpicc' \
    "$scratch/log" || fail "a plain program: $(cat "$scratch/log")"
"$TI_BUILD/ti-acquire" -q -n 1 -c blocks --dry-run "$scratch/without" >"$scratch/log" 2>&1
[ $? = 3 ] && grep -q 'not compiled with ti-mpicc' "$scratch/log" ||
    fail "ti-acquire, a plain program: $(cat "$scratch/log")"
"$TI_BUILD/ti-acquire" -q -n 1 -c blocks --threads sum --dry-run "$scratch/kind" >"$scratch/log" 2>&1
[ $? = 3 ] && grep -q 'each thread alone' "$scratch/log" ||
    fail "ti-acquire, a sum: $(cat "$scratch/log")"
for program in "$scratch/kind" "$scratch/gcc/plain"; do
    "$TI_BUILD/ti-acquire" -n 1 --mem-per-rank 100M --dry-run "$program" >"$scratch/out" 2>"$scratch/log" ||
        fail "ti-acquire: $(cat "$scratch/log")"
    grep -qE '^ +counter +(blocks|papi): ' "$scratch/out" || fail "ti-acquire chose $(grep counter "$scratch/out")"
done
"$TI_BUILD/ti-acquire" -n 1 -c cputime --mem-per-rank 100M --dry-run "$scratch/kind" >"$scratch/out" 2>"$scratch/log"
grep -q 'was compiled with ti-mpicc: cputime counts' "$scratch/log" ||
    fail "ti-acquire does not say what cputime counts: $(cat "$scratch/log")"
finish
