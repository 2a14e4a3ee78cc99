#!/bin/bash
# Eight nodes at two sites, 24 and 48 GiB, 64 ranks of lu: exactly the planned
# ranks on each node, traces on eight different disks, one bundle, and CF-(2,x).
. tests/testbed/lib.bash
need_acquire
lu=$o/examples/lu
[ -x "$lu" ] || skip "$lu was not built"
cd "$scratch" || exit 1

# planned: "NODE FIRST LAST" a line, from a plan as JSON
planned() {
    python3 -c '
import json, sys
for n in json.load(sys.stdin)["plan"]["nodes"]:
    if n["ranks"]:
        print(n["name"], n["first_rank"], n["first_rank"] + n["ranks"] - 1)'
}
# traced: the same, as rank files lie on the disks
traced() {
    local n
    while read -r n; do
        "$bed" node "$n" find /scratch -name 'rank-*.ti' -printf '%f\n' |
            sed 's/rank-0*\([0-9]\)/\1/; s/\.ti//' | sort -n |
            awk -v n="$n" 'NR == 1 { first = $1 } NR > 1 && $1 != last + 1 { exit 1 }
                { last = $1 } END { if (NR) print n, first, last }'
    done <"$state/nodes"
}

bed_up --sites 2 --nodes 4 --memory 24GiB,48GiB --gateways
acquire=("$o/ti-acquire" --sites "$state/sites.conf" --np 64 --counter cputime --mem-per-rank 1GiB
    --no-progress)

front "${acquire[@]}" --dry-run --json --write-hostfile planned.hosts "$lu" W 2 >plan.json 2>err ||
    { fail "the dry run"; cat err; finish; }
planned <plan.json >planned
[ "$(wc -l <planned)" -eq 8 ] || { fail "not all nodes are used"; cat planned; }
awk '{ sum += $3 - $2 + 1 } $2 != 0 + last { exit 1 } { last = $3 + 1 } END { exit sum != 64 }' planned ||
    { fail "the plan's ranks are not contiguous, or not 64"; cat planned; }
awk '{ print $1, "slots=" $3 - $2 + 1 }' planned >expected
diff expected planned.hosts || fail "the plan's hostfile is another"
grep -q '"mode": *"CF-(2,x)"' plan.json || { fail "the mode is not CF-(2,x)"; cat plan.json; }

# The traces stay where they were written.
front "${acquire[@]}" --no-gather "$lu" W 2 >out 2>err || { fail "the run"; cat out err; finish; }
grep -q verified out || { fail "lu says nothing"; cat out; }
traced >found
diff planned found || fail "rank files (>) are not where ranks were planned (<)"
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }
ls -d ./*.run >/dev/null || { fail "no run directory"; ls; }
[ -z "$(find . -name 'rank-*.ti')" ] || fail "rank files are here as well"
while read -r n; do
    echo "$n $("$bed" node "$n" find /scratch -name 'rank-*.ti' -printf '%s\n' | awk '{ s += $1 } END { print s }')"
done <"$state/nodes" | sort >sizes
python3 -c '
import glob, json
for n in json.load(open(glob.glob("*.run/RUN.json")[0]))["nodes"]: print(n["name"], n["bytes"])' | sort >said
diff sizes said || fail "RUN.json says other sizes (>) than there are (<)"
front "$o/ti-gather" --plan ./*.run >out 2>err || fail "the plan"
grep -q ', the last byte after [0-9.]* s; the links alone' out || { fail "a plan without times"; cat out; }

# Gathered later, and then all at once.
front "$o/ti-gather" --remove ./*.run -o later.tib >out 2>err || { fail "ti-gather"; cat out err; }
"$o/ti-info" -q --verify later.tib || fail "the bundle is not sound"
front "${acquire[@]}" --progress json --force -o lu.tib "$lu" W 2 >out 2>err ||
    { fail "the second run"; cat out err; }
python3 -IBS "$top/tests/cli/progress_checks.py" steps err >steps || fail "its progress"
for step in 'ti-acquire connecting: 8 of 8 nodes' 'ti-acquire looking at the nodes: 8 of 8 nodes' \
    'ti-acquire dry launch: 64 of 64 ranks' 'ti-acquire running: [0-9]* of [0-9]* bytes' \
    'ti-acquire collecting: 8 of 8 nodes' 'ti-gather fetching: [0-9]* of [0-9]* bytes' \
    'ti-gather merging: [0-9]* of [0-9]* bytes'; do
    grep -qx "$step" steps || { fail "its progress lacks '$step'"; cat steps err; }
done
"$o/ti-info" -q --verify lu.tib || fail "the second bundle is not sound"
"$o/ti-info" -q --compare later.tib --no-volumes lu.tib || fail "the two runs differ"
"$o/ti-info" lu.tib | tee info | grep -qF 'CF-(2,x)' || { fail "ti-info: no CF-(2,x)"; cat info; }
grep -qE '^sites +2, with 2 clusters: ' info || { fail "ti-info: no sites"; cat info; }
grep -qE '^steps +ship .* fetch .* gather ' info || { fail "ti-info: no steps"; cat info; }
unzip -p lu.tib MANIFEST.json | python3 -c '
import json, sys
m = json.load(sys.stdin)
print("ranks", m["totals"]["ranks"])
for s in m["acquisition"]["steps"]: print("step", s["name"], s["seconds"])
print("kept", m["gathering"]["kept"])' >manifest || fail "the manifest"
grep -qx 'ranks 64' manifest || { fail "the manifest has not 64 ranks"; cat manifest; }
grep -qx 'kept 8' manifest || { fail "the gather did not use the connections of the run"; cat manifest; }
for step in ship probe plan "dry launch" start application collect fetch gather; do
    grep -q "^step $step" manifest || { fail "the manifest has no step '$step'"; cat manifest; }
done
[ -z "$(traced)" ] || { fail "traces are left on the nodes:"; traced; }
[ -z "$("$bed" ps)" ] || { fail "left on nodes:"; "$bed" ps; }
left=$(while read -r n; do "$bed" node "$n" find /scratch /dev/shm /tmp -mindepth 1 \
    -path "/tmp${top#/tmp}*" -prune -o -type f -print; done <"$state/nodes")
[ -z "$left" ] || fail "files are left on the nodes: $(head -n 5 <<<"$left")"
finish
