#!/usr/bin/env bash
# ti-gather --remove: a bundle that is damaged between its last write and the comparison
# leaves every trace where it was, here and on the nodes.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/trace-lib.bash
command -v unzip >/dev/null || { echo "there is no unzip"; exit 77; }
[ -x "$o/ti-node" ] || { echo "ti-node was not built"; exit 77; }
id=5eed5eed5eed5eed5eed5eed5eed5eed
export HOME=$tmp/home ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
mkdir "$HOME"

# Three nodes, two ranks on each, reached by a command as others are by SSH
printf '#!/bin/sh\nexec sh -c "$2"\n' >way
chmod +x way
mkdir run kept
nodes=
for i in 0 1 2; do
    mktrace --np 6 --run-id $id --iterations 300 --noise 100000 --ranks $((2 * i))-$((2 * i + 1)) node$i
    nodes+="${nodes:+,}{\"name\": \"node$i\", \"host\": \"node$i\", \"directory\": \"$PWD/node$i\",
        \"via\": [\"$PWD/way\", \"{node}\"], \"ranks\": [[$((2 * i)), $((2 * i + 1))]]}"
done
echo "{\"run_id\": \"$id\", \"np\": 6, \"nodes\": [$nodes]}" >run/RUN.json
cp node*/rank-* kept/
all_there() {
    local r name
    for r in 0 1 2 3 4 5; do
        name=rank-00000$r.ti
        cmp "kept/$name" "node$((r / 2))/$name" || fail "$DAMAGE: '$name' on its node"
        cmp "kept/$name" "run/$name" || fail "$DAMAGE: '$name' here"
    done
}

# In a trace, or so that there is no directory
for merge in auto none; do
    for DAMAGE in 83 417 750 cut; do
        export DAMAGE
        LD_PRELOAD=$o/tests/damage.so run 4 ti-gather --trust --force --merge $merge --remove run -o a.tib
        case $merge,$DAMAGE in
            *,cut) says err "'a.tib' has no central directory" ;;
            auto,*) says err "'a.tib' does not hold what was gathered" ;;
            *) says err "'a.tib' does not hold what was in 'rank-" ;;
        esac
        grep -q "removed" out && fail "$DAMAGE: $(cat out)"
        all_there
    done
done
unset DAMAGE
# Sound traces are removed, and in the bundle
run 0 ti-gather --trust --force --remove run -o a.tib
says out "removed 6 traces"
[ -z "$(ls node*/rank-* run/rank-* 2>/dev/null)" ] || fail "not removed: $(ls node* run)"
run 0 ti-info --compare kept a.tib

# A node that cannot be reached keeps its traces for another gather, and so do the others: the
# command of the hint completes the bundle, and removes them
for i in 0 1 2; do mkdir -p node$i && cp kept/rank-00000[$((2 * i))$((2 * i + 1))].ti node$i/; done
mv way open
printf '#!/bin/sh\n[ "$1" != node2 ] || exit 1\nexec sh -c "$2"\n' >way
chmod +x way
for merge in none node; do
    run 1 ti-gather --trust --force --merge $merge --remove run -o part.tib
    says err "traces are not removed: not all of them could be fetched"
    says err "hint: \"ti-gather --force --remove --trust --merge $merge run -o part.tib\" fetches what is missing"
    grep -q "removed [1-9]" out && fail "unreachable: $(cat out)"
    for i in 0 1 2; do
        cmp kept/rank-00000$((2 * i)).ti node$i/rank-00000$((2 * i)).ti || fail "unreachable: removed on node$i"
    done
done
mv open way
run 0 ti-gather --force --remove --trust --merge node run -o part.tib
says out "removed 6 traces"
[ -z "$(ls node*/rank-* run/rank-* 2>/dev/null)" ] || fail "not removed: $(ls node* run)"
run 0 ti-info --compare kept part.tib

# Traces that were removed are in the bundle alone: it is not replaced by one that has less
for i in 0 1 2; do mkdir -p node$i && cp kept/rank-00000[$((2 * i))$((2 * i + 1))].ti node$i/; done
mv node2 away
run 1 ti-gather --trust --remove run -o b.tib
says out "removed 4 traces"
mv away node2
cp b.tib before.tib
run 4 ti-gather --trust --force run -o b.tib
says err "'b.tib' has ranks 0-3 of this run, of which there is no such trace here, and is not replaced"
says err "hint: \"unzip -n 'b.tib' 'rank-*' -d 'run'\" brings what it has back; or give another name"
cmp b.tib before.tib || fail "the bundle was replaced"
[ -e b.tib.part ] && fail "a .part"
# ... nor is anything removed, and other names will do, or the way that the hint tells
cmp kept/rank-000005.ti node2/rank-000005.ti || fail "rank 5 is gone"
run 1 ti-gather --trust run -o rest.tib
says out "rest.tib: 2 of 6 ranks"
run 1 ti-gather --trust --force run -o rest.tib
run 0 unzip -q -n b.tib 'rank-*' -d run
# ... and a disk that was full meanwhile loses nothing either
for bytes in 300 5000; do
    head -c $bytes kept/rank-000002.ti >run/rank-000002.ti
    run 4 ti-gather --trust --force run -o b.tib
    says err "'b.tib' has rank 2 of this run, of which there is no such trace here"
    cmp b.tib before.tib || fail "the bundle was replaced, with $bytes bytes of a rank"
done
rm run/rank-000002.ti
run 0 unzip -q -n b.tib 'rank-*' -d run
run 0 ti-gather --trust --force --remove run -o b.tib
run 0 ti-info --compare kept b.tib
[ -z "$(ls node*/rank-* run/rank-* 2>/dev/null)" ] || fail "not removed: $(ls node* run)"
# one of another run, or that is damaged, is replaced as ever
mktrace --np 2 --run-id ${id/5/6} other
run 0 ti-gather --force other -o rest.tib
head -c 1000 before.tib >cut.tib
run 0 ti-gather --force other -o cut.tib

# More of a node than fits into one request, as when ranks are dealt out one by one
mktrace --np 20000 --run-id $id --iterations 1 even
mkdir many.run
find even -name 'rank-*[13579].ti' -delete
echo "{\"run_id\": \"$id\", \"np\": 20000, \"nodes\": [{\"name\": \"even\", \"host\": \"even\",
    \"directory\": \"$PWD/even\", \"via\": [\"$PWD/way\", \"{node}\"]}]}" >many.run/RUN.json
run 1 "$o/ti-gather" --trust --remove many.run
says out "removed 10000 traces"
[ -z "$(ls even 2>/dev/null)" ] || fail "left: $(ls even | head -n 3)"
exit $failed
