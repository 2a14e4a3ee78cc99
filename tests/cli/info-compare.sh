#!/bin/bash
# ti-info --compare: equal, different, and where.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

mktrace --np 4 --iterations 50 a.run
ti-gather -q a.run || fail "gather"
run 0 ti-info --compare a.run a.tib
says out "equal: 4 ranks, "
run 0 ti-info -q --compare a.run a.tib
[ -s out ] && fail "-q prints"
mktrace --np 4 --iterations 50 --sites elsewhere b.run
run 0 ti-info --compare a.run b.run

run 2 ti-info --compare a.run
says err "--compare a.run: which trace is compared with it?"

# another volume everywhere
mktrace --np 4 --iterations 50 --volume 3 c.run
run 1 ti-info --compare a.run c.run
says out "different: 4 of 4 ranks: 0-3"
says out "rank 0 differs at event 0:"
says out "  c.run: 3 init"
says out "  a.run: 0 init"
run 0 ti-info --compare a.run --no-volumes c.run
run 0 ti-info --compare a.run --tolerance 3 c.run
run 1 ti-info --compare a.run --tolerance 2 c.run

# one message of one rank
mktrace --np 4 --iterations 50 --change 2:33 d.run
run 1 ti-info --compare d.run --no-volumes a.tib
says out "different: 1 of 4 ranks: 2"
says out "rank 2 differs at event $((3 + 33 * 6)):"
says out "  a.tib: irecv comm=0 peer=any tag=7 bytes=34000"
says out "  d.run: irecv comm=0 peer=any tag=7 bytes=34008"

# one ends sooner; one has fewer ranks; one lacks a rank
mktrace --np 4 --iterations 50 --hold 3 e.run
truncate -s -200 e.run/rank-000003.ti
run 1 ti-info --compare a.run e.run
says out "rank 3 differs at event"
says out "(no more events)"
mktrace --np 5 --iterations 50 f.run
run 1 ti-info --compare a.run f.run
says out "different: 5 ranks and 4"
rm e.run/rank-000003.ti
run 1 ti-info --compare a.run e.run
says out "rank 3 is missing from 'e.run'"

# a call that is not traced is compared by its name: its number differs
mktrace --np 2 --untraced g.run
mktrace --np 2 --untraced --sites x h.run
run 0 ti-info --compare g.run h.run
run 4 ti-info --compare nothing a.run
run 3 ti-info --compare out a.run
# --json
run 0 ti-info --compare g.run --json h.run
python3 -c 'import json; o = json.load(open("out")); assert o["equal"] and not o["differ"]' || fail "equal, in JSON"
run 1 ti-info --compare d.run --no-volumes --json a.tib
python3 - <<'END' || fail "different, in JSON"
import json
o = json.load(open("out"))
assert o["paths"] == ["a.tib", "d.run"] and not o["equal"] and o["differ"] == [2], o
a, d = o["first"]["events"]
assert o["first"]["event"] == a["event"] == d["event"] == 3 + 33 * 6 and o["first"]["rank"] == 2, o
assert (a["operation"], a["fields"]["bytes"], d["fields"]["bytes"]) == ("irecv", 34000, 34008), o
END
run 1 ti-info --compare a.run --json f.run
python3 -c 'import json; o = json.load(open("out")); assert o["np"] == [5, 4] and not o["equal"]' || fail "other ranks, in JSON"
run 1 ti-info --compare a.run --json e.run
python3 -c 'import json; o = json.load(open("out")); assert o["first"] == {"rank": 3, "missing": "e.run"}' || fail "missing, in JSON"

# volumes that are kept as statistics are named, and differ
mktrace --np 2 --iterations 500 --noise 3000 n.run
run 0 ti-info -q --merge n.run --volumes stats -o n.ti
run 1 ti-info --compare n.run n.ti
says err "'n.ti': the volumes of 2 ranks are drawn from statistics"
grep -q "'n.run': the volumes" err && fail "n.run has exact volumes"
run 0 ti-info --compare n.run --no-volumes n.ti
[ -s err ] && fail "volumes are not compared"
run 0 ti-info --compare n.ti n.ti
says err "'n.ti': the volumes of 2 ranks are drawn from statistics"

exit $failed
