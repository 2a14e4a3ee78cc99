#!/bin/bash
# ti-replay --timeline: a replay whose times are known to some milliseconds, in all formats; several
# jobs; trips that are left out; and a replay that is interrupted.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err; }
check() { PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 python3 - || fail "$1"; }
cat >late.0 <<'E'
0 init
0 compute 1e9
0 send 1 0 1000 2
0 send 1 0 1000000 2
0 finalize
E
cat >late.1 <<'E'
1 init
1 recv 0 0 1000 2
1 compute 2e9
1 recv 0 0 1000000 2
1 finalize
E
printf 'late.0\nlate.1\n' >late.list
"$o/ti-convert" -q --from simgrid late.list -o late || fail late

# Hosts of 1 Gf: rank 0 sends after a second, rank 1 waits for it; then rank 0 waits two seconds for
# rank 1, as a megabyte is not eager.
for format in json csv paje; do
    replay late --timeline late.$format || { fail "late.$format"; cat err; }
done
grep -q "the timeline is in 'late.paje'" err || fail 'what is said'
check 'times and arrows' <<'END'
import csv, json
def near(a, b, least=0.02): assert abs(a - b) <= least, (a, b)
trace = json.load(open("late.json"))["traceEvents"]
calls = {(e["tid"], e["args"]["event"]): e for e in trace if e.get("cat") == "mpi"}
times = {key: (e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for key, e in calls.items()}
near(times[0, 1][0], 1, 1e-9); near(times[0, 1][1], 1); near(times[1, 1][0], 0, 1e-9); near(times[1, 1][1], 1)
near(times[0, 2][0], 1); near(times[0, 2][1], 3, 0.04); near(times[1, 2][0], 3); near(times[1, 2][1], 3, 0.04)
near(calls[1, 1]["args"]["waiting_us"], 1e6, 1e4); near(calls[0, 2]["args"]["waiting_us"], 2e6, 2e4)
near(calls[0, 1]["args"]["waiting_us"], 0, 1e-3)
args = {key: (e["name"], e["args"].get("peer"), e["args"].get("bytes")) for key, e in calls.items()}
assert args[0, 1] == ("send", 1, 1000) and args[1, 2] == ("recv", 0, 1000000), args
first = {e["id"]: e for e in trace if e["ph"] == "s"}
last = {e["id"]: e for e in trace if e["ph"] == "f"}
arrows = sorted((e["ts"] / 1e6, last[id]["ts"] / 1e6, e["tid"], last[id]["tid"]) for id, e in first.items())
assert len(arrows) == len(last) == 2 and all(a[0] < a[1] and a[2:] == (0, 1) for a in arrows), arrows
for arrow, event in zip(arrows, (1, 2)):
    near(arrow[0], times[0, event][0], 2e-9); near(arrow[1], times[1, event][1], 2e-9)
# The other formats have the same times.
rows = {(int(r["rank"]), int(r["event"]), r["state"] == "computing"): r for r in csv.DictReader(open("late.csv"))}
for key, e in calls.items():
    r = rows[(*key, False)]
    near(float(r["start_s"]), times[key][0], 1e-9); near(float(r["end_s"]), times[key][1], 1e-9)
    near(float(r["waiting_s"]) * 1e6, e["args"]["waiting_us"], 1e-3)
    assert (r["state"], r["peer"], r["bytes"]) == tuple("" if v is None else str(v) for v in args[key]), r
states = [l.split() for l in open("late.paje") if l.startswith("5 ")]
enters = sorted((float(l[1]), l[3]) for l in states if l[4] != "c")
assert [t for t, _ in enters] == sorted(float(r["start_s"]) for k, r in rows.items() if not k[2]), enters
END

# Jobs are processes of their own; no arrow goes from one to another.
replay late late --start 0s,10s --timeline jobs.json || { fail jobs; cat err; }
check jobs <<'END'
import json
trace = json.load(open("jobs.json"))["traceEvents"]
assert {(e["pid"], e["tid"]) for e in trace if e["ph"] == "X"} == {(0, 0), (0, 1), (1, 2), (1, 3)}
assert min(e["ts"] for e in trace if e["ph"] == "X" and e["pid"] == 1) == 10e6
ends = {}
for e in trace:
    if e["ph"] in "sf":
        ends.setdefault(e["id"], []).append(e["pid"])
assert sorted(ends.values()) == [[0, 0], [0, 0], [1, 1], [1, 1]], ends
END

# OTF2: the messages come back, and the library's own tool reads them.
if ! "$o/ti-convert" --from otf2 nothing.otf2 -o none 2>&1 | grep -q libotf2; then
    replay late late --start 0s,10s --timeline jobs.otf2 || { fail jobs.otf2; cat err; }
    "$o/ti-convert" -q --from otf2 jobs.otf2 -o jobs.run || fail 'OTF2 is not read'
    "$o/ti-info" --dump jobs.run | sed -n 's/^\([0-9]*\) \(send\|recv\).*(\([0-9]\)).* \(bytes=[0-9]*\) .*/\2 \3 \4/p' >got
    for peers in '1 0' '3 2'; do
        # shellcheck disable=SC2086  # two words
        set -- $peers
        printf 'send %s bytes=1000\nsend %s bytes=1000000\nrecv %s bytes=1000\nrecv %s bytes=1000000\n' "$1" "$1" "$2" "$2"
    done >want
    diff want got || fail 'messages of OTF2'
    if command -v otf2-print >/dev/null; then
        otf2-print jobs.otf2 >printed || fail otf2-print
        grep -q '^MPI_SEND *2 *11000000000 *Receiver: 1 ("rank 3"' printed || { fail 'what otf2-print tells'; cat printed; }
    fi
    # All collectives, in all forms, on the world and on parts of it.
    (TIARA_QUIET=1 TIARA_TIMES=1 && export TIARA_QUIET TIARA_TIMES && MPIRUN=$(pass TIARA_TIMES) &&
        trace "$scratch/colls" 4 cputime "$built/collectives") >out 2>&1 || { fail collectives; tail out; }
    "$o/ti-info" --timeline otf.otf2 colls >/dev/null 2>err || { fail 'the timeline of collectives'; cat err; }
    "$o/ti-convert" -q --from otf2 otf.otf2 -o colls.run 2>err || { fail 'collectives back'; cat err; }
    for t in colls colls.run; do "$o/ti-info" --dump --json $t >$t.events; done
    check 'collectives of OTF2' <<'END'
import json
KINDS = ("barrier bcast reduce allreduce gather gatherv scatter scatterv allgather allgatherv alltoall "
         "alltoallv alltoallw reduce_scatter reduce_scatter_block scan exscan").split()
def calls(path):
    ranks = {}
    for e in map(json.loads, open(path)):
        op, f = e["operation"], e["fields"]
        if op == "comm_create_group":
            continue  # at the begin of a trace of OTF2
        if "newcomm" in f:
            op, f = "barrier", {}  # so it comes back
        if op not in KINDS and op[1:] not in KINDS:
            continue
        sizes = {"sendcounts": f.get("esize"), "recvcounts": f.get("resize", f.get("esize"))}
        vectors = {k: [v * sizes[k] for v in l] for k, l in e.get("vectors", {}).items() if k in sizes}
        if "alltoall" in op:
            vectors = {k: sum(l) for k, l in vectors.items()}  # OTF2 has sums only
        ranks.setdefault(e["rank"], []).append((op, f.get("root"), f.get("bytes"), f.get("rbytes"), vectors))
    return ranks
there, back = calls("colls.events"), calls("colls.run.events")
for rank in range(4):
    assert len(there[rank]) == len(back[rank]) > 300
    for x, y in zip(there[rank], back[rank]):
        if "exscan" in x[0] and y[2] == 0:
            continue  # of one rank, which gives nothing
        if "alltoallw" in x[0]:
            x, y = x[:2], y[:2]  # vectors have other names
        assert x == y, (rank, x, y)
END
fi

# Trips that are left out have no times, and what is after them has its own events.
(TIARA_QUIET=1 trace "$scratch/lu" 4 cputime "$examples/lu" S) >out 2>&1 || { fail lu; cat out; }
"$o/ti-info" -q --merge lu -o lu.tib.ti >/dev/null || fail 'merge of lu'
replay lu.tib.ti --no-compute --timeline all.csv || { fail 'lu'; cat err; }
replay lu.tib.ti --no-compute --steady=5% --json --timeline some.csv || { fail 'lu, steady'; cat err; }
check 'trips that are left out' <<'END'
import csv, json
def rows(path):
    return {(r["rank"], r["event"]): (r["state"], r["site"], r["peer"], r["bytes"])
            for r in csv.DictReader(open(path)) if r["state"] != "computing"}
left = json.load(open("out"))["steady"]
all, some = rows("all.csv"), rows("some.csv")
assert 0 < len(some) < len(all), (len(some), len(all), left)
assert all.items() >= some.items()
END

# An interrupted replay leaves no timeline, and the former one as it was.
python3 - <<'END'
for rank in 0, 1:
    with open("long.%d" % rank, "w") as f:
        turns = ["%d send %d 0 8 6" % (rank, 1 - rank), "%d recv %d 0 8 6" % (rank, 1 - rank)]
        f.write("%d init\n" % rank + ("\n".join(turns[::1 if rank else -1]) + "\n") * 100000 + "%d finalize\n" % rank)
END
printf 'long.0\nlong.1\n' >long.list
"$o/ti-convert" -q --from simgrid long.list -o long || fail long
mkdir tmp
cp late.json old.json
for name in old.json new.csv; do
    TMPDIR=$PWD/tmp "$o/ti-replay" --no-progress long --timeline $name >out 2>err &
    pid=$!
    until [ -s "$(echo tmp/*/intervals)" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -TERM $pid
    wait $pid
    [ $? -eq 143 ] || { fail 'the replay was not interrupted'; cat err; }
done
cmp late.json old.json || fail 'an interrupted replay changes the former timeline'
[ "$(echo old.json* new*)" = 'old.json new*' ] || fail "left over: $(echo old.json* new*)"
finish
