#!/bin/bash
# Programs that load MPI while they run: by a plug-in in C or Fortran that is linked
# with it, or by asking for each function; and what has no MPI at all is left alone.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

us=$TI_BUILD/libminitrace.so fortran=()
if [ "$MPI" = mpich ]; then
    mpicc=${MPICC_MPICH:-mpicc.mpich} mpifc=${MPIFC_MPICH:-mpifort.mpich}
else
    mpicc=${MPICC:-mpicc} mpifc=${MPIFC:-mpifort}
fi
"${CC:-cc}" -O2 -o "$scratch/host" tests/mpi/loaded/host.c -ldl &&
    "$mpicc" -O2 -shared -fPIC -o "$scratch/plugin.so" tests/mpi/loaded/plugin.c &&
    "$mpicc" -O2 -c -o "$scratch/asks.o" tests/mpi/loaded/asks.c &&
    "${CC:-cc}" -o "$scratch/asks" "$scratch/asks.o" -ldl # not linked with MPI
[ -x "$scratch/asks" ] || skip 'cannot compile'
for f in usempi f08; do
    mkdir "$scratch/$f"
    if "$mpifc" -cpp -O2 -w "$([ $f = f08 ] && echo -DF08 || echo -DUSEMPI)" -J"$scratch/$f" -shared \
        -fPIC -o "$scratch/plugin_$f.so" tests/mpi/loaded/plugin_f.f90 2>"$scratch/log"; then
        fortran+=("plugin_$f")
    fi
done
if ldd "$scratch/asks" "$scratch/host" | grep -i mpi; then fail 'a program is linked with MPI'; fi
library=$(ldd "$scratch/plugin.so" | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')

traced() { # TITLE PROGRAM ARGUMENT...
    local title=$1 rank
    shift
    rm -rf "$scratch/trace"
    trace "$scratch/trace" 3 cputime "$@" >"$scratch/log" 2>&1 || fail "$title: $(cat "$scratch/log")"
    for rank in 0 1 2; do
        dump "$scratch/trace" $rank --no-volumes >"$scratch/found" 2>&1
        same "$scratch/expected-$rank" "$scratch/found" "$title: events of rank $rank"
    done
    "$TI_BUILD/ti-info" -q --verify "$scratch/trace" >"$scratch/log" 2>&1 ||
        fail "$title: $(cat "$scratch/log")"
}
peers=('+1(1) +2(2)' '+1(2) -1(0)' '-2(0) -1(1)')
for rank in 0 1 2; do
    read -r to from <<<"${peers[rank]}"
    printf '%s\n' 'init level=0' \
        "sendrecv comm=0 peer=$to tag=1 bytes=4 esize=4 rpeer=$from rtag=1 rbytes=4 resize=4" \
        'barrier comm=0' finalize >"$scratch/expected-$rank"
done
traced 'a plug-in' "$scratch/host" "$scratch/plugin.so"
for f in "${fortran[@]}"; do
    traced "a plug-in in Fortran, $f" "$scratch/host" "$scratch/$f.so"
done
[ ${#fortran[@]} = 2 ] || echo 'no MPI for Fortran here: only C was looked at'
traced 'a program that asks' "$scratch/asks" "$library"
(
    # preloaded by a relative name, from which the program goes away
    cd "$TI_BUILD" || exit
    PRELOAD=./libminitrace.so MPIRUN="-wdir $TI_BUILD" traced 'a relative name' "$scratch/host" \
        "$scratch/plugin.so"
    exit $failures
) || failures=$((failures + 1))
ln -s "$us" "$scratch/link.so"
PRELOAD=$scratch/link.so traced 'a link to us' "$scratch/host" "$scratch/plugin.so"

# Without a back end for this MPI, the program runs as without the library.
mkdir "$scratch/alone"
cp "$us" "$scratch/alone"
rm -rf "$scratch/trace"
PRELOAD=$scratch/alone/libminitrace.so trace "$scratch/trace" 3 cputime "$scratch/host" \
    "$scratch/plugin.so" >"$scratch/log" 2>&1 || fail "no back end: $(cat "$scratch/log")"
[ "$(grep -c '^tiara: nothing is recorded: .*is not beside' "$scratch/log")" = 1 ] ||
    fail "no back end: $(cat "$scratch/log")"
[ ! -e "$scratch/trace" ] || fail 'no back end: a trace'

# No MPI: nothing is said, nothing is loaded.
LD_PRELOAD=$us bash -c 'cat /proc/self/maps; python3 -c "print(1)"' >"$scratch/maps" 2>"$scratch/err"
[ ! -s "$scratch/err" ] || fail "without MPI: $(cat "$scratch/err")"
grep -q 'libminitrace\.so' "$scratch/maps" || fail 'we were not even loaded'
if grep -E 'libminitrace-|libmpi' "$scratch/maps"; then fail 'without MPI: something of MPI is loaded'; fi

if [ "$MPI" != mpich ] && [ -e "$TI_BUILD/libminitrace-mpich.so" ]; then
    # Two MPI libraries in one program: calls go where they went without us.
    "${MPICC_MPICH:-mpicc.mpich}" -O2 -shared -fPIC -o "$scratch/other.so" \
        tests/mpi/loaded/plugin.c || fail 'cannot compile with MPICH'
    rm -rf "$scratch/trace"
    trace "$scratch/trace" 2 cputime "$scratch/host" "$scratch/plugin.so" "$scratch/other.so" \
        >"$scratch/log" 2>&1 || fail "two MPI libraries: $(cat "$scratch/log")"
    [ "$(grep -c '^tiara: nothing is recorded: the program has two MPI' "$scratch/log")" = 1 ] ||
        fail "two MPI libraries: $(cat "$scratch/log")"
    [ ! -e "$scratch/trace" ] || fail 'two MPI libraries: a trace'
    MPI=mpich bash "$0" || fail 'the same with MPICH'
fi
finish
