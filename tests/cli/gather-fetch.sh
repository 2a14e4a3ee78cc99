#!/usr/bin/env bash
# ti-gather fetches traces from nodes: by channels on this machine, which are ti-node's all
# the same, and by SSH where a server can be started.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/gather-lib.bash
[ -x "$o/ti-node" ] || { echo "ti-node was not built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export HOME=$tmp/home
mkdir -p "$HOME"
export TMPDIR=$tmp # what is killed leaves a folder

# nodes N NP [KEYPATH=JSON]...: NP ranks on N nodes; changes of RUN.json
nodes() {
    traces_of "$1" "$2"
    shift 2
    [ $# -eq 0 ] || change "$@"
}
# Nodes that are reached under their names; for nodes and change.
named='nodes.*.host=@name'
parts() { find run -name '*.part' | wc -l; }

# all_came: every file is here as it is on its node
all_came() {
    local file
    for file in node[0-9]*/rank-*; do
        cmp "$file" "run/${file##*/}" || fail "$file differs"
    done
}
# Nodes that log in to each other, with this machine's ssh and our configuration: the same
# comes whoever is reached through whom.  Where they cannot log in, all are reached from here.
through_relays() {
    local k
    printf '#!/bin/sh\nexec %s -F %s/ssh/config "$@"\n' "$(command -v ssh)" "$PWD" >bin/ssh
    chmod +x bin/ssh
    for k in star 1 2 4; do
        nodes 8 16 "$named" 'nodes.*.site="here"'
        run 0 ti-gather --arity $k -F ssh/config run -o tree-$k.tib
        all_came
    done
    ended_meanwhile
    nodes 8 16 "$named" 'nodes.*.site="here"'
    printf '#!/bin/sh\necho "%s: Permission denied (publickey)." >&2\nexit 255\n' node >bin/ssh
    run 0 ti-gather --arity 2 -F ssh/config run -o lonely.tib
    says err "nodes of here cannot log in to each other"
    [ "$(grep -c 'log in to each other' err)" = 1 ] || fail "said more than once: $(cat err)"
    all_came
}

# children PID: whom it started
children() { cat /proc/"$1"/task/*/children 2>/dev/null; }
# relays: our ti-nodes that started an ssh
relays() {
    local p c
    for p in $(pgrep -x ti-node); do
        [[ $(readlink /proc/"$p"/exe) = "$PWD"/* ]] || continue
        for c in $(children "$p"); do
            [ "$(cat /proc/"$c"/comm 2>/dev/null)" = ssh ] && echo "$p"
        done
    done | sort -u
}
# halted OPTION...: ti-gather, in the background as $pid, which stands still when more came than
# one node has: some of that through a relay, and one trace in part
halted() {
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 HALT=8000000 \
        LD_PRELOAD=$o/tests/halt.so ti-gather --force "$@" -F ssh/config run -o big.tib >out 2>err &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        [ "$(cut -d' ' -f3 /proc/$pid/stat)" != T ] || return
        sleep 0.05
    done
    fail "it did not halt: $(cat err)"
}
# A relay, or ti-gather itself, that ends while traces come costs time and no trace.  What was
# appended is no trace, but enough to be on its way for a while.
ended_meanwhile() {
    local file pid found
    nodes 8 8 "$named" 'nodes.*.site="here"'
    for file in node[0-9]/rank-*; do head -c 6M /dev/urandom >>"$file"; done
    halted --arity 1
    mapfile -t found < <(relays)
    [ ${#found[@]} -gt 0 ] && kill -KILL "${found[@]}" || fail "no relay was there"
    [ "$(parts)" -gt 0 ] || fail "nothing was on its way"
    kill -CONT $pid
    wait $pid
    all_came
    [ $failed = 0 ] || cat err
    rm -f run/rank-*
    halted --arity 2
    kill -KILL $pid
    wait $pid 2>/dev/null
    [ "$(parts)" -gt 0 ] || fail "nothing is left of what came"
    ti-gather --force --arity 2 -F ssh/config run -o big.tib >out 2>err
    all_came
    [ "$(parts)" = 0 ] || fail "parts are left"
}

# by SSH: a server of ours, on the loopback; one node's key is not known, one has no server
by_ssh() {
    sshd=$(command -v sshd || echo /usr/sbin/sshd)
    port=$(python3 "$top/tests/cli/free_port.py")
    mkdir -m 700 ssh there bin
    ssh-keygen -q -t ed25519 -N '' -f ssh/host && ssh-keygen -q -t ed25519 -N '' -f ssh/user
    cat >ssh/sshd_config <<END
ListenAddress 127.0.0.1:$port
HostKey $PWD/ssh/host
AuthorizedKeysFile $PWD/ssh/user.pub
StrictModes no
UsePAM no
PidFile $PWD/ssh/pid
SetEnv HOME=$PWD/there PATH=$PWD/bin:$PATH TMPDIR=$TMPDIR
END
    cat >ssh/config <<END
Host node*
    HostName 127.0.0.1
    Port $port
    HostKeyAlias known
    User $(id -un)
    IdentityFile $PWD/ssh/user
    IdentitiesOnly yes
    UserKnownHostsFile $PWD/ssh/known
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    KexAlgorithms curve25519-sha256
    UpdateHostKeys no
END
    printf 'Host node2\n HostKeyAlias unknown\nHost node3\n Port 1\n' | cat - ssh/config >ssh/all
    echo "known $(cut -d' ' -f1,2 ssh/host.pub)" >ssh/known
    [ -d /run/sshd ] || mkdir /run/sshd 2>/dev/null
    "$sshd" -f "$PWD/ssh/sshd_config" -E "$PWD/ssh/log"
    while [ ! -s ssh/pid ] && pgrep -f "$PWD/ssh/sshd_config" >/dev/null; do sleep 0.1; done
    if [ -s ssh/pid ]; then
        trap 'kill $(cat ssh/pid)' EXIT
        for transport in libssh2 openssh; do
            nodes 4 8 "$named"
            run 1 ti-gather --transport $transport -F ssh/all run -o ssh-$transport.tib
            says err "fetched 4 of 8 ranks from 2 of 4 nodes"
            says err "4 ranks are missing: 4-7"
            says err "hint: \"ti-gather --force run -o ssh-$transport.tib\" fetches what is missing"
            grep -q "node 'node2', ranks 4-5: .*known_hosts" err || fail "node2: $(cat err)"
            grep -q "node 'node3', ranks 6-7: .*refused" err || fail "node3: $(cat err)"
        done
        # nobody is reached, so nobody is by another way
        nodes 4 8 "$named" 'nodes.*.site="far"' 'nodes.*.gateway="node3"'
        run 5 ti-gather --arity 1 -F ssh/all run -o gone.tib
        says err "no trace could be had from any node"
        grep "another way" err && fail "reached: $(cat err)"
        through_relays
        [ -n "$(ls there/.cache/tiara)" ] || fail "nothing was put into the home: $(ls -a there)"
    else
        echo "no SSH server could be started: $(cat ssh/log 2>/dev/null)"
    fi
}
run 4 ti-gather -F nofile run
says err "cannot read ssh's configuration 'nofile': No such file"
# what ssh itself takes for none
for none in none None /dev/null; do
    run 4 ti-gather -F $none norun
    says err "cannot open 'norun'"
done
# meanwhile, in a folder of its own
(mkdir far && cd far && by_ssh && exit $failed) >far.out 2>&1 &
far=$!

# all of it, as if the traces had been here
nodes 4 8
mktrace --np 8 --run-id $id all
run 0 ti-gather all -o all.tib
run 0 ti-gather --progress json run -o run.tib
says err "fetched 8 of 8 ranks from 4 nodes"
python3 -IBS "$top/tests/cli/progress_checks.py" steps err >steps || failed=1
bytes=$(cat run/rank-*.ti | wc -c)
grep -qx "ti-gather fetching: $bytes of $bytes bytes" steps || { fail "no progress of $bytes bytes"; cat steps err; }
run 0 ti-info --compare all.tib run.tib
for r in 0 3 7; do cmp all/rank-00000$r.ti run/rank-00000$r.ti || fail "rank $r differs"; done
# the bundle tells of the fetch; of sites there is nothing to tell
python3 -m zipfile -e run.tib whole && says whole/MANIFEST.json '"name":"fetch"'
run 0 ti-info run.tib
grep -qE '^(sites|steps)' out && fail "sites of which nobody said anything: $(cat out)"
# what is here is not fetched again, and is not in its time
run 0 ti-gather run -o here.tib
python3 -m zipfile -e here.tib whole && grep -q '"name":"fetch"' whole/MANIFEST.json && fail "fetched again"
# sites, clusters and steps of RUN.json are told of, with ours
rm run/rank-*
for i in 0 1 2 3; do change "nodes.$i.site=\"s$((i / 2))\"" "nodes.$i.cluster=\"c$((i % 3))\""; done
change 'steps=[{"name": "ship", "seconds": 0.25}, {"name": "application", "seconds": 12.5}]' \
    'plan={"mode": "CF-(2,4)"}'
run 0 ti-gather run -o sites.tib
run 0 ti-info sites.tib
says out "nodes        4: node-0"
says out "sites        2, with 4 clusters: s0/c0, s0/c1, s1/c2, s1/c0"
says out "acquired     CF-(2,4)"
grep -qE '^steps        ship 0\.250 s, application 12\.500 s, fetch [0-9.]+ s, gather [0-9.]+ s$' out ||
    fail "steps: $(cat out)"
run 0 ti-info --json sites.tib
json out 'sites=["s0", "s1"]' 'clusters=["s0/c0", "s0/c1", "s1/c2", "s1/c0"]' 'acquired="CF-(2,4)"' \
    'steps.*.name=["ship", "application", "fetch", "gather"]' steps.2.nodes=4 steps.2.ranks=8 ||
    fail "sites and steps as JSON: $(cat out)"
# what is here is not fetched again; a plan connects to nobody
rm run/rank-000005.ti
chmod 0 node0
run 0 ti-gather run -o again.tib
says err "fetched 1 of 1 ranks from 1 node,"
chmod 700 node0
rm run/rank-*
run 0 ti-gather --plan run
says err "8 ranks would be fetched first, from 4 nodes"
[ -e run/rank-000000.ti ] && fail "a plan fetched"

# a file, a node and a directory that are not there; a run that is another one
nodes 4 8
rm node1/rank-000003.ti
rm -r node2
mktrace --np 8 --run-id 0bad0bad0bad0bad0bad0bad0bad0bad --ranks 6-6 other
cp other/rank-000006.ti node3/
run 1 ti-gather run -o part.tib
says err "node 'node1', rank 3: no trace"
says err "node 'node2', ranks 4-5: there is no directory '$PWD/node2'"
says err "node 'node3', rank 6: 'rank-000006.ti' is no trace of this run"
says err "4 ranks are missing: 3-6"
[ "$(parts)" = 0 ] || fail "parts are left"
python3 -m zipfile -e part.tib part && says part/MANIFEST.json "not fetched from node 'node2'"
# "not fetched from node 'node2'"
# ... and then they are: only these are fetched
cp all/rank-000003.ti node1/
cp all/rank-000006.ti node3/
mkdir node2 && cp all/rank-00000[45].ti node2/
run 0 ti-gather --force run -o part.tib
says err "fetched 4 of 4 ranks from 3 nodes"
run 0 ti-info --compare all.tib part.tib
# what no node has any more is not to be fetched again
nodes 4 8
rm node1/rank-000003.ti
run 1 ti-gather run -o lost.tib
says err "node 'node1', rank 3: no trace"
says err "hint: no node has them any more"
grep "fetches what is missing" err && fail "a hint to fetch what is lost: $(cat err)"
# nothing at all
nodes 2 4 'nodes.*.directory="/no/such"'
run 5 ti-gather --json run -o none.tib
says err "no trace could be had from any node"
says err "hint: no node has them any more"
nodes 2 4
for file in node[01]/rank-*; do cp other/rank-000006.ti "$file"; done
run 5 ti-gather --json run -o "no ne's.tib"
says err "hint: \"ti-gather run -o 'no ne'\\''s.tib'\" fetches what is missing"
[ -e "no ne's.tib" ] && fail "a bundle of nothing"

# digits of a run id are digits in any case
nodes 2 4 "run_id=\"${id^^}\""
run 0 ti-gather run -o upper.tib
all_came

# what others could have written is not executed
nodes 2 4 "$named" 'nodes.*.via=["touch", "taken"]'
chmod o+w run/RUN.json
run 3 ti-gather --trust run -o none.tib
says err "RUN.json' could have been written by others" "hint:"
chmod o-w,g+w run/RUN.json
run 3 ti-gather --trust run -o none.tib
says err "RUN.json' could have been written by others" "hint:"
chmod g-w run/RUN.json
# nor is what an archive may have brought, unless that is asked for
run 3 ti-gather run -o none.tib
says err "RUN.json' has nodes reached by a command of its own: touch taken"
says err "hint: if that is a run of yours, --trust allows it"
nodes 2 4 "$named" 'nodes.*.via=["srun", "--overlap", "--jobid=1;id", "--prolog=touch taken", "{node}"]'
run 3 ti-gather run -o none.tib
says err "'--prolog=touch taken'"
nodes 2 4 'nodes.1.tiara="/home/mallory/tiara"' 'nodes.1.host="x"'
run 3 ti-gather run -o none.tib
says err "RUN.json' has nodes execute what is in a folder of theirs: '/home/mallory/tiara'"
nodes 2 4 "$named" 'nodes.*.via=["touch", "taken"]'
run 0 ti-gather --plan run
[ ! -e taken ] || fail "what others wrote was executed"
# a batch system's own way is known
nodes 2 4 "$named" 'nodes.*.via=["oarsh", "{node}"]'
run 5 ti-gather run -o none.tib
says err "oarsh"

# removed on the nodes too, but nothing else, and only if asked for
nodes 3 6
touch node1/keep
run 0 ti-gather --remove run -o gone.tib
says out "removed 6 traces"
[ ! -e node0 ] && [ ! -e node2 ] && [ "$(ls node1)" = keep ] || fail "the nodes: $(ls node*)"
run 0 ti-info --verify gone.tib

# what changed there since it came is not, though it is as long, and as old
nodes 3 6
run 0 ti-gather run -o since.tib
cp -p node1/rank-000002.ti was
printf x | dd of=node1/rank-000002.ti bs=1 seek=200 conv=notrunc status=none
cmp -s was node1/rank-000002.ti && fail "it is the same"
touch -r was node1/rank-000002.ti
cp node1/rank-000002.ti changed
run 0 ti-gather --force --remove run -o since.tib
says err "rank 2 remains on node 'node1': it is not what was gathered"
[ ! -e node0 ] && [ ! -e node2 ] && [ "$(ls node1)" = rank-000002.ti ] || fail "the nodes: $(ls node*)"
cmp changed node1/rank-000002.ti || fail "it was changed"
run 0 ti-info --verify since.tib

# another way to the nodes, which fails for one of them, hangs for one
cat >way <<'END'
#!/bin/sh
case $1 in
    node1) echo "way: no route to $1" >&2; exit 3 ;;
    node2) exec sleep 9999 ;;
esac
echo "Welcome to $1"
exec sh -c "$2"
END
chmod +x way
nodes 5 10 "$named" "nodes.*.via=[\"$PWD/way\", \"{node}\"]" nodes.4.host=null nodes.4.via=null # this machine
run 1 "${patient[@]}" ti-gather --trust --timeout 20 run -o way.tib
says err "node 'node1', ranks 2-3: ti-node did not start, status 3: way: no route to node1"
says err "node 'node2', ranks 4-5: the login succeeded, but ti-node did not start within 20 s"
says err "4 ranks are missing: 2-5"

# one that is interrupted can go on
nodes 4 8 "$named" "nodes.*.via=[\"$PWD/way\", \"{node}\"]"
ti-gather --trust --timeout 600 run -o int.tib >out 2>err &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e run/rank-000007.ti ]; do sleep 0.1; done
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "not ended by SIGINT"
[ -e run/rank-000007.ti ] || fail "what had come is gone"
[ -e int.tib ] && fail "a bundle"

# what makes no sense
nodes 2 4
cp run/RUN.json sound.json
while IFS='|' read -r changes text; do
    cp sound.json run/RUN.json
    read -ra but <<<"$changes"
    change "${but[@]}"
    run 3 ti-gather run -o bad.tib
    says err "$text"
    says err "hint: nothing was changed: mend it, or move it away"
done <<'END'
nodes.1.ranks=[[3,2]]|'run/RUN.json': node 2 ('node1'): "ranks" is no list of
nodes.0.ranks=3|node 1 ('node0'): "ranks" is no list of
nodes.0.ranks=null np=|node 1 ('node0'): its "ranks" are not known, nor how many there are
nodes.1.directory=|node 2 ('node1'): it has no "directory"
nodes.1.host=5|node 2 ('node1'): "host", "gateway" and "tiara" are strings
nodes.*.host="x" nodes.1.via=["srun"]|node 2 ('node1'): "via" differs
nodes.*.host="x" nodes.0.via=["srun"]|node 2 ('node1'): "via" differs
nodes.0.host="x" nodes.0.via="srun"|node 1 ('node0'): "via" is no command
run_id=|no "run_id"
run_id="xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"|"run_id" has to be 32 digits in hexadecimal, not 'xxx
nodes.1.name=7|node 2: "name" is no string
nodes.1.name=""|node 2: it has no "name"
nodes.1.ranks=[[4,99]]|node 2 ('node1'): "ranks" has some that the run does not have ("np")
nodes.0.host="-oProxyCommand=x"|node 1 ('node0'): "host": '-oProxyCommand=x' is no [USER@]HOST
nodes.0.host="a" nodes.0.gateway="a;x"|node 1 ('node0'): "gateway": 'a;x' is no [USER@]HOST
END
run 2 ti-gather --timeout 0 run
run 2 ti-gather --transport pigeon run
says err "--transport must be auto, libssh2 or openssh, not 'pigeon'"

# no room here
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    nodes 2 4
    cp run/RUN.json disk/
    head -c 1M /dev/zero >disk/fill 2>/dev/null
    run 4 ti-gather disk -o disk.tib
    says err "No space left"
    says err "hint: make room and start again"
    rm disk/fill
    run 0 ti-gather disk -o disk.tib
    [ "$(find disk -name '*.part' | wc -l)" = 0 ] || fail "parts are left: $(ls disk)"
    for r in 0 1 2 3; do cmp disk/rank-00000$r.ti node$((r / 2))/rank-00000$r.ti || fail "rank $r differs"; done
    umount disk
fi
wait $far || { cat far.out; failed=1; }
grep '^no SSH server' far.out
exit $failed
