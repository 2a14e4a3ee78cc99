#!/usr/bin/env bash
# 1,000,000 ranks on 10,000 nodes: the plan, and RUN.json and NODE.json of such a run, cost so many
# instructions (under valgrind) and system calls as few times of their size, on any machine.
set -u
skip() { echo "$1"; exit 77; }
command -v python3 >/dev/null || skip 'no python3'
o=$(realpath "${TI_BUILD:-build}")
case $o in *build) ;; *) skip 'not with sanitizers' ;; esac
d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
cd "$d" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

python3 - <<'END'
import json
import os

run_id = "1a49e" + "0" * 27
with open("big.conf", "w") as f:
    f.write("[defaults]\nfamily = x86_64\n")
    for c in range(20):
        if c % 2 == 0:
            f.write("[site s%d]\ngateway = gw%d.example\n" % (c // 2, c // 2))
        f.write("[cluster c%d]\nsite = s%d\nnodes = c%d-[1-500]\ncores = 16\nmemory = 64GiB\n" % (c, c // 2, c))
with open("many.conf", "w") as f:  # one cluster for each node
    f.write("[defaults]\nfamily = x86_64\n[site s]\n")
    for c in range(10000):
        f.write("[cluster c%d]\nsite = s\nnodes = c%d-1\ncores = 16\nmemory = 64GiB\n" % (c, c))
# one site for each node, which is more than anybody has
nodes = [dict(name="n%d" % i, host="n%d.example" % i, site="s%d" % i, bytes=1000000,
              directory="/tmp/tiara-%d" % i, ranks=[[100 * i, 100 * i + 99]]) for i in range(10000)]
os.makedirs("runs/big.run")
with open("runs/big.run/RUN.json", "w") as f:
    json.dump(dict(format=1, run_id=run_id, np=1000000, nodes=nodes), f)
os.makedirs("runs/node.run")
with open("runs/node.run/NODE.json", "w") as f:
    json.dump(dict(run_id=run_id, np=1000000, ranks=[[i, i] for i in range(0, 1000000, 10)]), f)
END
cp "$(type -P true)" app

# instructions MOST COMMAND...: its output goes to out
instructions() {
    local most=$1 n
    shift
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >out 2>log
    n=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' log)
    [ -n "$n" ] || { fail "$*: $(cat log)"; return; }
    echo "$n instructions, at most $most: $(basename "$1") $2"
    [ "$n" -le "$most" ] || fail "$n instructions are more than $most: $*"
}
if command -v valgrind >/dev/null; then
    instructions 500000000 "$o/ti-acquire" --sites big.conf --np 1000000 --mem-per-rank 100M --dry-run -c cputime ./app
    grep -q '1,000,000 ranks on 10,000 nodes' out || fail "the plan: $(cat out log)"
    instructions 800000000 "$o/ti-acquire" --sites many.conf --np 1000000 --mem-per-rank 100M --dry-run -c cputime ./app
    grep -q '1,000,000 ranks on 10,000 nodes of 10000 clusters' out || fail "the plan of many clusters: $(head out log)"
    grep -q 'connect   about 62 s: 10,000 nodes, 64 logins at a time' out || fail "no connect in $(tail out)"
    instructions 1500000000 "$o/ti-gather" --plan runs/big.run -o x.tib
    grep -q '1000000 ranks would be fetched first, from 10000 nodes' log || fail "the gather: $(cat out log)"
else
    echo 'no valgrind: instructions are not counted'
fi

# Read calls of this process and those that it has waited for.
reads() { sed -n 's/^syscr: //p' /proc/$$/io 2>/dev/null; }
bytes=$(cat runs/*/*.json | wc -c)
before=$(reads)
(cd runs && "$o/ti-acquire" --list) >out 2>log || fail "--list: $(cat log)"
grep -q "'big.run'.* 1000000 ranks" out || fail "--list: $(cat out)"
grep -q "'node.run'.* 1000000 ranks" out || fail "--list: $(cat out)"
if [ -n "$before" ]; then
    n=$(($(reads) - before))
    echo "$n read calls for $bytes bytes: ti-acquire --list"
    [ $n -lt $((bytes / 4)) ] || fail "$n read calls for $bytes bytes"
fi
exit $failed
