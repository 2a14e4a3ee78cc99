#!/bin/bash
# ti-info --compare: by how much two traces differ, by loop and by call site.  What was changed by a
# known amount comes first, with that amount; the parts add up to the whole.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# The script of a version of a program: KEY=VALUE for what differs from the first one.
cat >program.py <<'END'
import sys

is_ = dict(np=3, trips=20, inner=4, volume=100, line=7, file="a.c", added=0, bytes=8, split=0, tail=0)
is_.update((k, v if k == "file" else int(v)) for k, v in (a.split("=") for a in sys.argv[1:]))
np, trips, inner, volume, line = (is_[k] for k in ("np", "trips", "inner", "volume", "line"))
a = is_["file"]

def body(rank, part):
    if part != 2:
        yield f"{rank} barrier site={a}:{line} v={volume + rank}"
        if is_["added"]:
            yield f"{rank} allreduce bytes=16 redop=sum site={a}:{line + 1} v=1"
        yield from (f"{rank} pcontrol level=3 site=b.c:9 v=10" for _ in range(inner))
    if part != 1:
        yield f"{rank} allreduce bytes={is_['bytes']} redop=sum site={a}:{line + 3} v=50"

def program(rank):
    yield f"{rank} init site=m.c:1 v=5"
    for part in (1, 2) if is_["split"] else (None,):
        for _ in range(trips):
            yield from body(rank, part)
    yield from (f"{rank} pcontrol level=4 site=m.c:2 v=1000" for _ in range(is_["tail"]))
    yield f"{rank} finalize site=m.c:4 v=9"

for rank in range(np):
    print("\n".join(program(rank)))
END

program() { # OUT KEY=VALUE...
    local out=$1
    shift
    python3 program.py "$@" >script
    rm -rf "$out"
    mkscript "$(grep -c finalize script)" "$out" <script || fail "mkscript $out"
}

# changes OLD NEW: changes.json has what differs, and its parts add up to the whole.
changes() {
    run 1 ti-info --json --compare "$1" "$2"
    cp out changes.json
    python3 - "$1" "$2" <<'END' || fail "the parts of $1 and $2 do not add up"
import json, subprocess, sys

o = json.load(open("changes.json"))
c, quantities = o["changes"], ("volume", "messages", "bytes", "calls")
old, new = (json.loads(subprocess.run(["ti-info", "--json", p], stdout=subprocess.PIPE).stdout)
            for p in sys.argv[1:])
assert o["paths"] == [sys.argv[2], sys.argv[1]], o["paths"]
for q in quantities:
    a, b = c["all"][q]["values"]
    assert c["all"][q]["change"] == a - b, c["all"]
    outer = [l[q]["change"] for l in c["loops"] if l["in"] is None]
    assert sum(outer) == a - b, (q, outer, a, b)
    assert sum(s[q]["change"] for s in c["sites"]) == a - b, q
    for row in c["loops"] + c["sites"]:
        x, y = row[q]["values"]
        assert x - y == row[q]["change"], row
        assert abs(row[q]["share"] - (x - y) / (b or a or 1)) < 1e-9, row
    assert (a, b) == tuple({"volume": s["volume"], "calls": s["events"], "messages": s["messages"],
                            "bytes": sum(p["bytes"] for p in s["operations"].values())}[q]
                           for s in (new, old)), (q, a, b)
for rows in c["loops"], c["sites"]:
    shares = [abs(r["share"]) for r in rows]
    assert shares == sorted(shares, reverse=True), shares
    assert all(abs(r[r["largest"]]["share"] - r["share"]) < 1e-9 for r in rows)
END
}

# first CODE: the assertions of Python hold of the first loop l, the first call site s, all of it c
first() {
    python3 -c '
import json, sys
c = json.load(open("changes.json"))["changes"]
l, s = (c[k][0] if c[k] else None for k in ("loops", "sites"))
exec(sys.argv[1])' "$1" || fail "$1: $(head -c 2000 changes.json)"
}

program base
run 0 ti-info --merge -q base -o base.m

# a trace with itself: nothing
for trace in base base.m; do
    run 0 ti-info --json --compare base $trace
    python3 -c '
import json
assert json.load(open("out"))["changes"] == {"all": {}, "loops": [], "sites": []}' || fail "itself"
    run 0 ti-info --compare base $trace
    [ "$(wc -l <out)" -eq 1 ] || fail "a trace differs from itself: $(cat out)"
done

# a loop with other trips: that loop, and all that its trips have
body=$((3 * 100 + 3 + 3 * (4 * 10 + 50)))
program more trips=50
run 0 ti-info -q --trips a.c:7=50 base -o more.m
for trace in more more.m; do
    changes base $trace
    first "assert l['loops'] == ['a.c:7'] * 2 and l['volume']['change'] == 30 * $body, l"
    first "assert l['trips'] == [150, 60] and l['passes'] == [3, 3] and l['calls']['change'] == 540, l"
    first "assert l['bytes']['change'] == 30 * 3 * 8 and l['in'] is None, l"
done
run 1 ti-info --compare base more
says out "sums of all ranks"
grep -Eq "^ +[+][0-9.]+ %  [a-z]+ .* 20 -> 50  a[.]c:7$" out || fail "the loop is not named: $(cat out)"
says out "+ is more in more; % is of all in base"
# the other way round, the signs are the others
run 1 ti-info --json --compare more base
python3 - <<'END' || fail "signs"
import json
a, b = (json.load(open(f))["changes"] for f in ("changes.json", "out"))
assert {json.dumps(l["loops"]): -l["volume"]["change"] for l in a["loops"]} == \
       {json.dumps(l["loops"]): l["volume"]["change"] for l in b["loops"]}
END

# an inner loop: that, not the one around it, which changes by as much
program inner inner=9
changes base inner
first "assert l['loops'] == ['b.c:9'] * 2 and l['volume']['change'] == 3 * 20 * 5 * 10, l"
first "assert l['trips'] == [3 * 20 * 9, 3 * 20 * 4] and l['in'] is not None, l"
first "assert s['sites'][0]['site'] == 'b.c:9' and s['calls']['change'] == 300, s"

# a volume, and bytes
program slow volume=130
changes base slow
first "assert l['loops'][0] == 'a.c:7' and l['volume']['change'] == 3 * 20 * 30, l"
first "assert len(c['sites']) == 1 and s['operation'] == 'barrier' and s['sites'][0]['site'] == 'a.c:7', s"
first "assert l['largest'] == 'volume' and not l['calls']['change'], l"
program large bytes=80
changes base large
first "assert l['largest'] == 'bytes' and s['bytes']['change'] == 3 * 20 * 72, l"
first "assert s['sites'][1]['site'] == 'a.c:10' and len(c['sites']) == 1, s"

# lines that moved are the same call sites, and so is a file with another name
program moved line=10 trips=21
changes base moved
first "assert all(None not in s['sites'] for s in c['sites']) and len(c['sites']) == 3, c['sites']"
first "assert l['loops'] == ['a.c:10', 'a.c:7'], l"
run 1 ti-info --compare base moved
says out "barrier at a.c:10 (a.c:7 in base)"
program renamed file=z.c trips=21
changes base renamed
first "assert all(None not in s['sites'] for s in c['sites']) and l['loops'] == ['z.c:7', 'a.c:7'], c"

# a call that was added before one of the same operation, with lines that moved
program added added=1 line=9
changes base added
first "assert s['sites'][1] is None and s['sites'][0]['site'] == 'a.c:10', s"
first "assert s['bytes']['change'] == s['bytes']['values'][0] == 3 * 20 * 16 and len(c['sites']) == 1, s"
run 1 ti-info --compare base added
says out "allreduce at a.c:10 (only in added)"

# a loop that was split is one row
program split split=1 trips=21
changes base split
first "assert l['loops'] == ['a.c:7, a.c:10', 'a.c:7'] and l['volume']['change'] == $body, l"
first "assert [m['loops'] for m in c['loops']] == [l['loops'], ['b.c:9'] * 2], l"

# a loop that makes one trip in the other version, where the trace has no such loop
program once trips=1
changes base once
first "assert l['loops'] == [None, 'a.c:7'], l"
first "assert c['loops'][1]['loops'] == ['b.c:9'] * 2 and c['loops'][1]['in'] == l['number'], c"
first "assert c['loops'][1]['volume']['change'] == -3 * 19 * 4 * 10, c['loops'][1]"
run 1 ti-info --compare once base
says out "a.c:7 (only in base)"

# the text has the rows of the JSON, in the same order
for version in more split tail added; do
    [ -d $version ] || program $version tail=1
    changes base $version
    run 1 ti-info --all --compare base $version
    python3 - <<'END' || fail "text and JSON of $version"
import json, re
c = json.load(open("changes.json"))["changes"]
row = re.compile(r" *([+-][0-9.]+) %  (\w+) +([+-]?[0-9,]+) +([+-]?[0-9,]+) +([+-]?[0-9,]+) +([+-]?[0-9,]+) ")
text = [m.groups() for m in map(row.match, open("out")) if m]
want = [("%+.2f" % (100 * r["share"]), r["largest"],
         *("%+d" % r[q]["change"] if r[q]["change"] else "0" for q in ("volume", "messages", "bytes", "calls")))
        for r in c["loops"] + c["sites"]]
assert [tuple(t.replace(",", "") for t in row) for row in text] == want, (text, want)
END
done

# calls outside of loops
program tail tail=1
changes base tail
first "assert l['number'] is None and l['volume']['change'] == 3000 and len(c['loops']) == 1, l"
run 1 ti-info --compare base tail
says out "outside of loops"

# other numbers of ranks: sums, and means of a rank
program ranks np=5
changes base ranks
run 1 ti-info --compare base ranks
says out "different: 5 ranks and 3"
says out "volume of a rank"
first "assert c['all']['calls']['values'] == [5 * 122, 3 * 122], c['all']"

# --no-volumes: no volumes; --top: so many rows; -q: none
run 0 ti-info --compare base --no-volumes slow
run 1 ti-info --compare base --no-volumes more
grep -q volume out && fail "volumes in spite of --no-volumes"
run 1 ti-info --compare base --top 1 more
says out "... and 1 further ones; --all shows them"
run 1 ti-info --compare base --all more
grep -q further out && fail "--all leaves rows out"
run 1 ti-info -q --compare base more
[ -s out ] && fail "-q prints"

# real operations, also persistent ones and one-sided ones, count as in the summary
mktrace --np 4 --iterations 50 real.run
mktrace --np 4 --iterations 70 --volume 3 longer.run
changes real.run longer.run
run 0 ti-info -q --merge real.run -o real.m
changes longer.run real.m

# what cannot be read
cp -r base gone && rm gone/rank-000001.ti
run 1 ti-info --compare base gone
says out "rank 1 is missing from 'gone'"
cp -r more short && truncate -s -60 short/rank-000002.ti
run 1 ti-info --compare base short
cp -r more bad
printf '\377\377\377\377' | dd of=bad/rank-000002.ti bs=1 seek=$(($(stat -c %s bad/rank-000002.ti) / 2)) \
    conv=notrunc 2>/dev/null
ti-info --compare base bad >out 2>err
[ $? -le 4 ] || fail "damage: status $?"
grep -q rank err || fail "damage is not told: $(cat err)"
exit $failed
