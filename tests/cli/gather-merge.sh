#!/bin/bash
# ti-gather --merge root: the bundle holds what ti-info --merge makes of the bundle of all files;
# ranks in trouble are as without; nothing is removed that cannot be read back.
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
    run "$status" ti-gather "$run" -o files.tib
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
run 2 ti-gather --volumes exact a.run
says err "--volumes and --extras are for --merge"
run 2 ti-gather --merge root --extras some a.run
says err "--extras is exact, stats, or bound:N%"
run 2 ti-gather --merge all a.run
says err "--merge must be none or root, not 'all'"
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

# --remove, from nodes too: nothing is removed if the bundle is damaged behind our back
printf '#!/bin/sh\nexec sh -c "$2"\n' >way
chmod +x way
traces_of 3 6 --iterations 300 --noise 100000
change "nodes.*.via=[\"$PWD/way\", \"{node}\"]"
mkdir kept
cp node*/rank-* kept
all_there() {
    local file
    for file in kept/*; do
        file=${file##*/}
        cmp "kept/$file" run/"$file" && cmp kept/"$file" node[0-2]/"$file" || fail "$DAMAGE: $file"
    done
}
for DAMAGE in 83 417 750 cut; do
    export DAMAGE
    LD_PRELOAD=$o/tests/damage.so run 4 ti-gather --trust --force --merge root --remove run -o r.tib
    case $DAMAGE in
        cut) says err "'r.tib' has no central directory" ;;
        *) says err "'r.tib' does not hold what was gathered" ;;
    esac
    all_there
done
unset DAMAGE
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
change "nodes.*.via=[\"$PWD/way\", \"{node}\"]"
printf '#!/bin/sh\n[ "$1" = node1 ] || exec sh -c "$2"\n' >way
run 1 ti-gather --trust --merge root --volumes bound:2% run -o hint.tib
says err "--merge root --volumes bound:2% run -o hint.tib"
exit $failed
