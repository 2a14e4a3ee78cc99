#!/bin/bash
# ti-info --trips: a trace whose loop was given other trips is the trace of the program with those
# trips, sound, with totals that fit, and says that it was changed.  What cannot be done is refused.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# The script of a program: KIND, its trips, those of its inner loop, "times" for durations.  Calls
# from a.c:7 are in the loop, those from b.c:9 in a loop inside it.
cat >program.py <<'END'
import random, sys

kind, trips, inner, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "times"
chance = random.Random(1)

def call(rank, what, site, v):
    return f"{rank} {what} site={site} v={v}" + (f" ns={3 * v + 1}" if times else "")

def body(rank, i):
    here = call(rank, "barrier", "a.c:7", 100 + rank + 7 * (kind == "last" and i == trips - 1))
    more = {"alike": 0, "passes": 0, "lead": 2 if i == 0 else 1, "period": 2 + i % 3,
            "tail": 3 if i == trips - 1 else 21, "ends": 1 + (i == 0) + 2 * (i >= trips - 2),
            "last": 0, "nested": inner, "noise": 0, "fields": 0}[kind]
    lines = [call(rank, "pcontrol level=3", "b.c:9", 7) for _ in range(more)] + [here]
    if kind == "fields":  # with enough values to be a column
        lines.append(call(rank, f"pcontrol level={i * i}", "a.c:8", 1000 + i))
    if kind == "noise":
        lines.append(call(rank, "pcontrol level=4", "a.c:8", chance.randrange(1000)))
    return lines

def program(rank):
    yield call(rank, "init", "m.c:1", 5)
    for o in range({"passes": 9, "ends": 4}.get(kind, 1)):
        yield call(rank, "bcast bytes=5 root=1", "m.c:2", 6)
        for i in range(trips):
            yield from body(rank, i)
        yield call(rank, "allreduce bytes=8 redop=sum", "m.c:3", 8)
    yield call(rank, "finalize", "m.c:4", 9)

for rank in range(3):
    print("\n".join(program(rank)))
END

program() { # KIND TRIPS INNER TIMES OUT
    rm -rf "$5" "$5.m"
    python3 program.py "$1" "$2" "$3" "$4" | mkscript 3 "$5" || fail "mkscript"
    run 0 ti-info -q --merge --extras exact "$5" -o "$5.m"
}

# equal A B: the same events with the same call sites and durations, and the same totals
equal() {
    local rank
    run 0 ti-info --compare "$1" "$2"
    run 0 ti-info --dump --call-sites "$1"
    cp out first
    run 0 ti-info --dump --call-sites "$2"
    sed -i '/^# .*changed after/d' out
    cmp -s first out || fail "$1 and $2 have other events: $(diff first out | head -n 5)"
    for rank in 0 2; do
        run 0 ti-info --json --rank $rank "$1"
        cp out first
        run 0 ti-info --json --rank $rank "$2"
        python3 - <<'END' || fail "$1 and $2 have other totals"
import json
a, b = (json.load(open(f)) for f in ("first", "out"))
assert all(a[k] == b[k] for k in ("events", "volume", "hash", "messages", "message_bytes")), (a, b)
END
    done
}

for times in '' times; do
    for kind in alike passes lead period tail ends last; do
        loop='a.c:7'
        program $kind 12 1 "$times" was
        for trips in 30 3 12; do
            [ $kind != period ] || [ $trips = 12 ] || trips=$((trips * 2))
            program $kind $trips 1 "$times" want
            rm -f is.m
            run 0 ti-info --trips "$loop=$trips" was.m -o is.m
            says out "loop '$loop' of 3 ranks: 12 trips became $trips"
            run 0 ti-info --verify is.m
            equal want is.m
        done
    done
done

# A tail stays at the end, and is told; so is it in the metadata.
program ends 12 1 '' was
rm -f is.m
run 0 ti-info --trips a.c:7=1000 was.m -o is.m
says out "12 trips became 1,000; from trip 11 on, trips 2 to 10 again and again, which are alike; then the last 2 trips"
run 0 ti-info --json is.m
[ "$(json out changed)" = "ti-info --trips 'a.c:7=1000' (trips 2 to 10 again and again, then the last 2 trips)" ] ||
    fail "changed: $(json out changed)"
rm is.m
run 0 ti-info --json --trips a.c:7=5 was.m -o is.m
[ "$(json out loops.0.stay_last)" = 2 ] || fail "--json: a tail"
run 0 ti-info --json is.m
[ "$(json out changed)" = "ti-info --trips 'a.c:7=5' (the first trips and the last 2 trips)" ] ||
    fail "changed: $(json out changed)"
rm is.m
run 0 ti-info --trips a.c:7=2 was.m -o is.m
says out '12 trips became 2; the first ones'
grep -q last out && fail "a tail stays where nothing is before it"

# Both ways between an inner loop and the one around it, in one command or two, and back again.
program nested 5 4 '' was
program nested 21 13 '' want
for first in a.c:7=21 b.c:9=13; do
    second=$([ $first = a.c:7=21 ] && echo b.c:9=13 || echo a.c:7=21)
    rm -f ./*is.m
    run 0 ti-info -q --trips $first --trips $second was.m -o is.m
    equal want is.m
    run 0 ti-info -q --trips $first was.m -o half-is.m
    run 0 ti-info -q --trips $second half-is.m -o whole-is.m
    equal want whole-is.m
    run 0 ti-info -q --trips a.c:7=5 --trips b.c:9=4 whole-is.m -o back-is.m
    equal was back-is.m
    run 0 ti-info --json back-is.m
    had=5 other=4
    [ $first = a.c:7=21 ] || had=4 other=5
    [ "$(json out changed)" = "ti-info --trips '$first' (trips 2 to $had again and again); ti-info --trips '$second' (trips 2 to $other again and again); ti-info --trips 'a.c:7=5' --trips 'b.c:9=4'" ] ||
        fail "changed: $(json out changed)"
done

# Trips that differ are repeated in their order.
program fields 12 1 times was
run 0 ti-info --trips a.c:7=30 was.m -o twice.m
says out 'from trip 13 on, trips 1 to 12 again and again, which differ in calls, fields or inner loops'
program noise 12 1 times noise
run 0 ti-info --trips a.c:7=30 noise.m -o noise.30
says out 'from trip 13 on, trips 2 to 12 again and again, which differ in volumes only'
for trace in "was twice.m 12 0" "noise noise.30 12 1"; do
    read -r a b had from <<<"$trace"
    for rank in 0 2; do
        run 0 ti-info --dump --rank $rank "$a"
        cp out first
        run 0 ti-info --dump --rank $rank "$b"
        python3 - $had "$from" <<'END' || fail "$a and $b, rank $rank"
import sys
had, start = map(int, sys.argv[1:])
was, is_ = ([line for line in open(f) if line[0] != "#"] for f in ("first", "out"))
trips = [was[2 + 2 * i:4 + 2 * i] for i in range(had)]
want = was[:2] + was[2:2 + 2 * had]
for i in range(had, 30):
    trip = list(trips[start + (i - start) % (had - start)])
    if (i - start) % (had - start) == 0:  # bursts before barriers are equal, but for the first
        trip[0] = trips[1][0]
    want += trip
want += was[2 + 2 * had:]
assert want == is_, [x for x in zip(want, is_) if x[0] != x[1]][:3]
END
    done
done

# What --phases shows is what --trips takes; what is not clear, or not there, is named.
mktrace --iterations 50 --noise 1000 run >/dev/null
run 0 ti-info -q --merge run -o run.m
run 0 ti-info --phases run.m
says out 'loop 50 times {  # '
name=$(sed -n 's/.*loop 50 times {  # //p' out | sort -u)
run 0 ti-info --phases --json run.m
says out "\"loop\": \"$name\""
run 0 ti-info --rank 1 --at event=20 run.m
says out "loop at $name: trip "
rm is.m
run 0 ti-info --trips "$name=200" run.m -o is.m
run 0 ti-info --verify is.m
events=$(python3 -c 'print(f"{4 * (6 + 200 * 6):,}")')
says out "verified: 4 ranks, $events events"
run 0 ti-info is.m
says out "changed after they were traced, by ti-info --trips '$name=200' (trips 1 to 50 again and again): no run had these events"
says out ', changed'
grep -q '^whole run' out && fail "the count of the whole run is still there"
run 0 ti-info --json is.m
[ "$(json out exact)" = false ] || fail "changed volumes are exact"
run 3 ti-info --trips nowhere=2 run.m -o no.m
says err "no loop has the name 'nowhere'; the loops of rank 0 are '$name' (50 trips)"
program nested 5 4 '' was
run 3 ti-info --trips 'a.c:7^=2' was.m -o no.m
says err "no loop has the name 'a.c:7^'; the loops of rank 0 are 'a.c:7' (5 trips), 'b.c:9' (4 trips)"
run 3 ti-info --trips 'b.c:9^=3' --trips 'a.c:7=2' was.m -o no.m
says err "'b.c:9^' and 'a.c:7' both mean the same loop of rank 0"
run 0 ti-info -q --trips 'b.c:9^=3' --trips 'a.c:7=3' was.m -o both.m
run 0 ti-info -q --trips 'a.c:7=3' was.m -o one.m
run 0 ti-info -q --compare one.m both.m

# Loops of one function that is called from several places.
for t in 3 20; do
    for rank in 0 1; do
        echo "$rank init site=m.c:1"
        for ((o = 0; o < 4; o++)); do
            for ((i = 0; i < t; i++)); do echo "$rank barrier site=f.c:5 v=3"; done
            echo "$rank pcontrol level=1 site=m.c:2"
            for ((i = 0; i < t; i++)); do echo "$rank barrier site=f.c:5 v=3"; done
            echo "$rank pcontrol level=2 site=m.c:3"
        done
        echo "$rank finalize site=m.c:4"
    done | mkscript 2 f$t || fail "mkscript"
    run 0 ti-info -q --merge f$t -o f$t.m
done
run 3 ti-info --trips f.c:5=20 f3.m -o no.m
says err "'f.c:5' may be one of 2 loops of rank 0: 'f.c:5[1]' (3 trips), 'f.c:5[2]' (3 trips)"
run 3 ti-info --trips 'f.c:5[3]=20' f3.m -o no.m
says err "no loop has the name 'f.c:5[3]'"
run 0 ti-info -q --trips 'f.c:5[*]=20' f3.m -o f.m
run 0 ti-info --compare f20 f.m
run 0 ti-info -q --trips 'f.c:5[2]=20' --trips 'f.c:5[1]=20' f3.m -o f2.m
run 0 ti-info --compare f20 f2.m

# A billion trips take as many bytes as a hundred, and all that sums up reads as few; unless calls
# differ from trip to trip.
program lead 12 1 times was
for trips in 100 1000000000; do
    run 0 ti-info -q --trips "a.c:7=$trips" was.m -o big.$trips
    run 0 ti-info --verify big.$trips
    says out "verified: 3 ranks, $(python3 -c "print(f'{3 * (5 + 2 * $trips):,}')") events"
done
[ "$(stat -c %s big.1000000000)" -lt $(($(stat -c %s big.100) + 100)) ] ||
    fail "a billion trips are not small"
# Periods of three trips, with 2, 3 and 4 trips of an inner loop, are read once, too.
program period 12 1 '' was
rm -f is.m
run 0 ti-info -q --trips a.c:7=30000000 was.m -o is.m
run 0 ti-info --verify is.m
says out 'verified: 3 ranks, 360,000,012 events'
python3 - <<'END' || fail "periods are read one by one"
import re
left, all = re.search("loops checked once: ([0-9,]+) of ([0-9,]+) events", open("out").read()).groups()
assert int(left.replace(",", "")) > 359000000 and all == "360,000,012", (left, all)
END
program fields 12 1 '' was
run 0 ti-info -q --trips a.c:7=20000 was.m -o long.m
run 0 ti-info --verify long.m
says out "verified: 3 ranks, 120,012 events"
run 0 ti-info -q --merge --volumes bound:1% long.m -o bound.m
run 0 ti-info --verify bound.m
run 3 ti-info --trips "$name=1000000000" run.m -o no.m
says err "differ from trip to trip, so that all of them would have to be read"

# Qualities stay: within a bound; with statistics number and mean of the volumes.
for quality in bound:5% stats; do
    rm -f is.m q.m
    run 0 ti-info -q --merge run --volumes $quality -o q.m
    run 0 ti-info -q --trips "$name=500" q.m -o is.m
    run 0 ti-info --verify is.m
    run 0 ti-info --json q.m
    cp out first
    run 0 ti-info --json is.m
    python3 - $quality <<'END' || fail "$quality: volumes"
import json, sys
a, b = (json.load(open(f)) for f in ("first", "out"))
assert 0.97 < b["volume"] / b["events"] / (a["volume"] / a["events"]) < 1.03, (a["volume"], b["volume"])
assert any("bound" in c or "statistics" in c for c in b["caveats"]), b["caveats"]
END
done

# A refusal leaves nothing behind.
refuse() { # SCRIPT LOOP=N MESSAGE
    rm -rf bad bad.m
    mkscript 2 bad <<<"$1" || fail "mkscript"
    run 0 ti-info -q --merge bad -o bad.m
    run 3 ti-info --trips "$2" bad.m -o no.m
    says err "$3"
}
repeat() { for ((i = 0; i < $1; i++)); do echo "${2//@/$i}"; done; }
refuse "* init
$(repeat 9 '* comm_dup comm=0 newcomm=2 site=a.c:1
* comm_free comm=2 site=a.c:2')
* finalize" a.c:1=20 "in it, a.c:1 makes communicators, windows or files, which have numbers"
refuse "* init
$(repeat 9 '* irecv peer=null req=@ site=a.c:1
* barrier site=a.c:2')
* waitall all=1
* finalize" a.c:2=20 "with these trips, the trace is not sound"
refuse "* init
$(repeat 9 '0 send peer=1 tag=1 bytes=8 site=a.c:1
0 pcontrol level=1 site=a.c:2')
$(repeat 9 '1 recv peer=-1 tag=1 bytes=8 site=b.c:1
1 pcontrol level=1 site=b.c:2')
* finalize" a.c:1=20 "with these trips, the trace is not sound"
run 0 ti-info -q --trips a.c:1=20 --trips b.c:1=20 bad.m -o is2.m
refuse "* init
$(repeat 9 '0 pcontrol level=1 site=a.c:1
0 pcontrol level=2 site=a.c:2')
$(repeat 8 '1 pcontrol level=1 site=a.c:1
1 pcontrol level=2 site=a.c:2')
* finalize" a.c:1=20 "loop 'a.c:1' has 9 trips in 1 passes on rank 0, and 8 in 1 on rank 1"
refuse "* init
* barrier
* finalize" a.c:1=20 "rank 0 has no loops"
mktrace --iterations 50 --hold 2 held >/dev/null
run 0 ti-info -q --merge held -o held.m
run 3 ti-info --trips "$name=200" held.m -o no.m
says err "rank 2 is not complete"
mktrace --iterations 50 --ranks 0-2 part >/dev/null
run 3 ti-info --trips "$name=200" part -o no.m
says err "rank 3 is missing"
for wrong in x x= =3 x=0 x=-1 x=1.5 x=99999999999999999; do
    run 2 ti-info --trips "$wrong" run.m -o no.m
done
run 2 ti-info --trips "$name=3" run.m
run 2 ti-info --trips "$name=3" run.m -o no.tib
run 2 ti-info --trips "$name=3" --merge run.m -o no.m
run 2 ti-info --trips "$name=3" --rank 1 run.m -o no.m
run 2 ti-info --trips "$name=3" run.m -o run.m
[ -z "$(ls -d no.* 2>/dev/null)" ] || fail "what was refused was written"

# The same from rank files, which are folded for it; --json says what was done.
run 0 ti-info --json --trips "$name=200" run -o json.m
[ "$(json out loops.0.trips)" = 200 ] || fail "--json: trips"
[ "$(json out loops.0.trips_before.minimum)" = 50 ] || fail "--json: trips before"
[ "$(json out loops.0.repeated.first)" = 1 ] || fail "--json: repeated"
run 0 ti-info -q --trips "$name=200" run.m -o again.m
run 0 ti-info --compare again.m json.m
exit $failed
