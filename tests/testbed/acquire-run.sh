#!/usr/bin/env bash
# ti-acquire over nodes at two sites: what it looks at, where ranks come to be, what
# it leaves, and a node that dies.
. tests/testbed/lib.bash
need_acquire
cp "$o/examples/lu" "$scratch/lu" 2>/dev/null || skip "$o/examples/lu was not built"
bed_up --sites 2 --nodes 2 --memory 24GiB,48GiB --share "$scratch"
cd "$scratch" || exit 1
acquire=("$o/ti-acquire" --sites "$state/sites.conf" --np 8 -c cputime --mem-per-rank 5GiB)

# nothing of a run is on any node
all_clean() {
    local left
    left=$("$bed" ps)
    [ -z "$left" ] || fail "$1: still running: $left"
    for node in $("$bed" list); do
        "$bed" node "$node" sh -c 'ls -d /tmp/ompi-* /dev/shm/tiara-* 2>/dev/null' >left 2>/dev/null &&
            fail "$1: on $node: $(cat left)"
    done
}

# --- the probe
front "$o/ti-acquire" --sites "$state/sites.conf" --probe >probe 2>probe.err || fail "probe: $(cat probe.err)"
grep -q "cluster1 *2 of 2 " probe || fail "probe: $(cat probe)"
all_clean probe

# --- a run: as many ranks on each node as planned, and nothing left there
front "${acquire[@]}" --keep -o lu.tib ./lu S >out 2>err || fail "run: $(cat err)"
grep -q verified out || fail "run: $(cat out)"
grep -q "CF-(2,x)" err || fail "run: no composite folded mode: $(cat err)"
for node in $("$bed" list); do
    planned=$(awk -v n="\"$node\"," '$1 == "\"name\":" { on = $2 == n } on && $1 == "\"ranks\":" && $2 + 0 { print $2 + 0; exit }' lu.8.run/RUN.json)
    there=$("$bed" node "$node" sh -c 'ls /scratch/*/rank-*.ti 2>/dev/null | wc -l')
    [ "$planned" = "$there" ] || fail "run: $node has $there traces, planned were $planned"
done
for step in ship probe plan "dry launch" start application collect; do
    grep -q "\"name\": \"$step\"" lu.8.run/RUN.json || fail "run: no step '$step' in RUN.json"
done
grep -q "all 8 ranks are where they were planned" lu.8.run/run.log || fail "run: the log has no dry launch"
"$o/ti-info" lu.tib >info || fail "ti-info: $(cat info)"
grep -q "bundle of 8 ranks" info || fail "run: $(head -1 info)"
grep -q "nodes  *4: n1.site1" info || fail "run: the bundle knows no nodes"
all_clean run

# --- several programs: each rank is where it is planned, and ran the program that the manifest says
cp "$scratch/lu" "$scratch/lu2"
front "${acquire[@]}" --np 3 --keep -o two.tib ./lu S : --np 5 ./lu2 S >out 2>err || fail "programs: $(cat err)"
grep -q verified out || fail "programs: $(cat out)"
grep -q "all 8 ranks are where they were planned" lu+lu2.8.run/run.log || fail "programs: the log has no dry launch"
"$o/ti-info" two.tib >info || fail "programs: $(cat info)"
grep -q "programs  *ranks 0-2: ./lu S" info && grep -q " ranks 3-7: ./lu2 S" info || fail "programs: $(cat info)"
for r in 0 2 3 7; do
    [ $r -lt 3 ] && name=lu || name=lu2
    "$o/ti-info" two.tib --rank $r | grep -q "^command .*/$name S\$" || fail "programs: rank $r"
done
"$bed" replace n2.site1 "$scratch/lu2" /bin/true
front "${acquire[@]}" --np 3 --force -o two.tib ./lu S : --np 5 ./lu2 S >out 2>err
[ $? -eq 3 ] && grep -q "n2.site1.*lu2' is another one" err || fail "programs: another one: $(cat err)"
front "${acquire[@]}" --np 3 --force -o two.tib ./lu S : --np 5 /tmp/lu.nowhere S >out 2>err
[ $? -eq 3 ] && grep -q "cannot find the program '/tmp/lu.nowhere'" err || fail "programs: nowhere: $(cat err)"
all_clean programs

# --- what a killed run left, here and on nodes, is named and removed; other runs' stays
"${MPICC:-mpicc}" -O1 -o app "$top/tests/cli/acquire-app.c" || fail "acquire-app"
rm -rf lu+lu2.8.run
mkdir work
cd work || exit 1
front "${acquire[@]}" -o left.tib ../app until >../out 2>../err &
until grep -qs "all 8 ranks have started" app.8.run/run.log; do sleep 0.2; done
id=$(grep -o '"run_id": "[0-9a-f]*"' app.8.run/RUN.json | grep -o '[0-9a-f]\{32\}')
front "$o/ti-acquire" --sites "$state/sites.conf" --list >listed 2>list.err || fail "list: $(cat list.err)"
grep -q "n1.site1: run directory '/scratch/tiara-${id:0:12}.n1.site1'.*: the run goes on" listed || fail "list: $(cat listed)"
grep -q "n2.site2: process .*app until.*: the run goes on" listed || fail "list: $(cat listed)"
front "$o/ti-acquire" --sites "$state/sites.conf" --clean app.8.run >cleaned 2>clean.err
[ $? -eq 3 ] && grep -q "goes on, nothing was removed" clean.err || fail "clean of a run that goes on: $(cat cleaned clean.err)"
# ti-node and ti-acquire are killed, so that nobody removes anything
for pid in $("$bed" node n2.site2 pgrep -x ti-node); do "$bed" node n2.site2 kill -STOP "$pid"; done
for p in /proc/[0-9]*; do
    [ "$(readlink "$p/cwd")" = "$PWD" ] && [ "$(cat "$p/comm")" = ti-acquire ] && kill -KILL "${p#/proc/}"
done
wait
for pid in $("$bed" node n2.site2 pgrep -x ti-node); do "$bed" node n2.site2 kill -KILL "$pid"; done
# (the other ti-nodes end once they notice; until then the run goes on)
until front "$o/ti-acquire" --sites "$state/sites.conf" --clean app.8.run --dry-run >listed 2>list.err; do sleep 0.5; done
for what in "would remove run directory 'app.8.run'" "n2.site2: would remove run directory '/scratch/tiara-" \
    "n2.site2: would remove folder '/dev/shm/tiara-${id:0:12}.n2.site2'" "n2.site2: would remove folder '/tmp/ompi-"; do
    grep -qF "$what" listed || fail "clean --dry-run does not say: $what: $(cat listed)"
done
front "$o/ti-acquire" --sites "$state/sites.conf" --clean app.8.run >cleaned 2>clean.err || fail "clean: $(cat cleaned clean.err)"
grep -q "n2.site2: removing folder '/tmp/ompi-" cleaned || fail "clean: $(cat cleaned)"
[ -e app.8.run ] && fail "clean: the run directory is still here"
for node in $("$bed" list); do
    "$bed" node "$node" sh -c "ls -d /scratch/tiara-${id:0:12}* 2>/dev/null" && fail "clean: $node has traces"
done
front "$o/ti-acquire" --sites "$state/sites.conf" --clean "$id" >cleaned 2>clean.err || fail "clean by id: $(cat clean.err)"
grep -q "nothing is left of that run" clean.err || fail "clean by id: $(cat cleaned clean.err)"
cd .. || exit 1
all_clean clean

# --- a program that only the nodes have; its memory cannot be measured here
for node in $("$bed" list); do
    "$bed" node "$node" cp "$scratch/lu" /tmp/lu.nodes || fail "cp on $node"
done
[ -e /tmp/lu.nodes ] && fail "nodes have no /tmp of their own"
front "${acquire[@]}" -o nodes.tib /tmp/lu.nodes S >out 2>err || fail "program on nodes: $(cat err)"
grep -q verified out || fail "program on nodes: $(cat out)"
front "$o/ti-info" nodes.tib | grep -q "bundle of 8 ranks" || fail "program on nodes: no bundle"
front "$o/ti-acquire" --sites "$state/sites.conf" --np 64 -c cputime /tmp/lu.nodes S >out 2>err
[ $? -eq 3 ] && grep -q "program is not on this machine" err && grep -q "hint:.*--mem-per-rank" err ||
    fail "pilot of what is not here: $(cat err)"
# it cannot be executed on one of them; it is nowhere: nodes are named
"$bed" node n1.site2 sh -c 'chmod -x /tmp/lu.nodes'
front "${acquire[@]}" -o nodes2.tib /tmp/lu.nodes S >out 2>err
[ $? -eq 3 ] && grep -q "n1.site2.*not executable" err || fail "not executable there: $(cat err)"
front "${acquire[@]}" -o nodes2.tib /tmp/lu.nowhere S >out 2>err
[ $? -eq 3 ] && grep -q "n\[1-2\].site1.*cannot find the program '/tmp/lu.nowhere'" err ||
    fail "program nowhere: $(cat err)"
[ -e lu.nodes.8.run ] || [ -e lu.nowhere.8.run ] && fail "a run directory stayed"
for node in $("$bed" list); do "$bed" node "$node" rm -f /tmp/lu.nodes; done
all_clean "program on nodes"

# --- what nodes know of the program is warned of
if TIARA_MPICC=${MPICC:-mpicc} "$o/ti-mpicc" -O1 -o blocks "$top/tests/cli/acquire-app.c" 2>err; then
    front "${acquire[@]}" -o blocks.tib ./blocks ok >out 2>err || fail "ti-mpicc: $(cat err)"
    grep -q "blocks' was compiled with ti-mpicc: cputime counts" err || fail "ti-mpicc: no warning: $(cat err)"
fi

# --- another file under the program's name: named; without that node it works
"$bed" replace n2.site1 "$scratch/lu" /bin/true
front "${acquire[@]}" --force -o lu.tib ./lu S >out 2>err
[ $? -eq 3 ] && grep -q "n2.site1.*is another one" err || fail "another program: $(cat err)"
front "${acquire[@]}" --tolerate 1 --force -o lu.tib ./lu S >out 2>err || fail "tolerate: $(cat err)"
grep -q "1 node is left out" err || fail "tolerate: $(cat err)"
[ -e lu.8.run ] && fail "tolerate: the run directory stayed"
all_clean tolerate

# --- a node dies: it is named, all others are ended
front "${acquire[@]}" --tolerate 1 --no-gather ./lu B >out 2>err &
run=$!
while kill -0 $run 2>/dev/null && ! grep -qs "ranks have started" lu.8.run/run.log; do sleep 0.2; done
"$bed" crash n1.site2
wait $run
[ $? -eq 5 ] && grep -q "n1.site2.*ending the run" err || fail "crash: $(cat err)"
grep -q "ti-gather lu.8.run" err || fail "crash: it does not say how to gather: $(cat err)"
left=$("$bed" ps)
[ -z "$left" ] || fail "crash: still running: $left"
finish
