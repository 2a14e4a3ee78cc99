#!/usr/bin/env python3
"""A node for tests of ti-gather, which does what session/messages.h says, or not quite:
gather_node.py NODE COMMAND.  What it sent is told in the file sent/NODE: rank, from, bytes;
and in mode/NODE.listens, for how many milliseconds it was to listen to silence.

The file mode/NODE, if there is one, has one line that says how the node goes wrong.  Modes with
[RANK] concern that rank only, or all; `once` is the first time, however often the node is started.

    dead                 cannot be reached
    hang REQUEST         does nothing of this request; its heartbeats continue
    dawdle               takes 36 s to list its traces
    dribble              takes 40 s for one frame of a trace
    late RANK            lists its traces only when that rank has come from elsewhere
    twice, beyond        lists a trace twice; lists a rank that does not exist
    keeps                does not remove the first rank
    keeps-late           neither does that; lists that rank only the second time
    no-crc               tells no checksums
    die-crc              ends when asked for checksums
    die-crc-once         does so once
    rude                 answers with an error that commands a terminal and is long
    more [RANK]          sends more of a trace than it said
    longer [RANK]        sends 3 GiB of a trace that it listed with its length
    half [RANK]          lists a trace with half of its length, once
    uncredited           sends all at once, whatever it is let
    again [RANK]         sends a trace from its first byte each time, and ends before the last
    drips [RANK]         sends a byte of a trace each half second
    other [RANK]         sends a trace that was not asked for
    shorter [RANK]       has a trace become shorter while it is sent, once
    die [RANK]           ends in the middle of a trace, once
    die-always [RANK]    does so each time
    flip [RANK]          sends a trace with another checksum
    flip-once [RANK]     does so once
    flip-first [RANK]    does so if no other node was asked for that rank before
    files                sends files though it is to merge ranks, as an older ti-node does
    cannot-merge         the same, and tells why
    merges               tells without end that it merges
    merged-error         cannot send the merged trace: the files follow
    merged-again         the same, but sends the merged trace once more
    merged-other         says that a rank is in the merged trace which was not asked for
    merged-lacks         says so of a rank that was asked for, and is not in it
    merged-longer        sends a merged trace of 3 GiB
A merged trace counts as the trace of its first rank.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from node_driver import DATA, HELLO, MESSAGE, crc32c, frame  # noqa: E402

name = sys.argv[1]
mode = open("mode/" + name).read().split() if os.path.exists("mode/" + name) else [""]
out = sys.stdout.buffer


def once():
    """Whether it is the first time that it goes wrong so."""
    marker = "mode/%s.was" % name
    first = not os.path.exists(marker)
    open(marker, "w").close()
    return first


def asked_first(rank):
    """Whether nobody else was asked for it before."""
    try:
        os.symlink(name, "mode/first-%d" % rank)
    except FileExistsError:
        pass
    return os.readlink("mode/first-%d" % rank) == name


lock = threading.Lock()
source = sys.stdin.buffer
credit = 0  # bytes of traces that it may send
later = []  # requests that came while it sent


def read_request():
    head = source.read(20)
    if len(head) < 20:
        os._exit(0)
    return json.loads(source.read(struct.unpack("<I", head[12:16])[0]))


def say_data(rank, data):
    """Send the bytes, as far as it has credit, and wait for more."""
    global credit
    while data:
        while not credit:
            q = read_request()
            if q["do"] in ("more", "beat"):
                answer(q)
            else:
                later.append(q)
        n = min(len(data), 128 * 1024, len(data) if mode[0] == "uncredited" else credit)
        if mode[0] == "drips":
            n = 1
            time.sleep(0.5)
        say(DATA, data[:n], stream=rank)
        credit -= min(n, credit)
        data = data[n:]


def say(kind, payload, stream=0):
    """Of a slow link, a trace comes in small pieces: 40 s for one frame."""
    whole = frame(kind, stream, payload)
    piece = -(-len(whole) // 80) if kind == DATA and mode[0] == "dribble" else len(whole)
    with lock:
        for i in range(0, len(whole), piece):
            time.sleep(0.5 if piece < len(whole) else 0)
            out.write(whole[i:i + piece])
            out.flush()


def tell(**what):
    say(MESSAGE, json.dumps({"is" if k == "what" else k: v for k, v in what.items()}).encode())


def path_of(request, rank):
    return os.path.join(request["directory"], "rank-%06d.ti" % rank)


def each(ranges):
    return [r for first, last in ranges for r in range(first, last + 1)]


def traces(directory):
    found = []
    for entry in sorted(os.listdir(directory)):
        if entry.startswith("rank-") and entry.endswith(".ti"):
            s = os.stat(os.path.join(directory, entry))
            found.append([int(entry[5:-3]), s.st_size, s.st_ino, s.st_mtime_ns, True])
    return found


def hangs(what):
    """Whether it does not come back from that, as from a dead file system; it beats."""
    return mode[0] == "hang" and mode[1] == what


def do_list(q):
    if hangs("list"):
        return
    if mode[0] == "dawdle":  # there is much to look at
        time.sleep(36)
    there = os.path.isdir(q["directory"])
    if mode[0] == "late":  # when the rank came from elsewhere, and was read
        while not os.path.exists("run/rank-%06d.ti" % int(mode[1])):
            time.sleep(0.05)
        time.sleep(0.3)
    found = traces(q["directory"]) if there else []
    if mode[0] == "half" and once():
        for trace in found:
            trace[1] //= 2 if len(mode) == 1 or trace[0] == int(mode[1]) else 1
    if mode[0] == "keeps-late" and once():  # its first one is seen late
        found = found[1:]
    if mode[0] == "twice":
        found += found[:1]
    if mode[0] == "beyond":
        found.append([1 << 40, 1, 1, 1, True])
    for i in range(0, len(found), 1000):
        tell(what="listed", id=q["id"], traces=found[i:i + 1000])
    tell(what="list", id=q["id"], traces=len(found), exists=there)


def do_crc(q):
    if hangs("crc"):
        return
    if mode[0] == "die-crc" or mode[0] == "die-crc-once" and once():
        os._exit(1)
    if mode[0] == "no-crc":
        q["ranks"] = []
    have = [(r, open(path_of(q, r), "rb").read()) for r in each(q["ranks"])]
    tell(what="crc", id=q["id"], crc=[[r, len(data), crc32c(data)] for r, data in have])


def send_merged(q):
    """Merge the ranks, and send them; gives those that were sent."""
    while mode[0] == "merges":  # and sleeps for most of the time, as patient.c wants it
        for _ in range(100):
            tell(what="merging")
        time.sleep(0.5)
    files = {r: path_of(q, r) for r in each(q["ranks"]) if os.path.exists(path_of(q, r))}
    ranks = sorted(files)
    if mode[0] == "merged-lacks":
        files.pop(ranks[-1])
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["ti-info", "-q", "--merge", *files.values(), "-o", scratch + "/ranks.ti"], check=True)
        data = open(scratch + "/ranks.ti", "rb").read()
    if mode[0] == "merged-other":
        ranks[-1] += 1
    merged = []
    for r in ranks:
        content = open(path_of(q, r), "rb").read() if os.path.exists(path_of(q, r)) else b""
        merged.append([r, len(content), crc32c(content)])
    send_data(q, ranks[0], {}, data, merged=merged)
    if mode[0] == "merged-again":
        send_data(q, ranks[0], {}, data, merged=merged)
    return [] if mode[0] == "merged-error" else ranks


def send_one(q, rank, have):
    if mode[0] == "rude":
        tell(what="sent", rank=rank, error="\033]0;owned\007 " + "x" * 100000)
        return
    if not os.path.exists(path_of(q, rank)):
        tell(what="sent", rank=rank, error="no trace")
        return
    send_data(q, rank, have, open(path_of(q, rank), "rb").read())


def send_data(q, rank, have, data, **more):
    begin, crc = have.get(rank, (0, 0))
    if begin > len(data) or crc32c(data[:begin]) != crc:
        begin = 0
    goes_wrong = mode[0] and mode[0] not in ("hang", "dawdle", "dribble", "keeps-late") and (len(mode) == 1 or int(mode[1]) == rank)
    if goes_wrong and mode[0] in ("longer", "merged-longer"):
        tell(what="sending", rank=rank, bytes=3 << 30, **{"from": 0}, **more)
        while True:
            say_data(rank, bytes(128 * 1024))
    if goes_wrong and mode[0] == "again":
        begin = 0
    tell(what="sending", rank=rank, bytes=len(data), **{"from": begin}, **more)
    if more and (mode[0] == "merged-error" or mode[0] == "merged-again" and once()):
        tell(what="sent", rank=rank, error="cannot read it")
        return
    if goes_wrong and mode[0] == "more":
        data += b"more than it said"
    if goes_wrong and mode[0] == "other":
        say(DATA, b"a trace nobody asked for", stream=rank + 1)
    sent = data[begin:]
    if goes_wrong and (mode[0] in ("die-always", "again") or mode[0] in ("die", "shorter") and once()):
        sent = data[begin:len(data) // 2]
    say_data(rank, sent)
    with open("sent/" + name, "a") as log:
        print(rank, begin, len(sent), file=log)
    if len(sent) < len(data) - begin and mode[0] in ("die", "die-always", "again"):
        os._exit(1)
    if len(sent) < len(data) - begin:
        tell(what="sent", rank=rank, error="it became shorter while it was sent")
        return
    crc = crc32c(data)
    if goes_wrong and (mode[0] == "flip" or mode[0] == "flip-once" and once() or
                       mode[0] == "flip-first" and asked_first(rank)):
        crc ^= 1
    tell(what="sent", rank=rank, bytes=len(data), crc32c=crc)


def do_send(q):
    global credit
    credit = q["credit"]
    if hangs("send"):
        return
    have = {r: (n, crc) for r, n, crc in q.get("from", [])}
    merged = send_merged(q) if q.get("merge") and mode[0] not in ("files", "cannot-merge") else []
    for rank in each(q["ranks"]):
        if rank not in merged:
            send_one(q, rank, have)
    tell(what="send", id=q["id"], sent=len(each(q["ranks"])),
         **{"not_merged": "no \033[1mroom"} if mode[0] == "cannot-merge" and q.get("merge") else {})


def do_remove(q):
    if hangs("remove"):
        return
    if mode[0] in ("keeps", "keeps-late"):
        q["ranks"][0][0] += 1
    there = [r for r in each(q["ranks"]) if os.path.exists(path_of(q, r))]
    for rank in there:
        os.unlink(path_of(q, rank))
    tell(what="remove", id=q["id"], removed=len(there))


def beat(every_s):
    while True:
        tell(what="beat")
        time.sleep(every_s)


def do_beat(q):
    with open("mode/%s.listens" % name, "a") as log:
        print(q["listen_ms"], file=log)
    tell(what="beat", id=q["id"])
    if mode[0] in ("hang", "dawdle", "drips") and threading.active_count() == 1:
        threading.Thread(target=beat, args=(q["every_ms"] / 1000,), daemon=True).start()


def do_more(q):
    global credit
    credit += q["credit"]


def answer(q):
    {"list": do_list, "crc": do_crc, "send": do_send, "remove": do_remove,
     "beat": do_beat, "more": do_more}[q["do"]](q)


if mode[0] == "dead":
    sys.exit("%s: no such host" % name)
say(HELLO, json.dumps({"tiara": "test", "protocol": 3, "host": name, "pid": os.getpid(),
                       "family": "x86_64", "folder": "/", "shipped": False}).encode())
while True:
    answer(later.pop(0) if later else read_request())
