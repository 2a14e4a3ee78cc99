#!/bin/bash
# A million live requests: the right ones are completed, and memory stays within
# its cap.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
check 1 outstanding 50
check 1 outstanding 50000

trace "$scratch/many" 1 cputime "$TI_BUILD/tests/mpi/outstanding" 500000 >"$scratch/log" 2>&1 ||
    fail "outstanding: $(head -n 20 "$scratch/log")"
# value KEY: of the trace's metadata
value() { "$TI_BUILD/ti-info" --rank 0 "$scratch/many" | awk -v "key=$1" '$1 == key { print $2 }'; }
memory=$(value memory_bytes) spilled=$(value spilled_bytes)
[ "${memory:-999999}" -le 196608 ] || fail "memory_bytes: '$memory'"
[ "${spilled:-0}" -ge 50000000 ] || fail "spilled_bytes: '$spilled'"
dump "$scratch/many" 0 --no-volumes | tail -n 2 >"$scratch/found"
printf 'waitall all=1\nfinalize\n' >"$scratch/expected"
same "$scratch/expected" "$scratch/found" 'a million: the end'
[ -z "$(find "$scratch/many" -name '.tiara*')" ] || fail 'a file is left in the trace directory'
finish
