#!/bin/bash
# ti-gather --merge root over SSH: what is merged while it arrives through relays is what the files
# say; a dead node's ranks are missing until it is back; --remove removes the files on the nodes.
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
command -v python3 >/dev/null || skip "there is no python3"
bed_up --sites 2 --nodes 3 --gateways --inner-ssh
run=$scratch/merge.run
cd "$scratch" || exit 1

gather() { # STATUS BUNDLE [OPTION]...
    local status=$1 bundle=$2 got
    shift 2
    front "$o/ti-gather" --trust --timeout 5 "$@" -o "$bundle" "$run" >said 2>&1
    got=$?
    [ $got -eq "$status" ] || { cat said; fail "ti-gather $*: status $got, not $status"; }
}
says() { grep -qE -- "$1" said || { cat said; fail "no '$1'"; }; }
traces_there() { for n in n{1,2,3}.site{1,2}; do "$bed" node "$n" find /scratch/traces -name "rank-*" 2>/dev/null; done; }

"$top/tests/testbed/mkrun" --ranks 8 --bytes 20000 "$run" >said || { cat said; fail "mkrun"; }
gather 0 files.tib
rm "$run"/rank-*
"$bed" cut n2.site1
gather 1 merged.tib --merge root
says 'merged.tib: 40 of 48 ranks'
says '8 ranks are missing: 8-15'
"$o/ti-info" --verify merged.tib >said 2>&1
says '8 ranks missing: 8-15'
"$bed" mend n2.site1
gather 0 merged.tib --merge root --force
says 'merged.tib: 48 of 48 ranks from'
"$o/ti-info" --compare files.tib merged.tib >said 2>&1 || { cat said; fail "other events"; }
"$o/ti-info" -q --merge files.tib -o later.ti || fail "ti-info --merge"
cmp <(python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile("merged.tib").read("ranks.ti"))') later.ti || fail "another trace"

[ "$(traces_there | wc -l)" = 48 ] || fail "traces on nodes: $(traces_there | wc -l)"
gather 0 merged.tib --merge root --force --remove
says 'removed 48 traces'
[ -z "$(traces_there)" ] || fail "left on nodes: $(traces_there)"
"$o/ti-info" --compare files.tib merged.tib >said 2>&1 || { cat said; fail "other events after --remove"; }
finish
