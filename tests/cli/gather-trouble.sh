#!/bin/bash
# ti-gather: ranks that are missing, cut off, damaged, misnamed, there twice or of
# another run are named; what can be used goes into the bundle.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# missing ranks, condensed
mktrace --np 12 a.run
rm a.run/rank-00000[4-7].ti a.run/rank-000011.ti
run 1 ti-gather a.run
says err "warning: 5 ranks are missing: 4-7, 11"
says out "a.tib: 7 of 12 ranks"
run 1 ti-info --verify a.tib
says out "5 ranks missing: 4-7, 11"
run 0 ti-info a.tib
says out "5 ranks missing: 4-7, 11"
run 3 ti-info --rank 5 a.tib
says err "rank 5 is missing"
run 0 ti-info --rank 8 a.tib
run 1 ti-gather --plan --json a.run
says out '"reason": "no file"'

# killed: the prefix is there
mktrace --np 3 --iterations 500 --hold 1 b.run
run 1 ti-gather b.run
says err "1 rank is incomplete, kept as far as it goes: 1"
says err "rank 1: cut off: no end was written"
run 0 ti-info --json --rank 1 b.tib
says out '"end": "killed"'
run 1 ti-info --rank 1 --dump b.tib
cp out killed
mktrace --np 3 --iterations 500 whole.run
ti-info --rank 1 --dump whole.run | head -n "$(wc -l <killed)" | cmp - killed || fail "no prefix"
[ "$(wc -l <killed)" -gt 1000 ] || fail "a short prefix: $(wc -l <killed)"
run 1 ti-info --verify b.tib
says out "rank 1: incomplete after $(wc -l <killed) events: cut off"

# torn in a chunk
mktrace --np 3 --iterations 500 --noise 1000 c.run
truncate -s -2000 c.run/rank-000002.ti
run 1 ti-gather c.run
says err "rank 2: cut off"
run 1 ti-info --verify c.tib

# ended early, and why
mktrace --np 2 --end 1:3 d.run
run 1 ti-gather d.run
says err "rank 1: the library stopped recording: disk full"
mktrace --np 2 --end 0:1 d2.run
run 1 ti-gather d2.run
says err "rank 0: ended by MPI_Abort"

# damaged
mktrace --np 3 e.run
printf X | dd of=e.run/rank-000001.ti bs=1 seek=300 conv=notrunc status=none
run 1 ti-gather e.run
says err "1 rank is damaged: 1"
says err "is damaged at byte"
run 1 ti-info --verify e.tib
run 3 ti-info --verify e.run
run 3 ti-info e.run
says out "rank 1, after 0 events: "

# a wrong name is two ranks' trouble
mktrace --np 3 f.run
mv f.run/rank-000002.ti f.run/rank-000001.ti
run 1 ti-gather f.run
says err "rank 1: 'rank-000001.ti' holds the trace of rank 2"
says err "rank 2: no file; but 'rank-000001.ti' holds its trace"

# two files for one rank: the same, then different ones
mktrace --np 3 g.run
cp g.run/rank-000002.ti g.run/rank-2.ti
run 0 ti-gather g.run
says err "ignored: 'rank-2.ti' is the same as 'rank-000002.ti'"
run 3 ti-info g.run
says err "two traces of rank 2: 'rank-000002.ti' and 'rank-2.ti'"
mktrace --np 3 --ranks 2 --volume 5 --as 2:rank-02.ti g.run
run 1 ti-gather --force g.run
says err "1 rank is there more than once: 2"

# of another run; of a larger one
mktrace --np 4 h.run
rm h.run/rank-000001.ti
mktrace --np 4 --ranks 1 --run-id ffffffffffffffffffffffffffffffff h.run
rm h.run/rank-000002.ti
mktrace --np 5 --ranks 2 h.run
run 1 ti-gather h.run
says err "2 ranks are of another run: 1-2"
says err "'rank-000002.ti' is of a run of 5 ranks"

# a file of another run beside a whole one is trouble too
mktrace --np 3 l.run
mktrace --np 3 --ranks 1 --run-id ffffffffffffffffffffffffffffffff --as 1:rank-1.ti l.run
run 1 ti-gather l.run
says err "ignored: 'rank-1.ti' is of another run"
says out "l.tib: 3 of 3 ranks"
rm l.run/rank-1.ti
cp l.run/rank-000002.ti l.run/rank-000003.ti
run 1 ti-gather --force l.run

# --remove takes complete traces only
mktrace --np 3 --iterations 500 --hold 1 m.run
run 1 ti-gather --remove m.run
says out "removed 2 traces"
[ "$(echo m.run/rank-*)" = m.run/rank-000001.ti ] || fail "--remove left: $(echo m.run/*)"

# what is not a bundle is not replaced, nor what is not a file
mktrace --np 2 n.run
mkdir out.d
mkfifo out.fifo
echo "my notes" >out.txt
: >out.empty
ln -s out.fifo out.link
ln -s nowhere out.dangling
for x in out.d out.fifo out.link; do
    run 4 ti-gather n.run -o $x
    says err "'$x' is a"
    run 4 ti-gather --force n.run -o $x
    says err "and is not replaced"
done
run 4 ti-gather --force n.run -o out.dangling
says err "dangling symbolic link"
run 4 ti-gather n.run -o out.txt
says err "it is not a bundle"
run 4 ti-gather --force n.run -o out.txt
says err "'out.txt' is not a bundle, and is not replaced"
[ "$(cat out.txt)" = "my notes" ] || fail "out.txt was replaced"
if [ ! -d out.d ] || [ ! -p out.fifo ] || [ ! -L out.link ]; then
    fail "what is no file was replaced"
fi
run 4 ti-gather n.run -o out.empty
run 0 ti-gather --force n.run -o out.empty
run 0 ti-gather --force n.run -o out.empty
if mknod null c 1 3 2>/dev/null; then
    run 4 ti-gather --force n.run -o null
    says err "'null' is a device"
    [ -c null ] || fail "a device was replaced"
fi

# nor is a .part that is not ours
echo "my notes" >p.tib.part
run 4 ti-gather n.run -o p.tib
says err "'p.tib.part' is there and is not part of a bundle"
[ "$(cat p.tib.part)" = "my notes" ] || fail "p.tib.part was replaced"
rm p.tib.part
ln -s out.txt p.tib.part
run 4 ti-gather n.run -o p.tib
[ "$(cat out.txt)" = "my notes" ] || fail "out.txt was replaced through p.tib.part"
rm p.tib.part
mkfifo p.tib.part
run 4 ti-gather n.run -o p.tib
says err "was taken by somebody else"
[ -p p.tib.part ] || fail "a fifo was removed"
rm p.tib.part
head -c 100 out.empty >p.tib.part
run 0 ti-gather n.run -o p.tib

# counted by different counters
mktrace --np 4 i.run
rm i.run/rank-000003.ti
mktrace --np 4 --ranks 3 --counter valgrind i.run
run 0 ti-gather --merge none i.run
says err "counter is papi on ranks 0-2 and valgrind on rank 3: volumes cannot be compared"
run 0 ti-info i.tib
says out "NOT THE SAME ON ALL RANKS"
says out "counter is papi on ranks 0-2 and valgrind on rank 3: volumes cannot be compared"
tail -n +2 out >from-bundle
run 0 ti-info i.run
tail -n +2 out | diff from-bundle - || fail "bundle and directory differ"
run 0 ti-info --json i.tib
json out mixed=true 'differ={"counter": {"papi": "0-2", "valgrind": "3"}}' ||
    fail "the JSON of a bundle with two counters"
run 3 ti-info --verify i.tib
says out "counter is papi on ranks 0-2 and valgrind on rank 3: volumes cannot be compared"

# on processors that are not alike: worth a word, and no more
mktrace --np 6 isa.run
rm isa.run/rank-00000[135].ti
mktrace --np 6 --ranks 1 --isa x86-64-v4 isa.run
mktrace --np 6 --ranks 3 --isa x86-64-v4 isa.run
mktrace --np 6 --ranks 5 --isa x86-64-v2 isa.run
differs="isa is x86-64-v3 on ranks 0,2,4, x86-64-v4 on ranks 1,3 and x86-64-v2 on rank 5"
run 0 ti-gather --json isa.run
says err "$differs: libraries may execute other code there, and volumes differ"
json out 'differ.isa.x86-64-v3="0,2,4"' estimate=false || fail "JSON of the gather"
run 0 ti-info isa.tib
says out "$differs"
run 0 ti-info -q isa.tib
says out "$differs"
run 0 ti-info --verify isa.tib
says err "$differs"
run 0 ti-info --compare isa.run isa.tib

# RUN.json that is none, says what it cannot, or is of another run: told with its place in the
# file and what to do; no bundle, and nothing is touched
mktrace --np 2 j.run
id=$(od -An -tx1 -j24 -N16 j.run/rank-000000.ti | tr -d ' \n')
sum_of() { cat j.run/* | cksum; }
while IFS='|' read -r json text; do
    printf "$json" >j.run/RUN.json
    before=$(sum_of)
    for way in "" --plan --force "--remove --json"; do
        # shellcheck disable=SC2086  # words are meant
        run 3 ti-gather $way j.run/
        says err "ti-gather: 'j.run/RUN.json'$text"
        says err "hint: nothing was changed: mend it, or move it away, then the traces that are here"
        [ -s out ] && fail "said of '$json': $(cat out)"
        grep -q "ignored\|is missing" err && fail "'$json' was ignored: $(cat err)"
    done
    [ "$(sum_of)" = "$before" ] || fail "something in the run directory was changed: $json"
    [ -e j.tib ] || [ -e j.tib.part ] && fail "a bundle all the same: $json"
done <<END
{"np": 2,\\n "plan": | ends too early: line 2, column 9:
{"np": 2,\\n "plan": {"folding": 3\\n| ends too early: line 3, column 0:
{"np": 2,\\n np: 3}| is malformed: line 2, column 3: string or
{"np": 2} {"np": 2}| is malformed: line 1, column 11:
{"np": 2, "np": 3}| is malformed: line 1, column 14: duplicate object key near '"np"'
\\x7fELF| is malformed: line 1, column 
| is empty
[1, 2]| is no object
{"np": "2"}|: "np" has to be a number of ranks, not '2'
{"np": 2.0}|: "np" has to be a number of ranks, not 2.0
{"np": 0}|: "np" has to be 1 to
{"np": 1e3}|: "np" has to be a number of ranks, not 1000.0
{"run_id": 7}|: "run_id" has to be a string, not 7
{"run_id": "7"}|: "run_id" has to be 32 digits in hexadecimal, not '7'
{"nodes": {"name": "a"}}|: "nodes" has to be a list, not {"name":"a"}
{"nodes": [{}, "a"]}|: "nodes" has to be a list of objects, as number 2 is not, not 'a'
{"transport": 1}|: "transport" has to be a string, not 1
{"counter": "papi"}|: "counter" has to be an object, not 'papi'
{"steps": true}|: "steps" has to be a list, not true
{"np": 3}| does not fit the traces that are here: its "np" is 3, but 'rank-000000.ti' is of a run of 2 ranks
{"np": 5, "run_id": "$id"}| does not fit the traces that are here: its "np" is 5, but
{"np": 2, "run_id": "ffffffffffffffffffffffffffffffff"}| is of another run than the traces that are here: its "run_id" is ffffffffffffffffffffffffffffffff, that of 'rank-000000.ti' is $id
END
ln -sf RUN.json.off j.run/RUN.json
run 3 ti-gather --force j.run
says err "'j.run/RUN.json' is a link to a file that is not there" "hint: nothing was changed"
printf '{}' >j.run/RUN.json.off
# moved away, as the hint says; null is as good as nothing; a directory is no file
mv j.run/RUN.json j.run/RUN.json.off
run 0 ti-gather j.run
mv j.tib j-off.tib
echo '{"np": null, "run_id": null, "nodes": null, "steps": null, "counter": null}' >j.run/RUN.json
run 0 ti-gather j.run
run 0 ti-info --compare j.tib j-off.tib
rm j.run/RUN.json
mkdir j.run/RUN.json
run 4 ti-gather --force j.run
says err "cannot read 'j.run/RUN.json': Is a directory"
# an earlier bundle outlives it
run 0 ti-info --verify j.tib

# nothing usable
mkdir k.run
: >k.run/rank-000000.ti
run 3 ti-gather k.run
says err "nothing in 'k.run' can be gathered"
[ -e k.tib ] && fail "an empty bundle"

# a file of 600 bytes that claims 16,777,216 ranks: memory goes by what is there
mktrace --np 16777216 --ranks 0-0 --plain huge.run
run 1 ti-gather huge.run
says err "16777215 ranks are missing: 1-16777215"
# Sanitizers take their share; and there are virtual machines whose kernel gives a page of its own to
# each one that is only read.
if [ "$(basename "$o")" != build ] || ! python3 -IBS -c 'import mmap, resource, sys
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sum(mmap.mmap(-1, 64 << 20)[::4096])
sys.exit(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > 32 << 10)'; then
    echo 'not tried: how much memory it takes, which cannot be told here'
else
    for tool in "ti-gather --force huge.run" "ti-gather --plan --json huge.run" "ti-info huge.tib" \
        "ti-info --json --verify huge.tib" "ti-info --verify huge.run" "ti-replay --lint huge.tib"; do
        mib=$(python3 -IBS -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' $tool)
        [ "$mib" -lt 500 ] || fail "$tool took $mib MiB"
    done
fi

# a FIFO named like a trace hangs nobody
mktrace --np 2 fifo.run
rm fifo.run/rank-000001.ti
mkfifo fifo.run/rank-000001.ti
run 3 ti-info fifo.run/rank-000001.ti
run 3 ti-info --verify fifo.run
mktrace --np 2 two.run
run 3 ti-info --compare two.run fifo.run
run 3 ti-info --dump fifo.run
run 3 ti-replay --lint fifo.run
run 1 ti-gather fifo.run

# a bundle that was cut on its way
head -c 2000 a.tib >cut.tib
run 3 ti-info --verify cut.tib
says err "was cut off"
exit $failed
