"""Checks what ti-convert wrote, by the rules of the target, and plays it without a clock.

  convert_check.py goal FILE     convert_check.py dimemas FILE

Syntax is checked line by line.  Every message must have both sides, of the same size.  Then all
is executed twice, with sends that never wait for their receive and with sends that always do (but
for those that do not block), and must come to its end.  Prints what there is, as "messages 12".
"""
import collections
import re
import sys


def fail(text):
    sys.exit(f"{sys.argv[2]}: {text}")


# ---- GOAL: (kind, peer, bytes, tag), what must have ended, what must have begun

def read_goal(path):
    ranks, ops, labels = {}, None, None
    with open(path) as f:
        m = re.fullmatch(r"num_ranks ([0-9]+)\n", f.readline())
        if not m:
            fail("does not begin with num_ranks")
        np = int(m[1])
        for n, line in enumerate(f, 2):
            if m := re.fullmatch(r"rank ([0-9]+) \{\n", line):
                if ops is not None or int(m[1]) != len(ranks):
                    fail(f"line {n}: a rank at the wrong place")
                ops, labels = [], {}
            elif line == "}\n" and ops:
                ranks[len(ranks)] = ops
                ops = None
            elif ops is None:
                fail(f"line {n}: outside of a rank")
            elif m := re.fullmatch(r"([a-z][0-9]+): calc ([0-9]+)\n", line):
                labels[m[1]] = len(ops)
                ops.append(("calc", None, int(m[2]), None, [], []))
            elif m := re.fullmatch(r"([a-z][0-9]+): (send ([0-9]+)b to|recv ([0-9]+)b from) "
                                   r"([0-9]+) tag ([0-9]+)\n", line):
                if m[1] in labels or int(m[5]) >= np or int(m[6]) >= 2**32 - 1:
                    fail(f"line {n}: {line}")
                labels[m[1]] = len(ops)
                ops.append((m[2][:4], int(m[5]), int(m[3] or m[4]), int(m[6]), [], []))
            elif m := re.fullmatch(r"([a-z][0-9]+) (i?)requires ([a-z][0-9]+)\n", line):
                # what is required stands before it, so that there is no cycle
                if m[1] not in labels or m[3] not in labels or labels[m[3]] >= labels[m[1]]:
                    fail(f"line {n}: {line}")
                ops[labels[m[1]]][5 if m[2] else 4].append(labels[m[3]])
            else:
                fail(f"line {n}: {line}")
    if len(ranks) != np or ops is not None:
        fail(f"{len(ranks)} ranks of {np}")
    return ranks


def match_goal(ranks):
    """(rank, op) of a send -> that of its receive, and back."""
    sides = {"send": collections.defaultdict(list), "recv": collections.defaultdict(list)}
    for rank, ops in ranks.items():
        for i, (kind, peer, size, tag, *_) in enumerate(ops):
            if kind != "calc":
                key = (rank, peer, tag) if kind == "send" else (peer, rank, tag)
                sides[kind][key].append((rank, i, size))
    match = {}
    for key in sides["send"].keys() | sides["recv"].keys():
        sends, recvs = sides["send"][key], sides["recv"][key]
        if len(sends) != len(recvs):
            fail(f"{len(sends)} sends but {len(recvs)} receives on {key}")
        for s, r in zip(sends, recvs):
            if s[2] != r[2]:
                fail(f"sent {s}, received {r}")
            match[s[:2]], match[r[:2]] = r[:2], s[:2]
    return match


def play_goal(ranks, match, waits):
    begun, ended = set(), set()
    ready = collections.deque((r, i) for r in ranks for i in range(len(ranks[r])))
    needs = {r: [[] for _ in ops] for r, ops in ranks.items()}  # who looks again after whom
    for r, ops in ranks.items():
        for i, op in enumerate(ops):
            for d in op[4] + op[5]:
                needs[r][d].append((r, i))
    while ready:
        r, i = ready.popleft()
        kind, _, _, _, after, beside = ranks[r][i]
        news = []
        if (r, i) not in begun:
            if any((r, d) not in ended for d in after) or any((r, d) not in begun for d in beside):
                continue
            begun.add((r, i))
            news += needs[r][i]
        other = match.get((r, i))
        if (r, i) not in ended and (kind == "calc" or (kind == "send" and not waits) or
                                    other in begun):
            ended.add((r, i))
            news += needs[r][i]
        if other:
            news.append(other)
        ready.extend(n for n in news if n not in ended)
    left = [(r, i, ranks[r][i]) for r in ranks for i in range(len(ranks[r]))
            if (r, i) not in ended]
    if left:
        fail(f"{len(left)} operations never end, waits {waits}: {left[:3]}")


def goal(path):
    ranks = read_goal(path)
    match = match_goal(ranks)
    for waits in (False, True):
        play_goal(ranks, match, waits)
    sends = [op for ops in ranks.values() for op in ops if op[0] == "send"]
    print("messages", len(sends))
    print("bytes", sum(op[2] for op in sends))
    print("ns", sum(op[2] for ops in ranks.values() for op in ops if op[0] == "calc"))


# ---- Dimemas

def read_dimemas(path):
    with open(path, "rb") as f:
        data = f.read()
    lines = data.decode().split("\n")
    m = re.fullmatch(r'#DIMEMAS:"[^"]*":1,([0-9]+):([0-9]+)\(([0-9,]+)\),([0-9]+)', lines[0])
    if not m or m[3] != ",".join(["1"] * int(m[2])):
        fail("header: " + lines[0])
    np, ncomms, comms, tasks, offsets = int(m[2]), int(m[4]), {}, {}, []
    at = len(lines[0]) + 1
    for n, line in enumerate(lines[1:-1], 2):
        w = line.split(":")
        if w[0] == "d" and w[1] == "1" and not tasks:
            comms[int(w[2])] = [int(t) for t in w[4:]]
            if int(w[3]) != len(w) - 4 or any(not 0 <= int(t) < np for t in w[4:]):
                fail(f"line {n}: {line}")
        elif w[0] == "s":
            if not offsets and at != int(m[1]):
                fail(f"the offsets are at {at}, not {m[1]}")
            offsets.append((int(w[1]), int(w[2])))
        elif not re.fullmatch(r"1:\d+:0:\d+\.\d{9}|[23]:\d+:0:\d+:-1:\d+:\d+:\d+:[0-3]|"
                              r"10:\d+:0:\d+:\d+:\d+:0:\d+:\d+:1", line) or offsets:
            fail(f"line {n}: {line}")
        else:
            t = int(w[1])
            if t not in tasks:
                tasks[t] = (at, [])
                if t != len(tasks) - 1:
                    fail(f"line {n}: tasks are not in order")
            tasks[t][1].append(w)
        at += len(line) + 1
    if len(comms) != ncomms or offsets != [(t, tasks[t][0]) for t in range(np)] or lines[-1]:
        fail("communicators or offsets are not what they should be")
    return comms, {t: r for t, (_, r) in tasks.items()}


def play_dimemas(comms, tasks, waits):
    sent, got = collections.Counter(), collections.Counter()
    posted, done = collections.Counter(), collections.Counter()
    calls, at = collections.defaultdict(list), collections.Counter()
    where = dict.fromkeys(tasks, 0)
    entered = {}

    def step(t, w):
        """Whether record w of task t is through."""
        if w[0] == "1":
            return True
        if w[0] in "23":
            key = (t, int(w[3])) if w[0] == "2" else (int(w[3]), t)
            key += (w[6], w[7])
            if int(w[7]) not in comms or not {key[0], key[1]} <= set(comms[int(w[7])]):
                fail(f"{w}: not in its communicator")
        if w[0] == "2":
            first = entered.get(t) != where[t]
            if first:
                entered[t] = where[t]
                sent[key] += 1
            blocks = w[8] == "1" or (w[8] == "0" and waits)
            return not blocks or posted[key] >= sent[key]
        if w[0] == "3" and w[8] == "1":
            posted[key] += 1
            return True
        if w[0] == "3":
            if w[8] == "2" and done[key] >= posted[key]:
                fail(f"{w}: waits for nothing")
            if w[8] == "0" and entered.get(t) != where[t]:
                entered[t] = where[t]
                posted[key] += 1
            if sent[key] <= done[key]:
                return False
            done[key] += 1
            return True
        comm = w[4]
        if entered.get(t) != where[t]:
            entered[t] = where[t]
            nth = at[t, comm]
            if len(calls[comm]) == nth:
                calls[comm].append([w[3], set()])
            if calls[comm][nth][0] != w[3] or t not in comms[int(comm)]:
                fail(f"{w}: others call another collective")
            calls[comm][nth][1].add(t)
            at[t, comm] += 1
        return len(calls[comm][at[t, comm] - 1][1]) == len(comms[int(comm)])

    moved = True
    while moved:
        moved = False
        for t, records in tasks.items():
            while where[t] < len(records) and step(t, records[where[t]]):
                where[t] += 1
                moved = True
    stuck = [(t, tasks[t][where[t]]) for t in tasks if where[t] < len(tasks[t])]
    if stuck:
        fail(f"{len(stuck)} tasks are stuck, waits {waits}: {stuck[:3]}")
    if sent != posted or done != posted:
        fail("messages are left over")
    return sum(len(c) for c in calls.values())


def dimemas(path):
    comms, tasks = read_dimemas(path)
    sizes = {"2": collections.defaultdict(list), "3": collections.defaultdict(list)}
    for t, records in tasks.items():
        for w in records:
            if w[0] == "2" or (w[0] == "3" and w[8] != "2"):
                key = (t, int(w[3])) if w[0] == "2" else (int(w[3]), t)
                sizes[w[0]][key + (w[6], w[7])].append(int(w[5]))
    if sizes["2"] != sizes["3"]:
        fail("sizes of sends and receives differ")
    collectives = {play_dimemas(comms, tasks, waits) for waits in (False, True)}
    records = [w for r in tasks.values() for w in r]
    print("messages", sum(w[0] == "2" for w in records))
    print("bytes", sum(int(w[5]) for w in records if w[0] == "2"))
    print("ns", sum(int(w[3].replace(".", "")) for w in records if w[0] == "1"))
    print("collectives", *collectives)


{"goal": goal, "dimemas": dimemas}[sys.argv[1]](sys.argv[2])
