#!/bin/bash
# The ring of the paper's figure 1: one turn, four ranks, 1e6 instructions and 1e6
# bytes.  Traced under the exact counter with every rank folded onto these cores,
# gathered and replayed, it must take what stock SimGrid gives for the trace
# written by hand in examples/ring4, within 0.05 %.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

command -v smpirun >/dev/null || skip 'there is no smpirun'
exact_counter || skip 'there is no exact counter'
ring=examples/ring4

(cd $ring && smpirun -np 4 -platform platform.xml -hostfile hostfile -replay list.txt) \
    >"$scratch/stock" 2>&1
stock=$(sed -n 's/.*Simulation time \([0-9.]*\).*/\1/p' "$scratch/stock")
[ "$stock" = 0.065963 ] || { fail "stock SimGrid gives '$stock', not 0.065963"; cat "$scratch/stock"; }

for binding in ring ring_mpifh ring_usempi ring_f08; do
    if [ ! -x "$TI_BUILD/examples/$binding" ]; then
        echo "$binding was not built"
        continue
    fi
    trace "$scratch/$binding.run" 4 valgrind "$TI_BUILD/examples/$binding" >"$scratch/log" 2>&1 ||
        { fail "$binding"; cat "$scratch/log"; }
    "$TI_BUILD/ti-gather" -q "$scratch/$binding.run" -o "$scratch/$binding.tib" || fail "gather $binding"
    "$TI_BUILD/ti-replay" "$scratch/$binding.tib" --platform $ring/platform.xml \
        --hostfile $ring/hostfile >"$scratch/out" 2>&1 || { fail "replay $binding"; cat "$scratch/out"; }
    clock=$(sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$scratch/out")
    echo "$binding: $clock s, stock 0.065963 s"
    awk -v a="$clock" 'BEGIN { d = (a - 0.065963) / 0.065963; exit !(a > 0 && d * d <= 0.0005 ^ 2) }' ||
        fail "$binding is not within 0.05 %"
done
finish
