#!/bin/bash
# One program in every mode of acquisition, regular, folded, composite and both:
# identical event streams, volumes included, under an exact counter.
. tests/testbed/lib.bash
need_acquire
lu=$o/blocks/lu
[ -x "$lu" ] || skip "$lu was not built (no counter 'blocks' here)"
cd "$scratch" || exit 1

# mode NODES-USED
modes='R 8
F-2 4
F-4 2
F-8 1
C-2 8
CF-(2,4) 2'

bed_up --sites 2 --nodes 8 --cores 1 --memory 8GiB
n=0
while read -r mode nodes; do
    n=$((n + 1))
    front "$o/ti-acquire" --sites "$state/sites.conf" --np 8 --mode "$mode" --counter blocks \
        --mem-per-rank 64MiB --no-progress -o "$n.tib" "$lu" S 3 >out 2>err </dev/null || {
        fail "$mode: status $?"
        cat out err
        continue
    }
    "$o/ti-info" -q --verify "$n.tib" || fail "$mode: the trace is not sound"
    "$o/ti-info" "$n.tib" >info
    grep -qF -- "$mode" info || { fail "$mode: its bundle says otherwise"; cat info; }
    unzip -p "$n.tib" MANIFEST.json | python3 -c '
import json, sys
print(sum("ranks" in n for n in json.load(sys.stdin)["nodes"]))' >used
    [ "$(cat used)" = "$nodes" ] || fail "$mode: on $(cat used) nodes, not $nodes"
    "$o/ti-info" -q --compare 1.tib "$n.tib" || {
        fail "$mode: its events are not those of R"
        "$o/ti-info" --compare 1.tib "$n.tib" | head -n 20
    }
done <<<"$modes"
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }
finish
