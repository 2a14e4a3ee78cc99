#!/bin/bash
# Extra columns: dumped, summed up, with rates, gathered, and not compared.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }

# every burst takes twice as many nanoseconds as its volume: 500,000,000 a second
mktrace --np 4 --iterations 3 a.run
mktrace --np 4 --iterations 3 --times t.run
ti-gather -q --merge none t.run || fail "gather"
unzip -p t.tib MANIFEST.json | grep -q '"extra": "burst_ns:ns call_ns:ns a.*::b:events"' ||
    fail "the manifest"

# the same events and volumes, and the values behind them
ti-info --rank 1 --dump a.run >plain
run 0 ti-info --rank 1 --dump t.tib
awk '{ print $0 " burst_ns=" 2 * $1 " call_ns=100 a\\x1b::b=" ($2 == "isend") }' plain | diff - out ||
    fail "--dump"
run 0 ti-info --rank 1 --dump --no-volumes t.tib
cut -d' ' -f2- plain | diff - out || fail "--no-volumes"
run 0 ti-info --rank 1 --dump --call-sites t.tib
says out 'burst_ns=0 call_ns=100 a\x1b::b=0 site='

# the summary, of a bundle and of the directory; what a terminal would obey is not shown
rates=' +500,000,000 +500,000,000 +500,000,000 +500,000,000 +500,000,000$'
run 0 ti-info t.tib
tail -n +2 out >bundle.txt
says out '             a?::b 12 events'
says out 'instructions a second'
grep -qE "^ranks$rates" out || fail "rates of ranks"
grep -qE "^bursts, by time$rates" out || fail "rates of bursts"
says out 'that take 10 us or more'
run 0 ti-info t.run
tail -n +2 out | diff bundle.txt - || fail "bundle and directory differ"
run 0 ti-info --rank 2 t.tib
grep -qE "^ranks$rates" out || fail "--rank"
ti-info --json a.run >a.json
run 0 ti-info --json t.tib
check info extra_columns || fail "JSON"

# ranks of two rates: minimum, quartiles and maximum, in proportion between two of them
mktrace --np 4 --iterations 3 --times --ranks 0-1 h.run
mktrace --np 4 --iterations 3 --times=4 --ranks 2-3 h.run
run 0 ti-info h.run
grep -qE "^ranks +250,000,000 +250,000,000 +375,000,000 +500,000,000 +500,000,000$" out ||
    { fail "quartiles of ranks"; cat out; }

says out ': ti-replay --speed'

# A rate that is not that of a core is not recommended, and each view that has it says why: ranks
# shared cores, or differ too much.
mktrace --np 4 --iterations 3 --times=8 --ranks 3-3 f.run
mktrace --np 4 --iterations 3 --times --ranks 0-2 f.run
echo '{"np": 4, "plan": {"mode": "F-2", "folding": 2}}' >f.run/RUN.json
shared='ranks shared cores (F-2): durations of bursts include waiting for a core'
differ='ranks executed 125,000,000 to 500,000,000 instructions a second: one rate does not fit them'
run 0 ti-info f.run
grep -q 'ti-replay --speed' out && fail "recommends the rate of ranks that shared cores"
says out ': not the speed of a core'
run 0 ti-info --json f.run
cp out f.json
run 0 ti-info f.run
cp out f.txt
run 0 ti-info --rates f.rates f.run
cp err rates.err
for text in "$shared" "$differ"; do
    says f.txt "$text"
    says f.json "\"$text\""
    says rates.err "warning: $text"
    says f.rates "Doubtful: $text."
done
ti-gather -q f.run -o f.tib --merge auto || fail "merge"
for trace in f.run f.tib; do
    run 0 ti-info --imbalance $trace
    says err "warning: $shared"
    says err "warning: $differ"
    run 0 ti-replay --lint --times $trace
    says err "warning: $shared"
    says err "warning: $differ"
done
run 0 ti-info --imbalance t.run
grep -qE 'shared cores|one rate' err && fail "--imbalance warns of nothing"
run 0 ti-replay --lint --times t.run
grep -qE 'shared cores|one rate' err && fail "--times warns of nothing"

# damage in an extra value alone, which --verify finds, and who does not want them does not
mktrace --np 1 --iterations 3 --times d.run
check info damage_extra || fail "no extra column"
run 3 ti-info --verify d.run
says out 'damaged'
run 0 ti-info --compare d.run d.run

# a rank without them, and one that was cut off
mktrace --np 4 --iterations 3 --ranks 2-2 t2.run
cp t2.run/rank-000002.ti t.run/
run 0 ti-info t.run
says out '1 of 4 ranks have no such columns'
run 0 ti-info -q --verify t.run

# not compared
run 0 ti-info --compare a.run t.tib
says err 'extra columns, such as durations, are not compared'
run 0 ti-info -q --compare a.run t.tib
[ -s err ] && fail "-q: $(cat err)"
run 0 ti-info --compare a.run a.run
[ -s err ] && fail "without extra columns: $(cat err)"
exit $failed
