#!/bin/bash
# ti-info --dump --csv: a table that a reader of CSV gives back as the events that were written; and
# --dump of some ranks.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

mktrace --np 4 --iterations 1 --untraced a.run
ti-gather -q a.run || fail gather
cat >want <<'TEXT'
0 init
100 comm_split comm=0 color=1 key=0 newcomm=2
1000000 send comm=2 peer=1(3) tag=0 bytes=1000000 esize=1
500 irecv comm=0 peer=any tag=7 bytes=1000 esize=8 req=0
20 isend comm=0 peer=1(2) tag=7 bytes=1000 esize=8 req=1
1000000 waitall all=1 requests=[0,1] matched=[0:-1:7]
1 sendrecv comm=0 peer=1(2) tag=5 bytes=64 esize=1 rpeer=any rtag=any rbytes=64 resize=1 from=-1(0) fromtag=5
3000 allreduce comm=0 bytes=40 esize=8 redop=sum
7 alltoallv comm=0 esize=4 resize=4 sendcounts=[0,1,2,3] recvcounts=[1,1,1,1]
10 bcast comm=2 bytes=16 esize=4 root=0
10 alltoall comm=0 bytes=8 esize=4 rbytes=8 resize=4
10 untraced call=MPI_Put
0 finalize
TEXT
# as_text RANK <CSV: the events of a rank, as text
as_text() {
    python3 -c '
import csv, sys

text = sys.stdin.buffer.read().decode()
assert text.count("\r\n") == text.count("\n") == text.count("\r"), "lines do not end in CRLF"
rows = list(csv.reader(text.splitlines(), strict=True))
head = rows.pop(0)
assert len(set(head)) == len(head) and all(len(row) == len(head) for row in rows), head
expected = 0
for row in (dict(zip(head, row)) for row in rows):
    if row["rank"] != sys.argv[1]:
        continue
    assert int(row["event"]) == expected, row
    expected += 1
    words = [row["volume"]] if "volume" in row else []
    words.append(row["operation"])
    for name in head[head.index("operation") + 1:head.index("vectors")]:
        if name.startswith("world_"):
            if row[name]:
                words[-1] += "(%s)" % row[name]
        elif row[name]:
            words.append("%s=%s" % (name, row[name]))
    words += [row["vectors"]] if row["vectors"] else []
    print(*words)
' "$1"
}
run 0 ti-info --dump --csv --rank 1 a.tib
as_text 1 <out >text || fail 'the table'
diff want text || fail 'rank 1'
[ "$(wc -l <out)" -eq 14 ] || fail 'a header, and a row for each event'
run 0 ti-info --dump --csv a.run
as_text 1 <out >text || fail 'all ranks'
diff want text || fail 'rank 1 of all'
[ "$(cut -d, -f1 out | sort -u | tr '\n' ' ')" = '0 1 2 3 rank ' ] || fail 'the ranks'
run 0 ti-info --dump --csv --no-volumes --count 3 --rank 1 a.tib
as_text 1 <out >text || fail '--no-volumes'
diff <(sed 's/^[0-9]* //' want | head -n 3) text || fail '--no-volumes'
run 0 ti-info --dump --csv --rank 1 --at event=2 --count 1 a.tib
[ "$(tail -n +2 out | cut -d, -f1-4)" = 1,2,1000000,send ] || fail --at

# Call sites, extra columns; names that need quotes.
mktrace --np 2 --iterations 3 --times --sites 'odd "a,b"' times.run
run 0 ti-info --dump --json --call-sites times.run
cp out lines
run 0 ti-info --dump --csv --call-sites times.run
python3 - <<'END' || fail 'call sites and extra columns'
import csv, json
lines = [json.loads(line) for line in open("lines")]
rows = list(csv.DictReader(open("out", newline=""), strict=True))
assert len(lines) == len(rows) > 20
for event, row in zip(lines, rows):
    assert row["site"] == (event["site"] or ""), (event, row)
    for name, value in event["extra"].items():
        name = "".join("?" if c < " " else c for c in name)
        assert row[name] == str(value), (name, event, row)
assert any('"a,b"' in row["site"] for row in rows), rows[5]
END

# Some ranks.
run 0 ti-info --dump --rank 0,2-3 a.tib
[ "$(grep '^#' out | tr '\n' ' ')" = '# rank 0 # rank 2 # rank 3 ' ] || fail 'some ranks'
run 0 ti-info --dump --json --rank 1,3 a.tib
[ "$(sed 's/^{"rank":\([0-9]*\),.*/\1/' out | sort -u | tr '\n' ' ')" = '1 3 ' ] || fail 'JSON of some ranks'
rm a.run/rank-000002.ti
run 1 ti-info --dump --csv --rank 1-2 a.run
says err '1 rank missing: 2'
run 3 ti-info --dump --rank 2-4 a.tib
says err 'there is no rank 4'
run 2 ti-info --dump --rank 3-2 a.tib
says err "'3-2' is no list of ranks"
run 2 ti-info --rank 1-2 a.tib
says err 'several ranks are for --dump'
run 2 ti-info --csv a.tib
says err '--csv is for --dump'
run 2 ti-info --dump --csv --json a.tib
says err 'not both'

exit $failed
