#!/bin/bash
# ti-info --timeline: each format has the events of a trace whose durations and messages are known,
# and OTF2 traces come back through the OTF2 library and ti-convert.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# What mktrace writes: bursts of 2 ns for each instruction, calls of 100 ns; the messages are those
# of its head, by hand.
mktrace --np 4 --iterations 1 --times a.run
cat >truth.py <<'END'
VOLUMES = [0, 100, 1000000, 500, 20, 1000000, 1, 3000, 7, 10, 10, 0]
OPERATIONS = ("init comm_split send irecv isend waitall sendrecv allreduce alltoallv bcast "
              "alltoall finalize").split()
# (from, to, bytes): in the halves, by isend, by sendrecv
MESSAGES = sorted([(0, 2, 1000000), (1, 3, 1000000)] +
                  [(i, i + 1, n) for i in range(3) for n in (1000, 64)])
def events():
    """(rank, event, operation, start, call, end), in ns."""
    for rank in range(4):
        now = 0
        for event, (volume, operation) in enumerate(zip(VOLUMES, OPERATIONS)):
            if event == 2 and rank > 1:
                volume, operation = 0, "recv"
            yield rank, event, operation, now, now + 2 * volume, now + 2 * volume + 100
            now += 2 * volume + 100
# (rank, event): partner and bytes of the first ranks' calls, where they are one partner's
ABOUT = {(0, 2): (2, 1000000), (3, 2): (1, 1000000), (1, 3): (0, 1000), (0, 3): (None, 1000),
         (1, 4): (2, 1000), (3, 4): (None, 1000), (0, 5): (1, 1000), (1, 5): (None, 2000),
         (3, 5): (2, 1000), (1, 6): (2, 64), (3, 6): (2, 64), (1, 7): (None, 40),
         (1, 8): (None, 24), (1, 9): (None, 16), (1, 10): (None, 8), (1, 11): (None, None)}
END
truth() { PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 python3 - || fail "$1"; }

run 0 ti-info --timeline a.csv a.run
says out 'a.csv: 48 events'
says err 'ranks have no common clock'
truth CSV <<'END'
import csv, truth
rows = list(csv.DictReader(open("a.csv")))
calls = {(int(r["rank"]), int(r["event"])): r for r in rows if r["state"] != "computing"}
bursts = {(int(r["rank"]), int(r["event"])): r for r in rows if r["state"] == "computing"}
ns = lambda text: round(float(text) * 1e9)
for rank, event, operation, start, call, end in truth.events():
    row = calls.pop((rank, event))
    assert (row["state"], ns(row["start_s"]), ns(row["end_s"])) == (operation, call, end), row
    if call > start:
        burst = bursts.pop((rank, event))
        assert (ns(burst["start_s"]), ns(burst["end_s"])) == (start, call), burst
    if (rank, event) in truth.ABOUT:
        peer, size = ("" if v is None else str(v) for v in truth.ABOUT[rank, event])
        assert (row["peer"], row["bytes"]) == (peer, size), row
assert not calls and not bursts
assert [r["end_s"] for r in rows] == sorted(r["end_s"] for r in rows)
assert rows[-1]["waiting_s"] == "" and calls == {} and {r["site"] for r in rows} >= {"app+0x1010"}
END

run 0 ti-info --timeline a.json a.run
truth JSON <<'END'
import json, truth
trace = json.load(open("a.json"))["traceEvents"]
ns = lambda us: round(us * 1000)
slices = {(e["tid"], e["args"]["event"], e["cat"]): e for e in trace if e["ph"] == "X"}
for rank, event, operation, start, call, end in truth.events():
    e = slices.pop((rank, event, "mpi"))
    assert (e["name"], ns(e["ts"]), ns(e["dur"])) == (operation, call, end - call), e
    if call > start:
        burst = slices.pop((rank, event, "computing"))
        assert (ns(burst["ts"]), ns(burst["dur"])) == (start, call - start), burst
        assert burst["args"]["volume"] * 2 == call - start, burst
    if (rank, event) in truth.ABOUT:
        assert (e["args"].get("peer"), e["args"].get("bytes")) == truth.ABOUT[rank, event], e
assert not slices
names = {e["tid"]: e["args"]["name"] for e in trace if e["name"] == "thread_name"}
assert names == {0: "rank 0 (node-0)", 1: "rank 1 (node-0)", 2: "rank 2 (node-1)", 3: "rank 3 (node-1)"}
# Arrows: an end of each lies in the call that sends, the other in the one that has received.
at = {(rank, event): (call, end, operation) for rank, event, operation, _, call, end in truth.events()}
def inside(e):
    found = [c for (rank, _), c in at.items() if rank == e["tid"] and c[0] <= ns(e["ts"]) < c[1]]
    assert len(found) == 1, e
    return found[0][2]
first = {e["id"]: e for e in trace if e["ph"] == "s"}
last = {e["id"]: e for e in trace if e["ph"] == "f"}
assert first.keys() == last.keys() and len(first) == sum(e["ph"] in "sf" for e in trace) / 2
receives = {"send": "recv", "isend": "waitall", "sendrecv": "sendrecv"}
size = {"send": 1000000, "isend": 1000, "sendrecv": 64}
assert all(receives[inside(e)] == inside(last[id]) and last[id]["bp"] == "e" for id, e in first.items())
assert sorted((e["tid"], last[id]["tid"], size[inside(e)]) for id, e in first.items()) == truth.MESSAGES
END

run 0 ti-info --timeline a.paje a.run
truth Paje <<'END'
import re, truth
defined, states, times = {}, {}, []
head = [l.split() for l in open("a.paje") if l.startswith("%EventDef")]
number = {name: n for _, name, n in head}
for line in open("a.paje"):
    if line[0] == "%":
        continue
    words = re.findall(r'"[^"]*"|\S+', line)
    if words[0] == number["PajeDefineEntityValue"]:
        defined[words[1]] = words[3]
    if words[0] == number["PajeSetState"]:
        times.append(float(words[1]))
        states.setdefault(int(words[3][1:]), []).append((round(times[-1] * 1e9), defined[words[4]], *words[5:]))
assert times == sorted(times)
for rank, event, operation, start, call, end in truth.events():
    computing, state = states[rank][2 * event], states[rank][2 * event + 1]
    assert computing[:2] == (start, "computing") and state[:2] == (call, operation), (computing, state)
    if (rank, event) in truth.ABOUT:
        assert state[2:4] == tuple('"%s"' % ("" if v is None else v) for v in truth.ABOUT[rank, event]), state
assert states[0][5][4] == '"app+0x1010"', states[0][5]
END

# Files and failures.
mkfifo pipe.csv
cat pipe.csv >piped &
run 0 ti-info -q --timeline pipe.csv a.run
wait $!
cmp piped a.csv || fail 'through a pipe'
ln -s target.csv link.csv
run 0 ti-info -q --timeline link.csv a.run
{ [ -L link.csv ] && cmp target.csv a.csv; } || fail 'through a link'
mktrace --np 2 plain.run
echo old >kept.csv
run 3 ti-info --timeline kept.csv plain.run
says err "rank 0 of 'plain.run' has no durations"
says err 'hint: ti-acquire --times'
[ "$(cat kept.csv)" = old ] || fail 'a failure changes the old timeline'
run 3 ti-info --timeline new.json plain.run
run 4 ti-info --timeline nowhere/x.json a.run
run 2 ti-info --timeline x.txt a.run
says err '--timeline must be named'
run 2 ti-info --timeline .json a.run
rm a.run/rank-000003.ti
run 1 ti-info --timeline part.json a.run
says err '1 rank missing: 3'
python3 -m json.tool part.json >/dev/null || fail 'JSON without a rank'
[ "$(echo *)" = 'a.csv a.json a.paje a.run err kept.csv link.csv out part.json pipe.csv piped plain.run target.csv truth.py' ] ||
    fail "files: $(echo *)"

# OTF2.
mktrace --np 4 --iterations 1 --times b.run
if ti-convert --help | grep -q 'without the OTF2'; then
    run 2 ti-info --timeline b.otf2 b.run
    says err libotf2-trace-dev
    exit $failed
fi
run 0 ti-info --timeline b.otf2 b.run
run 0 ti-convert --from otf2 b.otf2 -o back.run
cp err warnings
! grep -q "the trace is by" warnings || fail 'warns of our own traces'
run 0 ti-info -q --verify back.run
for t in b back; do ti-info --dump --json $t.run >$t.events; done
truth 'OTF2 and back' <<'END'
import json
def events(path):
    for line in open(path):
        e = json.loads(line)
        f, op, null = e["fields"], e["operation"], e["fields"].get("peer") == "null"
        # A trace of OTF2 has communicators at its begin; it has no requests of MPI_PROC_NULL, and
        # the sources that matched in place of wildcards.
        if op in ("comm_split", "comm_create_group") or (op == "barrier" and path == "back.events"):
            continue
        if op == "isend" and null or op == "irecv" and null:
            continue
        vectors = e.get("vectors", {})
        esize = f.get("esize", 1)
        counts = sum(v * esize for v in vectors.get("sendcounts", []))
        size = f.get("bytes", counts) if not (op == "sendrecv" and null) else None
        yield (e["rank"], op, f.get("root"), size,
               None if op == "irecv" else e.get("world", {}).get("peer"),
               [e["extra"][k] for k in ("burst_ns", "call_ns")] if op == "send" else None)
a, b = list(events("b.events")), list(events("back.events"))
for e in map(json.loads, open("back.events")):
    if e["operation"] == "irecv":
        assert e["world"]["peer"] == e["rank"] - 1, e
assert len(a) == len(b), (len(a), len(b))
for x, y in zip(a, b):
    assert x == y, (x, y)
END
if command -v otf2-print >/dev/null; then
    otf2-print b.otf2 >printed || fail otf2-print
    otf2-print -G b.otf2 >definitions || fail 'otf2-print -G'
    truth 'what otf2-print tells' <<'END'
import re, truth
end = {(r, e): (op, call, done) for r, e, op, _, call, done in truth.events()}
sent, got, regions, colls = [], [], {}, []
world = {"ranks 0 2": (0, 2), "ranks 1 3": (1, 3), "MPI_COMM_WORLD": (0, 1, 2, 3)}
for line in open("printed"):
    m = re.match(r"(\w+) +(\d+) +(\d+) +(.*)", line)
    if not m:
        continue
    kind, rank, time, rest = m[1], int(m[2]), int(m[3]), m[4]
    of = re.search(r'Communicator: "([^"]*)"', rest)
    length = int((re.search(r"Length: (\d+)", rest) or [0, 0])[1])
    peer = int((re.search(r"(?:Receiver|Sender): (\d+)", rest) or [0, -1])[1])
    if kind in ("MPI_SEND", "MPI_ISEND"):
        sent.append((rank, world[of[1]][peer], length))
    elif kind in ("MPI_RECV", "MPI_IRECV"):
        got.append((world[of[1]][peer], rank, length))
    elif kind in ("ENTER", "LEAVE"):
        regions.setdefault(rank, []).append((kind, re.search('"(.*?)"', rest)[1], time))
    elif kind == "MPI_COLLECTIVE_END" and rank == 1:
        colls.append(tuple(re.search(r"Operation: (\w+),.*Sent: (\d+), Received: (\d+)", rest).groups()))
assert sorted(sent) == sorted(got) == truth.MESSAGES, (sent, got)
assert colls == [("CREATE_HANDLE", "0", "0"), ("ALLREDUCE", "160", "160"), ("ALLTOALLV", "24", "16"),
                 ("BCAST", "32", "16"), ("ALLTOALL", "32", "32")], colls
for rank in range(4):
    want = [("ENTER", "application", 0)]
    for (r, e), (op, call, done) in end.items():
        if r == rank:
            want += [("ENTER", "MPI_" + op.capitalize(), call), ("LEAVE", "MPI_" + op.capitalize(), done)]
    want.append(("LEAVE", "application", want[-1][2]))
    assert regions[rank] == want, (rank, regions[rank])
END
    says printed '"source" <0>; STRING; "app+0x1010"'
    grep -q 'CLOCK_PROPERTIES.*Ticks per Seconds: 1000000000,' definitions || fail 'the resolution of the clock'
    grep -q 'COMM_GROUP.*2 Members: 1 ("rank 1" <1>), 3 ("rank 3" <3>)' definitions || fail 'the group of a communicator'
fi
run 2 ti-info --timeline b.otf2 b.run
says err "'./b' exists already"
mkdir c
run 2 ti-info --timeline c.otf2 b.run
run 3 ti-info --timeline d.otf2 plain.run
[ "$(echo ./*.otf2 ./tiara-*)" = './b.otf2 ./tiara-*' ] || fail "files of OTF2: $(echo ./*)"

exit $failed
