#!/bin/bash
# A counter is one file and one row of the table: the library and ti-acquire take one more, and
# what the row says of it arrives in the trace.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = openmpi ] || skip 'the variant of the library is for Open MPI'
[ "$(uname -m)" = x86_64 ] || skip 'there is no rdtsc'

# The library alone.
PRELOAD=$TI_BUILD/tests/tsc/libminitrace.so trace "$scratch/alone" 2 tsc "$examples/ring" 3 100 \
    >"$scratch/log" 2>&1 || fail "the library: $(cat "$scratch/log")"

# ti-acquire, which tries the counter before.
"$TI_BUILD/tests/tsc/ti-acquire" -c tsc --np 2 --no-gather --trace-dir "$scratch/acquired" \
    "$examples/ring" 3 100 >"$scratch/log" 2>&1 || fail "ti-acquire: $(cat "$scratch/log")"
grep -q 'warning: tsc is an estimate' "$scratch/log" || fail "ti-acquire says: $(cat "$scratch/log")"

for run in alone acquired; do
    "$TI_BUILD/ti-info" "$scratch/$run" >"$scratch/info" 2>&1 || fail "$run: ti-info"
    grep -qE '^counter +tsc, time stamps, in ticks, .*estimate' "$scratch/info" ||
        fail "$run: $(grep '^counter' "$scratch/info")"
    "$TI_BUILD/ti-info" "$scratch/$run" --rank 0 | grep -qE "^read +rdtsc\$" || fail "$run: how it is read"
    "$TI_BUILD/ti-info" -q --verify "$scratch/$run" || fail "$run: --verify"
done

# The counter counts each thread alone, and the library as built for users does not know it.
"$TI_BUILD/tests/tsc/ti-acquire" -c tsc --threads sum --np 2 --dry-run "$examples/ring" \
    >"$scratch/log" 2>&1
[ $? = 3 ] && grep -q 'tsc counts each thread alone' "$scratch/log" || fail "a sum: $(cat "$scratch/log")"
"$TI_BUILD/ti-acquire" -c tsc --np 2 --dry-run "$examples/ring" >"$scratch/log" 2>&1
[ $? = 2 ] && grep -q "unknown counter 'tsc'" "$scratch/log" || fail "no row: $(cat "$scratch/log")"
finish
