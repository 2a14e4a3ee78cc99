#!/bin/bash
# A program that asks which ranks share a node is told so of the target, where that is said,
# and else the trace says that it asked.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export TIARA_RANKS_PER_NODE

for n in 0 1 2 3 4 5; do
    TIARA_RANKS_PER_NODE=$n
    MPIRUN=$(pass TIARA_RANKS_PER_NODE) trace "$scratch/$n" 5 cputime "$built/nodes" $n \
        >"$scratch/out" 2>&1 || { fail "$n a node"; cat "$scratch/out"; }
    "$TI_BUILD/ti-info" --verify -q "$scratch/$n" || fail "$n a node: --verify"
    "$TI_BUILD/ti-info" "$scratch/$n" >"$scratch/info" 2>&1
    if [ $n = 0 ]; then
        grep -q '^CAVEAT  *the program asked which ranks share a node.* (35 calls)' "$scratch/info" ||
            { fail 'nothing is said'; cat "$scratch/info"; }
        # --lint: refused for what it does, and warned of all the same
        "$TI_BUILD/ti-replay" --lint "$scratch/$n" 2>&1 |
            grep -q 'warning: the program asked which ranks share a node' || fail 'ti-replay does not warn'
    else
        if grep CAVEAT "$scratch/info"; then fail "$n a node: that is said of the target"; fi
    fi
done
[ "$MPI" = openmpi ] || finish # the rest is specific to Open MPI

# The other bindings.
for binding in usempi f08; do
    [ -x "$built/nodes_$binding" ] || { echo "not tried: nodes_$binding, which was not built"; continue; }
    TIARA_RANKS_PER_NODE=2
    MPIRUN='-x TIARA_RANKS_PER_NODE' trace "$scratch/$binding" 4 cputime "$built/nodes_$binding" \
        >"$scratch/out" 2>&1 || { fail "$binding"; cat "$scratch/out"; }
done
TIARA_RANKS_PER_NODE=half
MPIRUN='-x TIARA_RANKS_PER_NODE' trace "$scratch/half" 2 cputime "$built/nodes" 0 >"$scratch/out" 2>&1 ||
    { fail 'not a number: the application'; cat "$scratch/out"; }
grep -q "nothing is recorded: TIARA_RANKS_PER_NODE 'half' is no number" "$scratch/out" ||
    { fail 'not a number'; cat "$scratch/out"; }
finish
