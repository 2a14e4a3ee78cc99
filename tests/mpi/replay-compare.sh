#!/bin/bash
# ti-replay --versus and --scaling: the times are those of single replays, what is said of loops and
# call sites adds up to the difference and to what is lost, and what was changed comes first.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
command -v python3 >/dev/null || skip 'there is no python3'
cd "$scratch" || exit 1

# A program with a loop around an exchange with the neighbour on a ring, an inner loop and a sum.
cat >program.py <<'END'
import sys

np, trips, inner, volume, line = (int(a) for a in sys.argv[1:])
for rank in range(np):
    say = lambda text: print(rank, text)
    say("init site=m.c:1 v=5")
    for _ in range(trips):
        say(f"isend peer={(rank + 1) % np - rank} tag=1 bytes=5000 esize=1 req=0 site=a.c:{line} v={volume + 1000 * rank}")
        say(f"recv peer={(rank - 1) % np - rank} tag=1 bytes=5000 esize=1 site=a.c:{line + 1} v=0")
        say(f"wait req=0 site=a.c:{line + 2} v=0")
        for _ in range(inner):
            say("barrier site=b.c:9 v=20000")
        say("allreduce bytes=8 esize=8 redop=sum site=a.c:20 v=5000")
    say("finalize site=m.c:4 v=9")
END
program() { # OUT NP TRIPS INNER VOLUME LINE
    local out=$1
    shift
    rm -rf "$out.run"
    python3 program.py "$@" | "$o/tests/mkscript" "$1" "$out.run" && "$o/ti-info" -q --merge "$out.run" -o "$out" ||
        fail "program $out"
}
program base 4 20 3 1000000 7
program trips 4 30 3 1000000 7
program inner 4 20 7 1000000 7
program slow 4 20 3 1500000 7
program moved 4 20 3 1500000 11
program two 2 20 3 2000000 7
program eight 8 20 3 500000 7
program weak 8 20 3 1000000 7

# replay STATUS ARGUMENT...: into out and err
replay() {
    local want=$1 rc
    shift
    "$o/ti-replay" "$@" >out 2>err
    rc=$?
    [ $rc -eq "$want" ] || { fail "status $rc, not $want: ti-replay $*"; cat out err; }
}
says() { grep -qF -- "$2" "$1" || { fail "$1 does not say: $2"; cat "$1"; }; }

cat >check.py <<'END'
import json, sys

def outer(o):
    """The parts that add up: loops in no other loop, and the rests."""
    return [l for l in o["loops"] if l["in"] is None] + [o["outside"], o["ended"]]

def near(a, b):
    return abs(a - b) <= 1e-8 * max(abs(a), abs(b), 1e-3)

def alone(trace):
    return json.load(open(trace + ".json"))["clock_s"]

def check_versus(o):
    a, b = o["time_s"]
    assert o["traces"] and near(a, alone(o["traces"][0])) and near(b, alone(o["traces"][1])), o
    assert near(o["difference_s"], a - b) and near(o["mean_difference_s"], a - b)
    assert near(sum(p["difference_s"] for p in outer(o)), a - b), o
    assert near(sum(s["difference_s"] for s in o["sites"]) + o["ended"]["difference_s"], a - b), o
    for p in o["loops"] + o["sites"]:
        assert near(p["difference_s"], p["time_s"][0] - p["time_s"][1]), p
        for t in 0, 1:
            assert near(p["time_s"][t], sum(p[k][t] for k in ("computing_s", "communicating_s", "waiting_s"))), p
        assert near(p["share"], p["difference_s"] / (a - b)), p
    sizes = [abs(s["difference_s"]) for s in o["sites"]]
    assert sizes == sorted(sizes, reverse=True), sizes

def check_scaling(o):
    n, p0, t0 = len(o["np"]), o["np"][0], o["time_s"][0]
    assert o["np"] == sorted(o["np"]) and all(near(t, alone(f)) for t, f in zip(o["time_s"], o["traces"])), o
    for i in range(n):
        ideal = t0 if o["kind"] == "weak" else t0 * p0 / o["np"][i]
        lost = o["time_s"][i] - ideal
        assert near(o["lost_s"][i], lost) and near(o["efficiency"][i], ideal / o["time_s"][i]), o
        assert near(o["speedup"][i], o["efficiency"][i] * o["np"][i] / p0), o
        assert near(sum(p["lost_s"][i] for p in outer(o)), lost), (i, o)
        assert near(sum(s["lost_s"][i] for s in o["sites"]) + o["ended"]["lost_s"][i], lost), (i, o)

o = json.load(open("out"))
(check_versus if sys.argv[1] == "versus" else check_scaling)(o[sys.argv[1]])
o = o[sys.argv[1]]
exec(sys.argv[2] if len(sys.argv) > 2 else "")
END
check() {
    python3 check.py "$@" || { fail "$*"; head -c 1500 out; }
}

for trace in base trips inner slow moved two eight weak; do
    replay 0 -q --json $trace
    cp out $trace.json
done

# a trace with itself: no difference anywhere
replay 0 -q --json base --versus base
check versus 'assert o["difference_s"] == 0 and o["loops"] == o["sites"] == [], o'
replay 0 base --versus base
says out "difference:     +0 s (+0.00 %)"
says out "the same time at each"

# 10 more trips of 20: the loop takes half as long again; the inner loop, with its own trips, is next
replay 0 -q --json trips --versus base
check versus 'l = o["loops"][0]; assert l["loops"] == ["a.c:20"] * 2 and l["in"] is None, l
assert abs(l["difference_s"] - l["time_s"][1] / 2) < 0.02 * l["time_s"][1], l
assert l["share"] > 0.99 and o["loops"][1]["in"] == l["number"], o["loops"]'
replay 0 -q --json inner --versus base
check versus 'l = o["loops"][1]; assert l["loops"] == ["b.c:9"] * 2, l
assert abs(l["computing_s"][0] - l["computing_s"][1] - 20 * 4 * 20000 / 1e9) < 1e-9, l'

# more computing before one call: as much as the volume says, at 1 Gf; then with lines that moved
for trace in slow moved; do
    replay 0 -q --json $trace --versus base
    check versus 's = o["sites"][0]; assert s["operation"] == "isend" and None not in s["sites"], s
assert abs(s["computing_s"][0] - s["computing_s"][1] - 20 * 500000 / 1e9) < 1e-6, s
assert all(None not in s["sites"] for s in o["sites"]), o["sites"]'
done
replay 0 moved --versus base
says out "isend a.c:11 (a.c:7 in base)"
says out "+ is longer in moved"
# the text has what the JSON has, in milliseconds
cp out text
replay 0 -q --json moved --versus base
python3 - <<'END' || { fail 'text and JSON'; cat text; }
import json, re
o = json.load(open("out"))["versus"]
row = re.compile(r" *([+-][0-9.]+) +([0-9.-]+) % +([0-9.]+) +([0-9.]+) +([+-][0-9.]+) +([+-][0-9.]+) +([+-][0-9.]+)  +(\S.*)")
text = [m.groups() for m in map(row.match, open("text")) if m]
site = {t[-1]: t for t in text if t[-1].startswith("isend")}
assert len(site) == 1 and "(a.c:7 in base)" in list(site)[0], text
got, want = list(site.values())[0], o["sites"][0]
computing = want["computing_s"][0] - want["computing_s"][1]
assert got[0] == "%+.4f" % (1e3 * want["difference_s"]) and got[4] == "%+.4f" % (1e3 * computing), (got, want)
assert got[1] == "%.1f" % (100 * want["share"]), (got, want)
loops = [t for t in text if t[-1] in sum((l["loops"] for l in o["loops"]), [])]
assert loops and loops[0][0] == "%+.4f" % (1e3 * o["loops"][0]["difference_s"]), (loops, o["loops"])
END
# the other way round, the signs are the others
replay 0 -q --json base --versus slow
check versus 'assert o["difference_s"] < 0 and o["sites"][0]["difference_s"] < 0, o'

# other numbers of ranks, and rank files, which have no loops
replay 0 -q --json eight --versus base
check versus 'assert o["np"] == [8, 4] and o["loops"], o'
cp base.json base.run.json
replay 0 -q --json slow --versus base.run
check versus 'assert not o["loops"] and o["sites"][0]["operation"] == "isend", o'
replay 0 slow --versus base.run
says out "'base.run' has rank files, so loops are not known"

# --runs: the interval of differences of the same seeds
replay 0 -q --json slow --versus base --noise 5% --runs 6
python3 -c '
import json
o = json.load(open("out"))["versus"]
d = o["differences"]
assert d["runs"] == 6 and d["interval_s"][0] <= d["median_s"] <= d["interval_s"][1], d
assert d["interval_s"][0] > 0 and abs(d["confidence"] - 0.96875) < 1e-9, d
parts = [l for l in o["loops"] if l["in"] is None] + [o["outside"], o["ended"]]
assert abs(sum(p["difference_s"] for p in parts) - o["mean_difference_s"]) < 1e-9, o
assert len(o["runs"]) == 2 and o["runs"][0]["runs"] == 6, o["runs"]' || fail '--runs'
replay 0 slow --versus base --noise 5% --runs 6
says out "0 is not in it"

# --scaling: strong where the volume of all stays, weak where that of a rank stays; in any order
replay 0 -q --json eight two base --scaling
check scaling 'assert o["kind"] == "strong" and o["np"] == [2, 4, 8] and o["traces"][0] == "two", o
assert o["speedup"][0] == 1 and 1 < o["speedup"][1] < o["speedup"][2] < 4, o'
replay 0 -q --json eight two --scaling=weak
check scaling 'assert o["kind"] == "weak", o'
replay 0 -q --json base weak --scaling
check scaling 'assert o["kind"] == "weak" and o["efficiency"][1] < 1, o'
replay 0 two base eight --scaling
says out "scaling:        strong; from 2 to 8 ranks"
grep -Eq '^lost: +[0-9]+ % of the time that is lost with 8 ranks is lost in ' out || { fail 'no sentence'; cat out; }
grep -Eq '^ +8 .* eight$' out || { fail 'no line of 8 ranks'; cat out; }
replay 0 two base --scaling --ranks-per-host 2
says out "cluster of 1 host"

# joules of each, and what may be a mistake
replay 0 base --watts 100,200 --json
joules=$(python3 -c 'import json; print("%.9g" % json.load(open("out"))["energy"]["joules"])')
replay 0 base --versus slow --watts 100,200
says out "energy:         $joules J, base"
replay 0 two base --scaling --watts 100,200 --json
python3 - "$joules" <<'P' || fail "joules in JSON: $(cat out)"
import json, sys
two, base = json.load(open("out"))["scaling"]["energy_J"]
assert two > 0 and "%.9g" % base == sys.argv[1], (two, base)
P
replay 0 base --versus slow
! grep -q -e energy out || fail 'joules without watts'
! grep -q -e 'in common' err || fail 'a warning that versions of one program are several'
printf '0 init site=x.c:1 v=5\n0 bcast site=x.c:2 bytes=8 esize=1 root=0 v=5\n0 barrier site=x.c:3\n0 finalize site=x.c:4\n' |
    "$o/tests/mkscript" 1 other || fail 'program other'
replay 0 base --versus other
says err "warning: 'base' and 'other' have "
says err 'call sites in common: are they of one program?'
replay 0 base --versus slow --runs 2
says err 'warning: all runs of a trace took the same time: nothing is drawn at random'
replay 0 base --versus slow --runs 2 --noise 0.1
! grep -q 'drawn at random' err || fail 'a warning of runs that differ'

# what is refused, and why
replay 2 base --versus base --scaling
says err "--versus or --scaling, not both"
replay 2 base slow --versus base
says err "--versus compares one trace with OTHER; 'base' and 'slow' stand beside that"
replay 2 --versus base
says err "--versus base: which trace is compared with it?"
replay 2 base two --scaling strong
says err "'strong' is no trace: write --scaling=strong"
replay 2 base --scaling
says err "--scaling needs traces of two or more sizes"
replay 2 base slow --scaling
says err "--scaling: 'base' and 'slow' both have 4 ranks"
replay 2 base --versus slow --engine stock
says err "--versus needs --engine tiara"
for option in '--copies 2' '--trips a.c:7=3' '--sweep speed=1Gf,2Gf' '--keep k' --lint --causes '--timeline t.csv'; do
    # shellcheck disable=SC2086  # an option and its argument
    replay 2 base --versus slow $option
    says err "cannot be given with --versus"
done
# --trips is for one trace: what ti-info writes can be compared
replay 2 base --versus slow --trips 'a.c:7=3'
says err 'hint: change each trace first, and compare what this writes: ti-info --trips LOOP=N TRACE'
"$o/ti-info" -q --trips 'a.c:7=30' base -o longer || fail 'ti-info --trips'
replay 0 longer --versus trips
says out 'difference:     +0 s (+0.00 %)'
replay 2 base --versus slow --runs 3 --seed 1
says err "--seed cannot be given too"
replay 4 base --versus nothing
says err "cannot open 'nothing'"
replay 3 base two --scaling --hosts 2
says err "the replay of 'base' failed: 2 hosts in the platform for 4 ranks"
replay 3 --json base two --scaling --hosts 2
python3 -c '
import json
o = json.load(open("out"))
assert o["status"] == 3 and "base" in o["error"] and o["trace"] is None, o' || fail 'the error in JSON'
head -c 200 base >"cut"
replay 3 base --versus cut
says err cut
finish
