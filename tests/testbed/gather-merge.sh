#!/bin/bash
# ti-gather --merge over SSH: what is merged here while it arrives through relays, or by the nodes
# before they send it, is what the files say; a dead node's ranks are missing until it is back;
# --remove removes the files on the nodes.  Nodes that merge 64 ranks send an eighth of the bytes.
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
ranks_of() { python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("ranks.ti"))' "$1"; }
traces_there() { for n in n{1,2,3}.site{1,2}; do "$bed" node "$n" find /scratch/traces -name "rank-*" 2>/dev/null; done; }

"$top/tests/testbed/mkrun" --ranks 8 --bytes 20000 "$run" >said || { cat said; fail "mkrun"; }
gather 0 files.tib --merge none
"$o/ti-info" -q --merge files.tib -o later.ti || fail "ti-info --merge"
for how in root node; do
    rm -f "$run"/rank-* merged.tib
    "$bed" cut n2.site1
    gather 1 merged.tib --merge $how
    says 'merged.tib: 40 of 48 ranks'
    says '8 ranks are missing: 8-15'
    "$o/ti-info" --verify merged.tib >said 2>&1
    says '8 ranks missing: 8-15'
    "$bed" mend n2.site1
    gather 0 merged.tib --merge $how --force
    [ $how = root ] || says '; 48 came merged, '
    says 'merged.tib: 48 of 48 ranks from'
    "$o/ti-info" --compare files.tib merged.tib >said 2>&1 || { cat said; fail "other events"; }
    cmp <(ranks_of merged.tib) later.ti || fail "$how: another trace"
done
[ "$(ls "$run")" = RUN.json ] || fail "left here: $(ls "$run")"

[ "$(traces_there | wc -l)" = 48 ] || fail "traces on nodes: $(traces_there | wc -l)"
gather 0 merged.tib --merge node --force --remove
says 'removed 48 traces'
[ -z "$(traces_there)" ] || fail "left on nodes: $(traces_there)"
"$o/ti-info" --compare files.tib merged.tib >said 2>&1 || { cat said; fail "other events after --remove"; }

# what a node sends by itself, and what all send; with relays too
sent() { # BUNDLE OPTION...: sets `node` and `all`
    local before
    rm -f "$run"/rank-*
    before=$("$bed" node n1.site1 sh -c 'cat /sys/class/net/[!l]*/statistics/tx_bytes')
    front "$o/ti-gather" --trust --json "${@:2}" -o "$1" "$run" >said.json 2>said || { cat said; fail "$1"; }
    node=$(($("$bed" node n1.site1 sh -c 'cat /sys/class/net/[!l]*/statistics/tx_bytes') - before))
    all=$(python3 -c 'import json
print(sum(node["sent_bytes"] for node in json.load(open("said.json"))["tree"]["nodes"]))')
}
"$top/tests/testbed/mkrun" --ranks 64 --iterations 400 "$run" >said || { cat said; fail "mkrun"; }
sent files64.tib --arity star --merge none
files_node=$node files_all=$all
sent merged64.tib --arity star --merge node
[ $((8 * all)) -le "$files_all" ] || fail "$all bytes of traces sent, $files_all as files"
[ $((8 * node)) -le "$files_node" ] || fail "n1.site1: $node bytes on its link, $files_node with files"
echo "64 ranks a node: $node bytes on the link of one, $files_node with files"
"$o/ti-info" --compare files64.tib merged64.tib >said 2>&1 || { cat said; fail "other events"; }
sent relays64.tib --arity 1 --merge node
[ $((8 * all)) -le "$files_all" ] || fail "with relays, $all bytes of traces sent, $files_all as files"
cmp <(ranks_of merged64.tib) <(ranks_of relays64.tib) || fail "relays: another trace"
finish
