#!/bin/bash
# --like: ranks that talked to each other in a former run share a node.
. tests/cli/acquire-lib.bash

[ -x "$o/examples/lu" ] || skip "examples/lu was not built"
lu=$o/examples/lu
run 0 --local -q -c cputime --np 16 --mem-per-rank 20M -o lu.tib "$lu" S 2
printf '%s slots=4\n' a b c d >../four
c="--hostfile ../four --np 16 --mem-per-rank 20M --dry-run"

# 16 ranks in a square: rows cut 12 of its 24 pairs, squares 8
run 0 $c --like lu.tib --json --write-hostfile ../order "$lu" S 2
json ../out order.kept=false || fail "the order was kept"
bytes=$(json ../out order.bytes)
[ $(($(json ../out order.before.nodes_bytes) * 24)) -eq $((bytes * 12)) ] || fail "the order before"
[ $(($(json ../out order.after.nodes_bytes) * 24)) -eq $((bytes * 8)) ] || fail "the order"
says order '# ranks in the order of --like: mpirun --map-by seq'
[ "$(grep -v '#' ../order | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "4 4 4 4 " ] ||
    { fail "not 4 ranks a node"; cat ../order; }
[ "$(grep -v '#' ../order | head -n 6 | tr '\n' ' ')" = "a a b b a a " ] ||
    { fail "no squares"; cat ../order; }
run 0 $c --like lu.tib "$lu" S 2
says out 'ranks that talk to each other together'
# nothing better than rows when two nodes take half each
printf '%s slots=8\n' a b >../two
run 0 --hostfile ../two --np 16 --mem-per-rank 20M --dry-run --like lu.tib \
    --write-hostfile ../order "$lu" S 2
says out 'as ranks are numbered, no better one was found'
says order 'a slots=8'

# Former runs that cannot be used
run 3 $c --np 12 --like lu.tib "$lu" S 2
says err "'lu.tib' is of 16 ranks, and does not show which ranks communicate among 12"
run 4 $c --like nowhere.tib "$lu" S 2
says err 'nowhere.tib'
run 3 $c --like ../app "$lu" S 2
holds lu.tib

# The order is one that mpirun takes, and traces do not depend on it.
yes "$(hostname)" | head -n 16 >../seq
sed -i '1i # ranks' ../seq
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ "$(mpirun --map-by seq --hostfile ../seq --bind-to none true 2>&1)" = "" ] ||
    fail "mpirun does not take such a file"
finish
