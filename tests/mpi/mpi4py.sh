#!/bin/bash
# Python's MPI, whose module loads the MPI library when it is imported.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
# Debian's is only for Debian's Python, which need not be the first.
for python in python3 /usr/bin/python3 ''; do
    if [ -n "$python" ] && "$python" -c 'import mpi4py' 2>/dev/null; then break; fi
done
[ -n "$python" ] || skip 'there is no mpi4py'

np=3
run=("$python" tests/mpi/loaded/mpi4py_all.py)
"$mpirun" -np $np "${run[@]}" >"$scratch/log" 2>&1 ||
    skip "mpi4py does not work here: $(head -n 1 "$scratch/log")"
trace "$scratch/trace" $np cputime "${run[@]}" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
"$TI_BUILD/ti-info" -q --verify "$scratch/trace" >"$scratch/log" 2>&1 ||
    fail "the trace is not sound: $(cat "$scratch/log")"
for ((rank = 0; rank < np; rank++)); do
    dump "$scratch/trace" $rank --no-volumes >"$scratch/found" 2>"$scratch/err"
    [ ! -s "$scratch/err" ] || fail "rank $rank: $(cat "$scratch/err")"
    head -n 1 "$scratch/found" | grep -q '^init level=3$' || fail "rank $rank: how it begins"
    tail -n 1 "$scratch/found" | grep -q '^finalize$' || fail "rank $rank: how it ends"
    grep -q '^sendrecv comm=0 .* tag=1 bytes=40 esize=4 ' "$scratch/found" || fail "rank $rank: sendrecv"
    grep -q '^irecv comm=0 peer=any tag=2 bytes=40 ' "$scratch/found" || fail "rank $rank: irecv"
    grep -q '^wait from=' "$scratch/found" || fail "rank $rank: what the wildcard matched"
    for op in send isend 'm\?recv' bcast gather allreduce alltoall comm_split comm_free barrier; do
        grep -q "^$op" "$scratch/found" || fail "rank $rank: no $op"
    done
done
finish
