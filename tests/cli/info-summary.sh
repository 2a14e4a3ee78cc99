#!/bin/bash
# ti-info: the summary is the same of a bundle (from its manifest) and of the run
# directory (from the traces), and adds up.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }

mktrace --np 5 --untraced a.run
ti-gather -q --merge none a.run || fail "gather"
run 0 ti-info a.run
tail -n +2 out >dir.txt
run 0 ti-info a.tib
says out "a.tib: bundle of 5 ranks"
tail -n +2 out | diff dir.txt - || fail "bundle and directory differ"
says out "run          30313233343536373839616263646500"
says out "command      app --fast"
says out "counter      papi, PAPI_TOT_INS, in instructions, not exact"
says out "calibration  40 to 44 subtracted from each burst, spread 1"
says out "negative     10 of 126 bursts were shorter than that and count as 0"
says out "nodes        3: node-0, node-1, node-2"
says out "not traced: MPI_Put 5"
grep -qE '^isend +15 +24,000$' out || fail "isend"
grep -qE '^alltoall +5 +200$' out || fail "alltoall"
grep -qE '^alltoallv +15 +900$' out || fail "alltoallv"
grep -qE '^messages +27, 3,024,768 bytes$' out || fail "messages"
bytes=$(cat a.run/rank-*.ti | wc -c)
run 0 ti-info --json a.tib
says out "\"bytes\": $bytes"
cp out bundle.json
run 0 ti-info --json a.run
diff <(grep -v -e '"path"' -e '"kind"' bundle.json) <(grep -v -e '"path"' -e '"kind"' out) ||
    fail "JSON of bundle and directory differ"
check info summary_adds_up || fail "the JSON summary"

# how a bundle was gathered, of which one that was here all along says nothing
grep -q '^gathered' dir.txt && fail "nothing was fetched: $(grep '^gathered' dir.txt)"
while IFS='|' read -r how line; do
    # a.tib as if its traces had come so
    cp a.tib so.tib
    json -w so.tib "gathering=$how" || fail "cannot write so.tib"
    run 0 ti-info so.tib
    [ -s err ] && fail "$how: $(cat err)"
    [ "$(grep '^gathered' out)" = "gathered     $line" ] || fail "$how: $(grep '^gathered' out)"
    grep -v '^gathered' out | tail -n +2 | diff dir.txt - || fail "$how: more than that line"
    run 0 ti-info --json so.tib
    json out "gathering=$how" || fail "$how: $(cat out)"
done <<'END'
{"arity": 4, "depth": 3, "links": [["a", null, 10, 1.5], ["b", "a", 5, 1.25]], "transferred_seconds": 12.345, "predicted": {"total_seconds": 10}}|by a tree of arity 4, 3 hops, 2 nodes in 12.3 s (predicted 10.0 s)
{"arity": 1, "depth": 1, "links": [["a", null, 10, 1.5]], "transferred_seconds": 0.04, "predicted": {"total_seconds": 0.06}, "relays_lost": 0, "adopted": 0, "ranks_again": 0, "resumed_bytes": 0}|by a tree of arity 1, 1 hop, 1 node in 0.0 s (predicted 0.1 s)
{"arity": "star", "depth": 1, "links": [["a", null, 1, 1], ["b", null, 1, 1], ["c", null, 1, 1]], "transferred_seconds": 2, "predicted": {"total_seconds": 1}, "relays_lost": 2, "adopted": 3, "ranks_again": 1, "resumed_bytes": 1536}|by a star, 3 nodes in 2.0 s (predicted 1.0 s), 2 could not pass on, 3 reached by another way, 1 rank sent again, 1.5 KiB from before
{"arity": 64, "depth": 2, "links": [], "transferred_seconds": 1, "predicted": {}, "ranks_again": 2}|by a tree of arity 64, 2 hops, 0 nodes in 1.0 s (predicted 0.0 s), 2 ranks sent again
END

run 0 ti-info a.run/rank-000003.ti
says out "rank file of rank 3 of 5"
run 0 ti-info --rank 3 a.tib
says out "a.tib: rank 3 of 5, complete"
says out "host             node-1"
grep -qE '^2 +1 +2 +1, 3$' out || fail "communicator 2"

# one that was cut off is summed up as far as it goes
mktrace --np 3 --iterations 300 --hold 1 b.run
run 0 ti-info b.run
says out "1 rank incomplete; counted as far as it goes:"
grep -qE '^  rank 1, after [0-9,]+ events: cut off: no end was written$' out || fail "cut off: $(cat out)"
run 0 ti-info --json b.run
says out '"complete": false'

# one that stopped says why, also in a bundle, whose traces are not read
mktrace --np 3 --end 1:3 d.run
run 1 ti-gather -q d.run
for from in d.run d.tib; do
    run 0 ti-info $from
    grep -qE '^  rank 1, after [0-9,]+ events: the library stopped recording: disk full$' out ||
        fail "$from: $(cat out)"
    run 0 ti-info --json $from
    says out '"reason": "the library stopped recording: disk full"'
    run 0 ti-info --rank 1 $from
    says out "$from: rank 1 of 3, the library stopped recording: disk full"
    run 0 ti-info -q --rank 1 $from
    [ "$(cat out)" = 'rank 1: the library stopped recording: disk full' ] || fail "$from: $(cat out)"
done

# quiet: problems only
run 0 ti-info -q a.tib
[ -s out ] || [ -s err ] && { fail "-q prints"; cat out err; }
run 0 ti-info -q --rank 3 a.tib
[ -s out ] && fail "-q --rank prints"
run 0 ti-info -q --verify a.tib
[ -s out ] && fail "-q --verify prints"
run 0 ti-info -q b.run
says out "1 rank incomplete"
run 0 ti-info -q --rank 1 b.run
says out "rank 1: cut off"

# a manifest that was damaged: the summary is right all the same
cp a.tib c.tib
python3 - c.tib <<'P' || fail 'no manifest to damage'
import sys, zipfile
m = zipfile.ZipFile(sys.argv[1]).getinfo("MANIFEST.json")
with open(sys.argv[1], "r+b") as f:
    f.seek(m.header_offset + 26)
    begin = m.header_offset + 30 + sum(int.from_bytes(f.read(2), "little") for _ in range(2))
    f.seek(begin + m.compress_size // 2)
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 0x55]))
P
run 0 ti-info c.tib
says err "warning: 'c.tib': its MANIFEST.json is missing, damaged"
says err "ti-info --verify c.tib"
tail -n +2 out | diff dir.txt - || fail "without a manifest"
run 3 ti-info --verify c.tib
says out "'c.tib': MANIFEST.json is missing or damaged"

# so is that of a run whose RUN.json is of no use, which is told with its place in the file
run 0 ti-info a.run
cp out sound.txt
while IFS='|' read -r json text; do
    printf "$json" >a.run/RUN.json
    for how in "" -q --json; do
        run 0 ti-info $how a.run
        [ "$(cat err)" = "ti-info: warning: 'a.run/RUN.json' $text; the summary is of the traces alone" ] ||
            fail "$json: $(cat err)"
        [ "$how" ] || diff sound.txt out || fail "$json: another summary"
    done
    run 3 ti-info --verify a.run
    says out "'a.run/RUN.json' $text"
    run 3 ti-info --verify --json a.run
    says out '"verified": false' "RUN.json' ${text%%near*}"
done <<'END'
{"np": 5,\n "plan": |ends too early: line 2, column 9: unexpected token near end of file
{"np": 5}}|is malformed: line 1, column 10: end of file expected near '}'
|is empty
END
rm a.run/RUN.json
ln -s gone a.run/RUN.json
run 0 ti-info a.run
says err "warning: 'a.run/RUN.json' is a link to a file that is not there"
run 3 ti-info --verify a.run
rm a.run/RUN.json
mkdir a.run/RUN.json
run 0 ti-info a.run
says err "warning: cannot read 'a.run/RUN.json': Is a directory"
run 4 ti-info --verify a.run
rmdir a.run/RUN.json
run 0 ti-info --verify a.run

run 2 ti-info
run 2 ti-info --dump --verify a.tib
run 2 ti-info --rank x a.tib
run 3 ti-info --rank 5 a.tib
says err "there is no rank 5"
run 4 ti-info nothing.tib
echo "hello, hello, hello" >text
run 3 ti-info text
says err "neither a bundle, a run directory, a merged trace nor a rank file"
run 0 ti-info --help
says out "--compare OTHER"
ti-info a.tib >/dev/full 2>err
[ $? -eq 4 ] || fail "a full standard output is no error"
exit $failed
