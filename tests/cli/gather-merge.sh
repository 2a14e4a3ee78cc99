#!/bin/bash
# ti-gather --merge root: the bundle holds what ti-info --merge makes of the bundle of all files;
# ranks in trouble are as without; nothing is removed that cannot be read back.  With --merge node,
# the same bundle comes over the link in fewer bytes.
# shellcheck source=tests/cli/gather-lib.bash
. tests/cli/gather-lib.bash
command -v unzip >/dev/null || { echo "there is no unzip"; exit 77; }
[ -x "$o/ti-node" ] || { echo "ti-node was not built"; exit 77; }
export HOME=$tmp/home ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
mkdir "$HOME"

# as_merged STATUS RUN [OPTION]...: gather with and without --merge root, and compare
as_merged() {
    local status=$1 run=$2
    shift 2
    rm -f files.tib root.tib later.tib
    run "$status" ti-gather --merge none "$run" -o files.tib
    mv err err.files
    run "$status" ti-gather --merge root "$@" "$run" -o root.tib
    cmp err err.files || fail "$run: other warnings"
    run 0 ti-info -q --merge "$@" files.tib -o later.tib
    [ "$(unzip -Z1 root.tib | xargs)" = "ranks.ti MANIFEST.json" ] || fail "$run: members"
    for name in files root later; do unzip -p $name.tib MANIFEST.json >$name.json; done
    cmp <(unzip -p root.tib ranks.ti) <(unzip -p later.tib ranks.ti) || fail "$run $*: ranks.ti"
    python3 - <<'END' || fail "$run $*: the manifest"
import json
def manifest(name):
    m = json.load(open(name + '.json'))
    for step in m['acquisition']['steps']:
        assert step.pop('seconds') >= step.pop('check_seconds') >= 0 and step.pop('started')
    return m
assert 'ranks' in manifest('files') and manifest('root') == manifest('later')
END
}

mktrace --np 6 --iterations 40 --noise 100 --untraced --times a.run
as_merged 0 a.run
as_merged 0 a.run --volumes bound:1%
as_merged 0 a.run --volumes stats --extras exact
as_merged 0 a.run --extras exact
run 0 ti-info --compare a.run root.tib
run 0 ti-gather --merge root a.run -o line.tib
grep -qE '^line.tib: 6 of 6 ranks from 3 nodes, 1,484 events, [0-9.]+ KiB in [1-6] groups, [0-9.]+ KiB before$' out ||
    { fail "the line"; cat out; }
run 0 ti-gather --force --merge root --json a.run -o line.tib
run 0 ti-info --json --merge a.run -o ranks.ti
mv out merged
run 0 ti-gather --force --merge root --json a.run -o line.tib
python3 - <<'END' || fail "the JSON"
import json, os
ours, theirs = json.load(open('out')), json.load(open('merged'))
assert theirs.pop('ranks') == ours['ranks'] == 6
assert ours['merged'] == theirs and ours['bytes'] == os.path.getsize('line.tib')
assert theirs['bytes'] == os.path.getsize('ranks.ti')
END
run 0 ti-gather --force --merge none --json a.run -o line.tib
says out '"merged": null'
run 0 ti-gather --plan --merge root a.run -o plan.tib
[ ! -e plan.tib ] || fail "a plan writes"

# missing, cut off, damaged, misnamed: all as without --merge
cp -r a.run b.run
rm b.run/rank-000001.ti
truncate -s -40 b.run/rank-000003.ti
printf X | dd of=b.run/rank-000004.ti bs=1 seek=300 conv=notrunc status=none
mv b.run/rank-000005.ti b.run/rank-000001.ti
as_merged 1 b.run
says err.files "1 rank is incomplete, kept as far as it goes: 3"
says err.files "1 rank is damaged: 4"
run 1 ti-info --verify root.tib
says out "rank 3: incomplete after"

# use, room, signals
run 2 ti-gather --merge none --volumes exact a.run
says err "--volumes and --extras are not for --merge none"
run 2 ti-gather --merge root --extras some a.run
says err "--extras is exact, stats, or bound:N%"
run 2 ti-gather --merge all a.run
says err "--merge must be auto, none, root or node, not 'all'"
mktrace --np 40 --iterations 300 --noise 100000 big.run
(ulimit -f 100; run 4 ti-gather --merge root big.run; exit $failed) || failed=1
says err "File too large"
ls ./*.part big.tib 2>/dev/null && fail "a full disk leaves a file"
mkdir disk
if mount -t tmpfs -o size=256k tiara-test disk 2>/dev/null; then
    run 4 ti-gather --merge root -o disk/a.tib big.run
    says err "No space left on device"
    says err "hint: make room"
    [ -z "$(ls -A disk)" ] || fail "left on the full disk: $(ls -A disk)"
    umount disk
fi
for t in 0.01 0.05 0.2 0.4; do
    timeout -s INT $t ti-gather --merge root big.run >out 2>err
    rc=$?
    [ $rc -eq 0 ] || [ $rc -eq 124 ] || fail "interrupted: status $rc"
    ls ./*.part >/dev/null 2>&1 && fail "interrupted after $t s: a .part stays"
    [ $rc -eq 124 ] && [ -e big.tib ] && { ti-info -q --verify big.tib || fail "half a bundle"; }
    rm -f big.tib
done

# through_way: the nodes are reached by a command, as others are by SSH
through_way() {
    printf '#!/bin/sh\nexec sh -c "$2"\n' >way
    chmod +x way
    change "nodes.*.via=[\"$PWD/way\", \"{node}\"]"
}

# warnings: those of the last command, and not what it fetched
warnings() {
    grep -vE "fetched|were connected" err |
        sed 's/--merge node run -o node/--merge root run -o root/; s/ and what came merged//'
}

# as_root STATUS [OPTION]...: gather with --merge root and --merge node, and compare; none of the
# traces is here before or after the latter
as_root() {
    local status=$1
    shift
    rm -f run/rank-* root.tib node.tib
    run "$status" ti-gather --trust --merge root "$@" run -o root.tib
    warnings >err.root
    rm -f run/rank-*
    run "$status" ti-gather --trust --json --merge node "$@" run -o node.tib
    cmp <(warnings) err.root || { fail "$*: other warnings"; cat err; }
    cmp <(unzip -p root.tib ranks.ti) <(unzip -p node.tib ranks.ti) || fail "$*: another merged trace"
    for name in root node; do unzip -p $name.tib MANIFEST.json >$name.json; done
    python3 - <<'END' || fail "$*: the manifest"
import json
def manifest(name):
    m = json.load(open(name + '.json'))
    m['acquisition'].pop('steps')
    m.pop('gathering', None)
    return m
assert manifest('root') == manifest('node'), (manifest('root'), manifest('node'))
END
}

# what came merged is merged as files are, with any quality
traces_of 3 24 --iterations 40 --noise 100 --untraced --times
through_way
for options in "" "--volumes bound:1%" "--volumes stats --extras exact" "--extras exact"; do
    # shellcheck disable=SC2086
    as_root 0 $options
    [ "$(json out fetch.merged)" = 24 ] || fail "$options: $(json out fetch.merged) ranks came merged"
    [ "$(ls -A run)" = RUN.json ] || fail "$options: left in run: $(ls -A run)"
done

# a file of an unusual name does not contradict what came merged
rm -f run/rank-*
cp node0/rank-000001.ti run/rank-1.ti
run 0 ti-gather --trust --force --json --merge node --extras exact run -o node.tib
[ "$(json out fetch.merged)" = 24 ] || fail "rank-1.ti: $(json out fetch.merged) ranks came merged"
says err "ignored: 'rank-1.ti': its rank came merged from a node"
cmp <(unzip -p root.tib ranks.ti) <(unzip -p node.tib ranks.ti) || fail "rank-1.ti: another merged trace"

# ranks in trouble
rm node0/rank-000001.ti
truncate -s -40 node0/rank-000003.ti
printf X | dd of=node1/rank-000009.ti bs=1 seek=300 conv=notrunc status=none
mv node1/rank-000011.ti node1/rank-000010.ti
echo "nothing" >node2/rank-000016.ti
rm node2/rank-000017.ti
mktrace --np 24 --run-id 0bad0bad0bad0bad0bad0bad0bad0bad --ranks 17-17 node2
as_root 1
[ "$(json out fetch.merged)" = 18 ] || fail "$(json out fetch.merged) of 18 sound ranks came merged"
says err.root "1 rank is incomplete, kept as far as it goes: 3"

# the link carries an eighth of the bytes at most: a node with 64 ranks
traces_of 1 64 --iterations 40
through_way
run 0 ti-gather --force --trust --json --merge none run -o files.tib
sent=$(json out tree.nodes.0.sent_bytes)
as_root 0
merged=$(json out tree.nodes.0.sent_bytes)
[ $((8 * merged)) -le "$sent" ] || fail "64 ranks: $merged bytes sent, $sent as files"
run 0 ti-info --compare files.tib node.tib
rm node.tib
run 0 ti-gather --trust --merge node run -o node.tib
says err "fetched 64 of 64 ranks from 1 node, "
says err "; 64 came merged, $(awk '{printf "%.1f", $1 / 1024}' <(cat node0/* | wc -c)) KiB before"

# more ranks than one merged trace has
traces_of 1 1100 --iterations 1 --plain
through_way
as_root 0
[ "$(json out fetch.merged)" = 1100 ] || fail "$(json out fetch.merged) of 1100 ranks came merged"

# a node whose disk is full sends files
traces_of 2 6 --iterations 100
mv node1 there && mkdir node1
if mount -t tmpfs -o size=1m tiara-test node1 2>/dev/null; then
    cp there/* node1
    head -c 2M /dev/zero >node1/full 2>/dev/null
    through_way
    rm -f run/rank-* root.tib
    run 0 ti-gather --trust --merge root run -o root.tib
    rm -f run/rank-*
    run 0 ti-gather --trust --json --merge node --force run -o node.tib
    says err "node 'node1' sends files, since it could not merge its ranks: "
    says err "No space left on device"
    [ "$(json out fetch.merged)" = 3 ] || fail "$(json out fetch.merged) of 3 ranks came merged"
    cmp <(unzip -p root.tib ranks.ti) <(unzip -p node.tib ranks.ti) || fail "full disk: another trace"
    rm -f run/rank-*
    rm node1/full
    diff <(ls -A there) <(ls -A node1) || fail "left on the full disk"
    umount node1
fi

# interrupted at any time: no bundle or a whole one, nothing left, nothing lost; the same command
# goes on
traces_of 2 40 --iterations 300 --noise 100000
through_way
ls node? >there.files
for t in 0.05 0.2 0.4 0.8; do
    timeout -s INT $t ti-gather --trust --merge node run -o int.tib >out 2>err
    rc=$?
    [ $rc -eq 0 ] || [ $rc -eq 124 ] || fail "interrupted: status $rc: $(cat err)"
    [ "$(ls -A run)" = RUN.json ] || fail "interrupted after $t s: left in run: $(ls -A run)"
    [ ! -e int.tib.part ] || fail "interrupted after $t s: a .part stays"
    ls node? | cmp - there.files || fail "interrupted after $t s: the nodes have other files"
    [ ! -e int.tib ] || ti-info -q --verify int.tib || fail "half a bundle"
    rm -f int.tib
done
as_root 0

# --remove, from nodes too: nothing is removed if the bundle is damaged behind our back
traces_of 3 6 --iterations 300 --noise 100000
through_way
mkdir kept
cp node*/rank-* kept
all_there() {
    local file
    for file in kept/*; do
        file=${file##*/}
        cmp kept/"$file" node[0-2]/"$file" || fail "$how, $DAMAGE: $file"
        [ "$how" = node ] || cmp "kept/$file" run/"$file" || fail "$DAMAGE: $file"
    done
}
for how in node root; do
    for DAMAGE in 83 417 750 cut; do
        export DAMAGE
        LD_PRELOAD=$o/tests/damage.so run 4 ti-gather --trust --force --merge $how --remove run -o r.tib
        case $DAMAGE in
            cut) says err "'r.tib' has no central directory" ;;
            *) says err "'r.tib' does not hold what was gathered" ;;
        esac
        all_there
    done
    unset DAMAGE
done
# a file that is not the one that came merged stays
cat >meddle.py <<'END'
"""Passes input on to a ti-node, and changes a trace before its second list, which is to remove."""
import os, subprocess, sys
node, lists = subprocess.Popen(["sh", "-c", sys.argv[1]], stdin=subprocess.PIPE), 0
while data := os.read(0, 1 << 16):
    before, lists = lists, lists + data.count(b'"do":"list"')
    if before < 2 <= lists:
        with open("node1/rank-000002.ti", "r+b") as trace:
            trace.seek(300)
            trace.write(b"X")
    node.stdin.write(data)
    node.stdin.flush()
node.stdin.close()
sys.exit(node.wait())
END
printf '#!/bin/sh\n[ "$1" = node1 ] || exec sh -c "$2"\nexec python3 -IBS meddle.py "$2"\n' >way
rm run/rank-*
run 0 ti-gather --trust --force --merge node --remove run -o n.tib
says out "removed 5 traces"
says err "rank 2 remains on node 'node1': it is not what was gathered"
[ "$(ls node*/rank-* run/rank-* 2>/dev/null)" = node1/rank-000002.ti ] || fail "removed or not: $(ls node* run)"
run 0 ti-info --compare kept n.tib
through_way
for i in 0 1 2; do mkdir -p node$i && cp kept/rank-00000[$((2 * i))$((2 * i + 1))].ti node$i/; done
run 0 ti-gather --trust --force --merge root --remove run -o r.tib
says out "removed 6 traces"
[ -z "$(ls node*/rank-* run/rank-* 2>/dev/null)" ] || fail "not removed: $(ls node* run)"
run 0 ti-info --compare kept r.tib
cp kept/rank-000002.ti run
run 4 ti-gather --trust --force run -o r.tib
says err "'r.tib' has ranks 0-1, 3-5 of this run, of which there is no such trace here"
says err "\"ti-info --split 'r.tib' -o DIR\" makes rank files, to be copied to 'run'"
run 0 ti-info --split r.tib -o split
cp split/rank-* run
run 0 ti-gather --force --merge root run -o r.tib

# the hint about missing ranks merges, too
traces_of 3 6 --iterations 3
through_way
run 0 ti-gather --trust --merge node run -o whole.tib
printf '#!/bin/sh\n[ "$1" = node1 ] || exec sh -c "$2"\n' >way
run 1 ti-gather --trust --merge root --volumes bound:2% run -o hint.tib
says err "--merge root --volumes bound:2% run -o hint.tib"
# a bundle is not replaced by one that has less
rm run/rank-*
run 4 ti-gather --trust --force --merge node run -o whole.tib
says err "'whole.tib' has ranks 2-3 of this run, of which there is no such trace here"
run 0 ti-info --verify whole.tib
exit $failed
