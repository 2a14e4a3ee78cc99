#!/bin/bash
# ti-info --dump: the text form of events, word for word.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

mktrace --np 4 --iterations 1 --untraced a.run
ti-gather -q a.run || fail "gather"
cat >want <<'TEXT'
0 init
100 comm_split comm=0 color=1 key=0 newcomm=2
1000000 send comm=2 peer=+1(3) tag=0 bytes=1000000 esize=1
500 irecv comm=0 peer=any tag=7 bytes=1000 esize=8 req=0
20 isend comm=0 peer=+1(2) tag=7 bytes=1000 esize=8 req=1
1000000 waitall all=1 requests=[0,1] matched=[0:-1:7]
1 sendrecv comm=0 peer=+1(2) tag=5 bytes=64 esize=1 rpeer=any rtag=any rbytes=64 resize=1 from=-1(0) fromtag=5
3000 allreduce comm=0 bytes=40 esize=8 redop=sum
7 alltoallv comm=0 esize=4 resize=4 sendcounts=[0,1,2,3] recvcounts=[1,1,1,1]
10 bcast comm=2 bytes=16 esize=4 root=0
10 alltoall comm=0 bytes=8 esize=4 rbytes=8 resize=4
10 untraced call=MPI_Put
0 finalize
TEXT
run 0 ti-info --rank 1 --dump a.tib
diff want out || fail "rank 1 of the bundle"
run 0 ti-info --rank 1 --dump a.run
diff want out || fail "rank 1 of the directory"
run 0 ti-info --dump a.run/rank-000001.ti
diff <(echo '# rank 1'; cat want) out || fail "the rank file"
run 0 ti-info --rank 1 --dump --no-volumes a.tib
diff <(sed 's/^[0-9]* //' want) out || fail "--no-volumes"
run 0 ti-info --rank 1 --dump --call-sites a.tib
diff <(sed 's/ site=".*"$//' out) want || fail "--call-sites"
says out "comm=2 bytes=16 esize=4 root=0 site=\"app+0x1020\""
run 0 ti-info --rank 1 --dump --call-sites --debug-dir .:nowhere a.tib
says out "comm=2 bytes=16 esize=4 root=0 site=\"app+0x1020\""
run 2 ti-info --rank 1 --dump --debug-dir . a.tib
says err '--debug-dir is for --call-sites, --rates, --phases, --imbalance, --compare, --timeline, --trips and --at'
run 0 ti-info --rank 3 --dump a.tib
says out "isend comm=0 peer=null tag=7"
run 0 ti-info --dump a.tib
[ "$(grep -c '^# rank' out)" -eq 4 ] || fail "all ranks"

# from another build: other sites and string numbers, the same text
mktrace --np 4 --iterations 1 --untraced --sites other b.run
ti-info --dump a.run >a.txt
ti-info --dump b.run | cmp - a.txt || fail "sites show in the dump"
# --json: an event a line, with all that the text says
# as_text SITES <LINES >TEXT: the lines as --dump writes them
as_text() {
    python3 -c '
import json, sys

def special(v, form):
    return form % v if isinstance(v, int) else v

def quoted(text):
    return "\"%s\"" % text

def event(e):
    out = [str(e["volume"])] if "volume" in e else []
    out.append(e["operation"])
    for key, v in e["fields"].items():
        if key in ("peer", "rpeer", "from"):
            v = special(v, "%+d")
            if key in e.get("world", {}):
                v += "(%d)" % e["world"][key]
        elif key == "name":
            v = quoted(v)
        out.append("%s=%s" % (key, v))
    for key, list in e.get("vectors", {}).items():
        if key == "matched":
            words = [":".join((special(list[i], "%d"), special(list[i + 1], "%+d"),
                               special(list[i + 2], "%d"))) for i in range(0, len(list), 3)]
        else:
            words = [special(v, "%d") for v in list]
        out.append("%s=[%s]" % (key, ",".join(words)))
    for key, v in e.get("extra", {}).items():
        out.append("%s=%s" % ("".join(c if " " < c <= "~" else "\\x%02x" % ord(c) for c in key), v))
    if "site" in e:
        out.append("site=" + quoted(e["site"] or "?"))
    return " ".join(out)

numbers = {}
for line in sys.stdin:
    e = json.loads(line)
    assert e["event"] == numbers.get(e["rank"], 0), e
    if e["event"] == 0:
        print("# rank %d" % e["rank"])
    numbers[e["rank"]] = e["event"] + 1
    print(event(e))
'
}
for options in '' --no-volumes --call-sites; do
    mktrace --np 3 --iterations 20 --times --untraced json.run
    run 0 ti-info --dump $options json.run
    cp out text
    run 0 ti-info --dump --json $options json.run
    as_text <out >lines || fail "--json is no JSON"
    cmp text lines || { fail "--dump --json $options says something else"; diff text lines | head; }
    rm -r json.run
done
mktrace --np 3 --iterations 20 json.run
run 0 ti-info --at event=40 --rank 1 --dump --json --count 1 json.run
cp out line
run 0 ti-info --at event=40 --rank 1 --json json.run
python3 - <<'END' || fail "--at --json"
import json
at, line = json.load(open("out")), json.loads(open("line").read())
assert line["event"] == at["event"] == 40 and at["rank"] == 1, (at, line)
assert at["at"] == line, (at, line)
assert len(at["loops"]) == 1 and at["loops"][0]["trip"] == 7 and at["loops"][0]["trips"] == 20, at
END

exit $failed
