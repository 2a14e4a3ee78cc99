#!/bin/bash
# ti-gather merges the ranks of a complete run without an option, and loses nothing; those of a
# partial run stay files until it is complete.  Killed at any step, it leaves the files or a whole
# bundle.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
command -v unzip >/dev/null || { echo "there is no unzip"; exit 77; }

# members BUNDLE: of the zip, without the manifest
members() { unzip -Z1 "$1" | grep -v MANIFEST.json | sort | xargs; }

# events TRACE: all events, call sites and extra values
events() { ti-info --dump --call-sites "$1" | grep -v '^#'; }

# same RUN BUNDLE: the bundle has all that the files of the run have
same() {
    cmp <(events "$1") <(events "$2") || fail "$2: other events than $1"
    run 0 ti-info --compare "$1" "$2"
}

mktrace --np 6 --iterations 40 --noise 100 --untraced --times a.run
run 0 ti-gather a.run
[ "$(members a.tib)" = ranks.ti ] || fail "a complete run: $(members a.tib)"
[ -s err ] && { fail "it talks"; cat err; }
events a.tib | grep -q '_ns=' || fail "there are no durations"
same a.run a.tib
run 0 ti-info --split a.tib -o split.run
same a.run split.run
run 0 ti-gather --merge none a.run -o files.tib
[ "$(members files.tib | wc -w)" = 6 ] || fail "--merge none: $(members files.tib)"
run 0 ti-gather --merge root a.run -o root.tib
cmp <(unzip -p a.tib ranks.ti) <(unzip -p root.tib ranks.ti) || fail "--merge root: another trace"

# a rank that is missing, damaged, cut off, or ended otherwise: files, until it is complete
says_files() { # STATUS WHAT NAMES
    rm -f b.tib
    run "$1" ti-gather --force b.run
    says err "ti-gather: ranks are not merged, their files are stored: not all ranks are here and complete"
    [ "$(members b.tib)" = "$3" ] || fail "$2: $(members b.tib)"
    for name in $3; do unzip -p b.tib "$name" | cmp - "b.run/$name" || fail "$2: $name"; done
    run "$1" ti-gather --force -q b.run
    grep -q 'not merged' err && fail "$2: -q talks"
}
all="rank-000000.ti rank-000001.ti rank-000002.ti rank-000003.ti rank-000004.ti rank-000005.ti"
cp -r a.run b.run
rm b.run/rank-000003.ti
says_files 1 missing "${all/ rank-000003.ti/}"
cp a.run/rank-000003.ti b.run
printf X | dd of=b.run/rank-000003.ti bs=1 seek=300 conv=notrunc status=none
says_files 1 damaged "${all/ rank-000003.ti/}"
for cut in 0 5; do
    cp a.run/rank-* b.run
    truncate -s -40 b.run/rank-00000$cut.ti
    says_files 1 "rank $cut is cut off" "$all"
done
run 1 ti-gather --force --extras stats b.run
says err "ti-gather: warning: ranks are not merged, their files are stored with all values: not all ranks are here"
cp a.run/rank-* b.run
run 0 ti-gather --force b.run
[ "$(members b.tib)" = ranks.ti ] || fail "complete at last: $(members b.tib)"
same a.run b.tib
rm -r b.run
mktrace --np 6 --iterations 4 --end 2:1 b.run
says_files 1 'rank 2 was aborted' "$all"

# ranks that were not counted alike are merged, and marked as their files are
rm -r b.run b.tib
mktrace --np 4 --ranks 0-1 b.run
mktrace --np 4 --ranks 2-3 --counter valgrind b.run
run 0 ti-gather --merge none b.run -o mixed.tib
run 3 ti-info --verify mixed.tib
sed 's/mixed/b/' out err >want
run 0 ti-gather b.run
[ "$(members b.tib)" = ranks.ti ] || fail "other counters: $(members b.tib)"
run 3 ti-info --verify b.tib
cat out err | diff want - || fail "other counters: --verify says something else"

# where only the files have room, they are stored
mktrace --np 4 --bytes 200000 big.run
mkdir disk
if mount -t tmpfs -o size=1200k tiara-test disk 2>/dev/null; then
    run 0 ti-gather -o disk/big.tib big.run
    says err "warning: ranks are not merged, their files are stored: cannot "
    says err "No space left on device"
    run 0 ti-info --compare big.run disk/big.tib
    run 4 ti-gather --force --merge root -o disk/big.tib big.run
    [ "$(ls -A disk)" = big.tib ] || fail "left on the full disk: $(ls -A disk)"
    umount disk
fi

# after --remove, the bundle has the only copy: it is not replaced, and gives the files back
rm -r b.run b.tib
cp -r a.run b.run
run 0 ti-gather --remove b.run
says out "removed 6 traces"
cp b.tib before.tib
cp a.run/rank-000000.ti b.run
run 4 ti-gather --force b.run
says err "'b.tib' has ranks 1-5 of this run, of which there is no such trace here, and is not replaced"
says err "hint: \"ti-info --split 'b.tib' -o DIR\" makes rank files, to be copied to 'b.run'"
cmp b.tib before.tib || fail "the bundle was replaced"
run 0 ti-info --split b.tib -o back.run
cp back.run/rank-* b.run
run 0 ti-gather --force b.run
same a.run b.tib

# killed in place of each call that changes a file: no bundle, or a whole one; with --remove no rank
# is lost; and the same command ends the work
for ((at = 1; ; at++)); do
    rm -rf b.run b.tib b.tib.part
    cp -r a.run b.run
    { KILLED_AT=$at LD_PRELOAD=$o/tests/killed.so ti-gather -q --remove b.run >out 2>err; } 2>shell
    rc=$?
    [ $rc -ne 0 ] || break
    [ $rc -eq 137 ] || { fail "killed at call $at: status $rc"; cat err; }
    if [ -e b.tib ]; then
        cmp <(events a.run) <(events b.tib) || fail "killed at call $at: half a bundle"
    else
        diff -r a.run b.run || fail "killed at call $at: files are lost"
    fi
    [ -e b.tib ] && continue
    run 0 ti-gather -q b.run
    cmp <(events a.run) <(events b.tib) || fail "killed at call $at: it cannot be run again"
done
[ $at -gt 15 ] || fail "only $at calls change files"
ls ./*.part 2>/dev/null && fail "a .part is left"
exit $failed
