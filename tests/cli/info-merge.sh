#!/bin/bash
# ti-info --merge and --split: all forms of a trace say the same, whatever the way to it; damage and
# wrong use are told.  tests/mpi/merge.sh does so with real programs.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# facts TRACE: all that ti-info says of events, soundness and metadata
facts() {
    { ti-info --dump --call-sites "$1"; ti-info --verify "$1"; ti-info --json --rank 2 "$1"; } 2>&1 |
        sed "s|${1//./\\.}|TRACE|g; /^ \"bytes\":/d; s/\"bytes\": [0-9]*,//; s/\"bytes\": null,//"
}

mktrace --np 6 --iterations 40 --noise 100 --untraced --times a.run
ti-gather -q --merge none a.run || fail "gather"
facts a.run >want
run 0 ti-info --merge --extras exact a.run -o a.ti
grep -qE '^a.ti: 6 ranks in [1-6] groups, 0 stored as copies; [0-9.]+ KiB before, [0-9.]+ KiB now$' out ||
    { fail "the line of --merge"; cat out; }
run 0 ti-info -q --merge --extras exact a.tib -o b.tib
[ -s out ] && fail "--merge -q prints"
run 0 ti-info --merge --extras exact a.run -o c.tib
run 0 ti-info --split b.tib -o split.run
diff - out <<<'split.run: 6 ranks' || fail "the line of --split"
mkdir d.run
cp a.ti d.run/ranks.ti
for trace in a.tib a.ti b.tib c.tib d.run split.run; do
    facts $trace | diff want - >differs || { fail "$trace says something else"; head differs; }
done
[ "$(unzip -Z1 b.tib | sort | xargs)" = "MANIFEST.json ranks.ti" ] || fail "the members of b.tib"
python3 - <(unzip -p a.tib MANIFEST.json) split.run/MANIFEST.json <<'END' || fail "the manifest changed"
import json, sys
before, after = (json.load(open(name)) for name in sys.argv[1:])
assert before.pop('ranks') and 'ranks' not in after
assert before == after
END
run 0 ti-info --json --merge --extras exact b.tib -o json.ti
cmp a.ti json.ti || fail "--merge of a merged trace changes it"
check info merged || fail "the JSON of --merge"
run 0 ti-info --rank 3 b.tib
says out 'file         ranks.ti'
grep -q stored out && fail "a rank of a merged trace has a size"
run 0 ti-info a.ti
says out 'a.ti: merged trace of 6 ranks'
says out "stored       $(($(stat -c %s a.ti) / 1024))"
grep -q '^bytes ' out && fail "ranks of a merged trace have sizes"

# any tree of mergers gives the same file
run 0 ti-info --merge --extras exact a.run/rank-00000[135].ti -o odd.ti
run 0 ti-info --merge --extras exact a.run/rank-000004.ti a.run/rank-000000.ti -o even.ti
run 0 ti-info --merge --extras exact even.ti a.run/rank-000002.ti odd.ti -o tree.ti
cmp a.ti tree.ti || fail "another tree, another file"

# missing ranks, and one that was cut off
cp -r a.run some.run
rm some.run/rank-00000[14].ti
truncate -s -40 some.run/rank-000003.ti
facts some.run >want
run 0 ti-info --merge --extras exact some.run -o some.ti
run 0 ti-info --split some.ti -o some.split
run 0 ti-info --merge --extras exact some.run -o some.tib
[ "$(cd some.split && echo *)" = "$(cd some.run && echo *)" ] || fail "--split writes other ranks"
for trace in some.ti some.split some.tib; do
    facts $trace | diff want - >differs || { fail "$trace says something else"; head differs; }
done
run 1 ti-info --verify some.ti
says out '2 ranks missing: 1, 4'
run 3 ti-info --rank 1 some.ti
says err "rank 1 is missing from 'some.ti'"

# what cannot be merged
run 2 ti-info --merge a.run
says err '--merge, --split and --trips need -o'
run 2 ti-info --merge a.run -o a.ti
says err "'a.ti' exists"
run 2 ti-info --merge --split a.run -o x.ti
run 3 ti-info --merge a.run odd.ti -o x.ti
says err "'a.run' and 'odd.ti' both have rank 1"
run 3 ti-info --merge odd.ti even.ti -o x.tib
says err "there is no manifest of these ranks for the bundle 'x.tib'"
says err 'hint: a name that does not end in .tib'
mktrace --np 6 --iterations 40 --run-id 00112233445566778899aabbccddeeff other.run
run 3 ti-info --merge odd.ti other.run -o x.ti
says err "'odd.ti' and 'other.run' are of different runs"
printf x | dd of=some.run/rank-000000.ti bs=1 seek=900 conv=notrunc 2>/dev/null
run 3 ti-info --merge some.run -o x.ti
says err "'some.run/rank-000000.ti' is damaged at byte"
run 4 ti-info --merge a.run -o nowhere/x.ti
says err "cannot make 'nowhere/x.ti'"
cp a.ti some.run/ranks.ti
run 3 ti-info some.run
says err "'some.run' holds both 'ranks.ti' and 'rank-00000"
for trace in x.*; do [ -e "$trace" ] && fail "$trace is there"; done

# an interrupted command leaves nothing
mktrace --np 20 --iterations 4000 --noise 100000 long.run
run 0 ti-info --merge long.run/rank-00000?.ti -o long.ti
for command in 'merge long.run' 'split long.ti'; do
    rc=0
    while [ $rc -eq 0 ]; do # unless it was too late
        rm -rf x.out
        # shellcheck disable=SC2086  # words are meant
        ti-info --$command -o x.out 2>err &
        until compgen -G 'tiara-*/rank*' >/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
        kill -TERM $! 2>/dev/null
        wait $!
        rc=$?
    done
    [ $rc -eq 143 ] || fail "--$command: not ended by SIGTERM"
    compgen -G 'x.out*' && fail "--$command leaves something"
    compgen -G 'tiara-*' && fail "--$command leaves something"
done

# killed in place of any call that changes a file, it leaves a folder, which the next one removes
# when a minute has passed
for command in 'merge a.run' 'split a.ti'; do
    for ((at = 1; ; at++)); do
        rm -rf x.out
        # shellcheck disable=SC2086  # words are meant
        { KILLED_AT=$at LD_PRELOAD=$o/tests/killed.so ti-info -q --$command -o x.out; } 2>shell
        rc=$?
        [ $rc -eq 137 ] || break
        touch -c -d '2 minutes ago' tiara-*
        ls -d tiara-* >/dev/null 2>&1 && folders=$((${folders:-0} + 1))
        [ "$(compgen -G 'tiara-*' | wc -l)" -le 1 ] || fail "--$command: killed at call $at: $(ls -d tiara-*)"
    done
    [ $rc -eq 0 ] || fail "--$command: killed at call $at: status $rc"
    compgen -G 'tiara-*' && fail "--$command leaves something"
done
[ "${folders:-0}" -gt 2 ] || fail "only ${folders:-no} folders were left by those killed"
rm -rf x.out

# ti-gather does not take ranks for missing that a merged trace has, nor replace a bundle that has more
run 3 ti-gather d.run -o x.tib
says err "'d.run' holds a merged trace, 'ranks.ti'"
run 1 ti-info --compare a.run some.ti
cp -r a.run less.run
rm less.run/rank-000003.ti
truncate -s 3000 less.run/rank-000005.ti
run 4 ti-gather --force less.run -o b.tib
says err "'b.tib' has ranks 3, 5 of this run, of which there is no such trace here, and is not replaced"
says err "ti-info --split 'b.tib'"
facts b.tib | cmp - <(facts a.run) || fail "b.tib was replaced"
run 0 ti-gather --force a.run -o b.tib

# damage: an error, or the right events
mktrace --np 4 --iterations 8 --noise 50 e.run
ti-info -q --merge e.run -o e.ti
ti-info --dump e.run >want
bytes=$(stat -c %s e.ti)
head -c "$bytes" e.ti >x.ti
for ((at = 0; at < bytes; at += bytes / 200 + 1)); do
    head -c "$at" e.ti >x.ti
    run 3 ti-info --dump x.ti
    [ -s err ] || fail "cut at $at: no reason"
    cp e.ti x.ti
    printf "\\x$(printf %x $(($(od -An -tu1 -j "$at" -N1 e.ti) ^ 1 << at % 8)))" |
        dd of=x.ti bs=1 seek="$at" conv=notrunc 2>/dev/null
    if ti-info --dump x.ti >out 2>err; then
        cmp -s out want || fail "another byte at $at: other events"
    elif [ $? -ne 3 ]; then
        fail "another byte at $at: $(cat err)"
    fi
    run 3 ti-info --verify x.ti
done

# loops of a merged trace are checked once, and --verify says so
mktrace --np 3 --plain --iterations 3000 --noise 5 loop.run
run 0 ti-info --merge loop.run -o loop.ti
run 0 ti-info --verify loop.ti
says out 'conserved: 0 messages, 0 bytes; 3,000 collectives'
says out 'loops checked once: 8,997 of 9,006 events of 3 ranks were not read'
says out 'verified: 3 ranks, 9,006 events'
run 0 ti-info --verify --json loop.ti
json out verified=true events=9006 left_out.ranks=3 left_out.events=8997 || fail "--verify --json"
run 0 ti-info --verify --json loop.run
json out verified=true events=9006 left_out.ranks=0 left_out.events=0 || fail "--verify --json of files"

# a signal ends it, also while a large rank is encoded, and nothing is left
mktrace --np 1 --iterations 200000 --noise 1000 large.run
rc=0
while [ $rc -eq 0 ]; do # unless it was too late
    ti-info --merge large.run -o large.ti >out 2>err &
    until compgen -G 'tiara-*' >/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -TERM $! 2>/dev/null
    wait $!
    rc=$?
    [ $rc -eq 0 ] && rm large.ti
done
[ $rc -eq 143 ] || { fail "interrupted: status $rc"; cat err; }
says err 'ti-info: interrupted'
compgen -G 'large.ti*' && fail "interrupted, and something is left"
compgen -G 'tiara-*' && fail "interrupted, and a folder is left"

exit $failed
