#!/bin/bash
# Views of ti-info on a trace alone: traffic, histograms, rates.  Values by hand are those
# that mktrace's events come to; t-pass.c has the odd cases.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

mktrace --np 5 a.run
ti-gather -q a.run || fail "gather"

# Traffic: in each of 3 iterations, rank r sends 1000, 2000, 3000 bytes and 3 times 64 to r + 1; and
# once 1,000,000 to r + 2.
run 0 ti-info --traffic a.run
tail -n +2 out >dir.txt
run 0 ti-info --traffic a.tib
tail -n +2 out | diff dir.txt - || fail "bundle and directory differ"
says out "a.tib: traffic of 5 of 5 ranks, 7 pairs"
grep -qE '^messages +27 +3,024,768 +112028.4 +313947.2 +64 +1,000,000$' out || fail "totals"
[ "$(grep -cE '^ +[0-9]+ +[0-9]+  message ' out)" = 7 ] || fail "pairs"
[ "$(grep -E ' message ' out | awk '{ print $1 "-" $2 }' | xargs)" = "0-2 1-3 2-4 0-1 1-2 2-3 3-4" ] ||
    fail "order of pairs"
grep -qE '^ +0 +1  message +6 +6,192 +1032.0 +1127.1 +64 +3,000$' out || fail "a pair"
# alltoallv: rank r gives counts 0 + i, ..., 4 + i of 4 bytes: 40, 60, 80
grep -qE '^alltoallv +15 +900 +60.0 +16.3 +40 +80$' out || fail "alltoallv"
grep -q one-sided out && fail "there are no one-sided operations"
run 0 ti-info --traffic --rank 1 a.tib
says out "traffic of 1 of 5 ranks, 2 pairs"
[ "$(grep ' message ' out | awk '{ print $1 "-" $2 }' | xargs)" = "1-3 1-2" ] || fail "--rank"
run 0 ti-info -q --traffic a.tib
[ -s out ] || [ -s err ] && fail "-q prints"

# many pairs: the busiest, or all
mktrace --np 40 --iterations 1 many.run
run 0 ti-info --traffic many.run
[ "$(grep -c ' message ' out)" = 20 ] || fail "the busiest 20"
says out '... and 57 further pairs with 47.4 % of the bytes; --all shows them'
run 0 ti-info --traffic --all many.run
[ "$(grep -c ' message ' out)" = 77 ] || fail "--all"
grep -q further out && fail "--all leaves some out"

# Histograms
run 0 ti-info --histogram a.tib
says out 'messages: 27, 3,024,768 bytes'
grep -qE '^ *64 +12  #{14} +768  #$' out || fail "64 to 127 bytes"
grep -qE '^ *524,288 +3 +#### +3,000,000  #{14}$' out || fail "1,000,000 bytes"
says out "collectives, a rank's share in a call: 40, 1,780 bytes"
says out 'bursts: 121, 18,053,520 instructions'
run 0 ti-info --histogram --rank 0 a.tib
says out 'messages: 7, 1,006,192 bytes'

# Rates: bursts of all ranks take 2 ns an instruction, of ranks 2 and 3 then 4
mktrace --np 4 --iterations 3 --times t.run
run 0 ti-info --rates t.rates t.run
says err "warning: no symbols of 'app' were found"
[ "$(wc -l <err)" = 2 ] || fail "--rates: $(cat err)"
says out 'instructions a second'
grep -qE '^ +all +500,000,000 +0 ' out || fail "the rate of all"
says t.rates 'reference = 500M'
says t.rates '# 4 ranks on 2 hosts (node-0, node-1), counter papi.'
run 0 ti-info --rates - t.run
diff t.rates out || fail "--rates -"
run 0 ti-info -q --rates q.rates t.run
[ -s out ] && fail "-q --rates prints"
diff t.rates q.rates || fail "-q --rates"
mktrace --np 4 --iterations 3 --times --ranks 0-1 h.run
mktrace --np 4 --iterations 3 --times=4 --ranks 2-3 h.run
run 0 ti-info --rates h.rates h.run

if command -v python3 >/dev/null; then
    run 0 ti-info --traffic --json a.tib
    cp out traffic.json
    run 0 ti-info --histogram --json a.tib
    cp out histogram.json
    run 0 ti-info --rates h2.rates --json h.run
    cp out rates.json
    diff h.rates h2.rates || fail "--rates with --json"
    for rank in 0 1 2 3; do ti-info --dump --call-sites --rank $rank h.run; done >h.dump
    for what in pairs_have_their_messages sizes_are_counted rates_are_those_of_events; do
        check info $what || fail "JSON: $what"
    done
fi

# without durations, in all ranks or in one; and none that are worth anything
run 3 ti-info --rates none.rates a.run
says err "'a.run' has no durations of bursts"
says err 'hint: ti-acquire --times'
[ -e none.rates ] && fail "a rate file without rates"
mktrace --np 4 --iterations 3 --ranks 2-2 part.run
mktrace --np 4 --iterations 3 --ranks 0-1 --times part.run
mktrace --np 4 --iterations 3 --ranks 3-3 --times part.run
run 1 ti-info --rates part.rates part.run
says err '1 rank has no durations of bursts'
says part.rates 'ranks = 3'
mktrace --np 2 --plain --iterations 0 --times zero.run
run 3 ti-info --rates none.rates zero.run
says err 'no burst with a volume and a duration'
mktrace --np 2 --times --counter valgrind v.run
run 0 ti-info -q --rates v.rates v.run
says err 'under valgrind'
run 4 ti-info --rates nowhere/x t.run
says err "cannot write 'nowhere/x': No such file"
run 4 ti-info --rates /dev/full t.run

# ranks that are missing, cut off or damaged: what there is counts, and is named
mktrace --np 5 --ranks 0-3 miss.run
run 1 ti-info --dump miss.run
says err 'warning: 1 rank missing: 4'
grep -q '^# rank 3$' out || fail "a dump without rank 4 lacks rank 3"
mktrace --np 16777216 --ranks 5-5 --plain lone.run >/dev/null
run 0 ti-info -q --merge lone.run -o lone.ti
run 1 ti-info --dump lone.ti
says err 'warning: 16777215 ranks missing: 0-4, 6-16777215'
[ "$(wc -l <err)" -le 2 ] || fail "a dump says more than a line of missing ranks: $(head -n 3 err)"
for mode in --traffic --histogram; do
    run 1 ti-info $mode miss.run
    says err 'warning: 1 rank missing: 4'
    run 1 ti-info -q $mode miss.run
    says err 'warning: 1 rank missing: 4'
    run 1 ti-info $mode --json miss.run
    says out '"complete": false'
    # a rank file is no run that lacks the others
    run 0 ti-info $mode a.run/rank-000003.ti
done
mktrace --np 3 --iterations 300 --hold 1 cut.run
run 1 ti-info --traffic cut.run
says err 'warning: 1 rank incomplete, counted as far as it goes: 1; rank 1 after '
grep -qE '^ +1 +2  message ' out || fail "what rank 1 sent before it was cut off"
[ "$(ti-info --dump --rank 1 cut.run 2>err2 | grep -cE ' (isend|sendrecv) ')" = \
    "$(awk '$1 == 1 && $2 == 2 { print $4 }' out)" ] || fail "messages of a rank that was cut off"
cp -r a.run damaged.run
size=$(stat -c %s damaged.run/rank-000002.ti)
printf '\377\377\377\377' | dd of=damaged.run/rank-000002.ti bs=1 seek=$((size / 2)) conv=notrunc status=none
run 3 ti-info --traffic damaged.run
says err 'warning: 1 rank damaged, counted as far as it is sound: 2; '
says out 'traffic of 5 of 5 ranks'
mktrace --np 4 --add request odd.run
run 3 ti-info --traffic odd.run
says err 'warning: 1 event is not sound, so traffic may be missing; rank 1, event '
says err 'hint: ti-info --verify says more'

run 2 ti-info --traffic --histogram a.tib
run 2 ti-info --verify --rates x a.tib
run 2 ti-info --all a.tib
run 2 ti-info --json --rates - t.run
run 3 ti-info --traffic --rank 5 a.tib
exit $failed
