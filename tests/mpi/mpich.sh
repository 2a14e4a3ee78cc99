#!/bin/bash
# The tests of the other scripts with MPICH, whose back end the preloaded library
# finds by itself; and one ring leaves the same events with either MPI.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -e "$TI_BUILD/libminitrace-mpich.so" ] || skip 'there is no MPICH here'

trace "$scratch/openmpi" 3 cputime "$examples/ring" 3 1000 100000 >"$scratch/log" 2>&1 ||
    fail "ring with Open MPI: $(cat "$scratch/log")"

for script in bindings sequence known-volumes callbacks residuals; do
    if ! MPI=mpich bash "tests/mpi/$script.sh" >"$scratch/log" 2>&1; then
        fail "$script with MPICH: $(tail -n 30 "$scratch/log")"
    fi
done

export MPI=mpich
built=$TI_BUILD/tests/mpich mpirun=mpirun.mpich
# Where MPICH itself fails (4.0.2 mixes up statuses of MPI_PROC_NULL, and the
# buffers of some collectives), there is nothing to look at.
checked=0
try() {
    local np=$1 program=$2
    shift 2
    mkdir -p "$scratch/bare" "$scratch/traced"
    if timeout 600 "$mpirun" -np "$np" "$built/$program" "$@" ${1:+"$scratch/bare"} >/dev/null 2>&1; then
        check "$np" "$program" "$@" ${1:+"$scratch/traced"}
        checked=$((checked + 1))
    else
        echo "$program: MPICH fails without us"
    fi
}
for program in p2p requests persistent matched cancel creations datatypes collectives icollectives \
    neighbors; do
    try 3 $program
done
try 4 comms
try 5 intercoll
try 3 rma all
try 3 io all
[ $checked -ge 8 ] || fail "only $checked programs run with this MPICH"

# Calls that only MPI-4 has, and MPI-4.1.
for np in 1 2 3 5; do
    [ -x "$built/mpi4" ] && check $np mpi4
done
"$built/mpi41" >/dev/null 2>&1
[ $? -eq 77 ] || check 3 mpi41

for ring in "$built"/ring*; do
    if ! [ -f "$ring" ] || ! [ -x "$ring" ]; then continue; fi
    name=$(basename "$ring")
    trace "$scratch/$name" 3 cputime "$ring" 3 1000 100000 >"$scratch/log" 2>&1 ||
        fail "$name with MPICH: $(cat "$scratch/log")"
    for rank in 0 1 2; do
        dump "$scratch/openmpi" $rank --no-volumes >"$scratch/expected"
        dump "$scratch/$name" $rank --no-volumes >"$scratch/found"
        same "$scratch/expected" "$scratch/found" "$name: events of rank $rank"
    done
    "$TI_BUILD/ti-info" --rank 0 "$scratch/$name" | grep -q '^mpi  *MPICH' || fail "$name: what MPI that was"
done
[ -e "$scratch/ring_f08" ] || echo 'no Fortran for MPICH here: only C was looked at'
finish
