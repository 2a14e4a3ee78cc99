#!/bin/bash
# ti-mpicc and its like are used as MPI's own wrappers are: every way to call them, by
# hand and from build systems, with gcc and clang, Open MPI and MPICH; and what cannot
# be counted is refused.
set -u
o=$(realpath "${TI_BUILD:-build}")
[ -x "$o/libexec/blocks/as" ] || { echo 'no counter blocks here'; exit 77; }
PATH=$o:$PATH
from=$PWD/tests/cli/wrapped
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
export TIARA_MPICC=${MPICC:-mpicc} TIARA_MPICXX=${MPICXX:-mpicxx} TIARA_MPIFORT=${MPIFC:-mpifort}
unset OMPI_CC

ok() { "$@" >out 2>err || fail "$*: $(head -n 5 err)"; }
counts() { nm "$1" | grep -q ' tiara_blocks$' || fail "$1 does not count: ${*:2}"; }

# refused WORDS COMMAND...: with status 1, a line that has WORDS, and a hint.
refused() {
    local words=$1
    shift
    "$@" >out 2>err
    [ $? = 1 ] && grep -q "^ti-mpi[a-z]*: .*$words" err && grep -q '^hint: ' err ||
        fail "$* is not refused for '$words': $(cat err)"
}

# ------------------------------------------------------------ by hand --

cp "$from"/*.c "$from"/hand.s .
cat >pre.S <<'S'
#define NAME by_hand
#include "hand.s"
S
printf '%s\n' '-O1 -c' '"a file.c"' >response
cp part.c 'a file.c'
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "not tried: $cc, which is not here"; continue; }
    export OMPI_CC=$cc MPICH_CC=$cc
    rm -f ./*.o
    ok ti-mpicc -c part.c piece.c
    counts part.o "several sources, $cc"
    counts piece.o "several sources, $cc"
    ok ti-mpicc -c hand.s
    counts hand.o "assembler, $cc"
    ok ti-mpicc -c -o pre.o pre.S
    counts pre.o "assembler with a preprocessor, $cc"
    ok ti-mpicc @response
    counts 'a file.o' "response file, $cc"
    ok ti-mpicc -pipe -x c -c -o stdin.o - <part.c
    counts stdin.o "from standard input, $cc"
    # for the -fPIC that holds, a place that the dynamic linker fills in
    for object in part.c hand.s; do
        for flags in '-fPIC 1' '-fpic 1' '-fpie 0' '-fPIC -fno-pic 0' '-fPIE -fPIC 1' '-O 0'; do
            # shellcheck disable=SC2086  # words are meant
            ok ti-mpicc ${flags% *} -c -o pic.o $object
            [ "$(readelf -rW pic.o | grep -c 'GOTTPOFF.* tiara_blocks')" -ge 1 ] && found=1 || found=0
            [ $found = "${flags##* }" ] || fail "$cc $flags -c $object: GOTTPOFF $found"
        done
    done
    # what comes out without assembling is what the wrapper makes of it
    for how in '-E part.c' '-S -o - part.c' '-M part.c' '-v' '-dumpmachine' '--version' \
        '-print-file-name=libc.so' '-showme:link'; do
        # shellcheck disable=SC2086
        ti-mpicc $how >out 2>err
        status=$?
        # shellcheck disable=SC2086
        "$TIARA_MPICC" $how >plain 2>plain.err
        [ $? = $status ] && cmp -s plain out && cmp -s plain.err err || fail "$cc: $how differs"
    done
    ok ti-mpicc -c -MMD -MF deps -o deps.o part.c
    grep -q 'deps.o: part.c' deps || fail "$cc: -MMD"
    ok ti-mpicc -Wall -Werror -c -o quiet.o part.c
    [ ! -s err ] || fail "$cc: compiling is not silent: $(cat err)"
    ok ti-mpicc -o app app.c part.c piece.c
    ok ti-mpicc -c app.c
    ok ti-mpicc -Wall -Werror -o app app.o part.o piece.o
    [ ! -s err ] || fail "$cc: linking is not silent: $(cat err)"
    ti-mpicc --tiara-show -r -o both.o part.o | grep -q 'libtiara\|export' && fail "$cc: -r"
    ok ti-mpicc -shared -fPIC -o libpart.so part.c
    readelf -d libpart.so | grep -q 'NEEDED.*libtiara-blocks.so' || fail "$cc: -shared"
    refused 'lto.* cannot be counted' ti-mpicc -flto -c part.c
    grep -q 'fno-lto' err || fail "no remedy: $(cat err)"
    ok ti-mpicc -flto -fno-lto -c part.c
    "$cc" -flto -c -o lto.o part.c
    refused "'lto.o' was compiled with -flto" ti-mpicc -o app app.o lto.o piece.o
    refused 'x86-64 only' ti-mpicc -m32 -c part.c
done
unset OMPI_CC MPICH_CC
gcc -flto -ffat-lto-objects -c -o fat.o part.c
refused "'fat.o' was compiled with -flto" ti-mpicc -o app app.o fat.o piece.o
ti-mpicc -c nowhere.c 2>err && fail 'a file that is not there'
grep -q 'nowhere.c: No such file' err || fail "a file that is not there: $(cat err)"
OMPI_CC=ti-mpicc refused "'.*mpicc.* -###' failed: .*again" ti-mpicc -c part.c
TIARA_MPICC=nowhere ti-mpicc -c part.c 2>err && fail 'a wrapper that is not there'
grep -q "^ti-mpicc: cannot run 'nowhere': No such file" err || fail "a wrapper that is not there: $(cat err)"
ti-mpicc -show -c part.c | grep -q -- '-B.*blocks/ .*-c part.c' || fail '-show does not show all'
ti-mpicc --tiara-show -c 'a b.c' | grep -q -- "^$TIARA_MPICC -B.*/blocks/ -c 'a b.c'" || fail '--tiara-show'
ok ti-mpicc --tiara-audit -c -o audit.o part.c
nm audit.o | grep -q tiara_blocks_own || fail '--tiara-audit'

# ---------------------------------------------------- other languages --

if command -v "$TIARA_MPICXX" >/dev/null; then
    echo 'int f(int n) { try { throw n; } catch (int k) { return k; } }' >x.cc
    ok ti-mpicxx -c x.cc
    counts x.o C++
    ok ti-mpic++ -c x.cc
fi
if "$TIARA_MPIFORT" --version >/dev/null 2>&1; then
    printf '%s\n' 'program x' 'use mpi' 'integer ierr' 'call MPI_Init(ierr)' \
        'call MPI_Finalize(ierr)' 'end' >x.f90
    ok ti-mpifort -c x.f90
    counts x.o Fortran
    ok ti-mpifort -o x x.f90
    TIARA_MPIF90=$TIARA_MPIFORT ok ti-mpif90 -o x x.f90
fi
ln -s "$o/ti-mpicc" ti-mpicc.mpich
if command -v mpicc.mpich >/dev/null; then
    (unset TIARA_MPICC; ok ./ti-mpicc.mpich -c part.c; counts part.o MPICH; exit $failed) || failed=1
    ./ti-mpicc.mpich -show -c part.c | grep -q mpich || fail 'a link by another name'
fi

# ------------------------------------------------------- build systems --

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# built DIR TITLE: the program there counts its parts, 2000 instructions and a few each.
built() {
    (cd "$1" && ./app) >out 2>err || fail "$2: $(cat err)"
    read -r part piece <out
    ((part >= 2000 && part < 2040 && piece >= 2000 && piece < 2040)) || fail "$2: counted $(cat out)"
}
if command -v cmake >/dev/null; then
    ok cmake -S "$from" -B by-cmake -DCMAKE_C_COMPILER=ti-mpicc -DCMAKE_BUILD_TYPE=Release
    ok cmake --build by-cmake
    built by-cmake CMake
else
    echo 'not tried: CMake, which is not here'
fi
if command -v autoconf >/dev/null; then
    mkdir by-configure
    cp "$from"/* by-configure
    (cd by-configure && autoconf && ./configure CC=ti-mpicc CFLAGS='-O2 -g' && make) >out 2>err ||
        fail "configure, make: $(tail -n 5 err)"
    built by-configure 'configure and make'
else
    echo 'not tried: configure, since autoconf is not here'
fi
exit $failed
