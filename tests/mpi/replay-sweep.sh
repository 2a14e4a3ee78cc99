#!/bin/bash
# ti-replay --sweep: its points are the single runs, whatever interrupts it; and what it writes.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ ! -e "$TI_BUILD/smpirun" ] || skip 'this build takes the smpirun of its SIMGRID, so that none on PATH can stand in'
tmp=$scratch o=$TI_BUILD
trace "$tmp/r" 8 cputime "$o/examples/stencil" 48 10 >/dev/null || fail stencil
"$o/ti-gather" -q "$tmp/r" -o "$tmp/t.tib" || fail gather
export TMPDIR=$tmp/tmp
mkdir "$TMPDIR"
real=$(command -v smpirun)
cd "$tmp" || exit 1

# smpirun, counted: a line in `ran` each time; slow while there is a file `slow`
mkdir bin
cat >bin/smpirun <<END_SH
#!/bin/bash
echo >>'$tmp/ran'
[ ! -e '$tmp/slow' ] || { sleep 9999 & wait; }
exec '$real' "\$@"
END_SH
chmod +x bin/smpirun
PATH=$tmp/bin:$PATH

# sweep STATUS OPTION...
sweep() {
    local status=$1
    shift
    : >ran
    "$o/ti-replay" "$@" >out 2>err
    local found=$?
    [ "$found" -eq "$status" ] || { fail "status $found, not $status: $*"; cat out err; }
}
runs() { [ "$(wc -l <ran)" -eq "$1" ] || { fail "$(wc -l <ran) runs, not $1: $2"; cat err; }; }
says() { grep -qF -- "$1" "$2" || { fail "$2 does not say: $1"; cat "$2"; }; }

# shellcheck disable=SC2054  # the commas are the option's
choices=(--sweep 'topology=cluster|torus:2,2,2' --sweep 'speed=1..2Gf'
         --sweep placement=block,random:1..2 --latency 1us -o study)
sweep 0 t.tib "${choices[@]}" -j 2
runs 12 'all points'
says 'points:   12' out
python3 - "$o/ti-replay" <<'END_PY' || fail 'results are not those of the single runs'
import csv, itertools, json, os, subprocess, sys, xml.dom.minidom
rows = list(csv.DictReader(open("study/results.csv")))
all = json.load(open("study/results.json"))
wanted = list(itertools.product(["cluster", "torus:2,2,2"], ["1Gf", "2Gf"],
                                ["block", "random:1", "random:2"]))
names = ["topology", "speed", "placement"]
assert [tuple(r[n] for n in names) for r in rows] == wanted, rows
assert [tuple(p["settings"][n] for n in names) for p in all["points"]] == wanted
assert all["point_count"] == 12 and all["failed"] == 0 and all["common"]["np"] == 8, all
for row, point in zip(rows, all["points"]):
    single = json.loads(subprocess.run(
        [sys.argv[1], "t.tib", "-q", "--json", "--latency", "1us"] +
        ["--%s=%s" % (n, row[n]) for n in names], check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout)
    kept = json.load(open("study/points/%s.json" % row["id"]))
    assert float(row["clock_s"]) == single["clock_s"] == point["result"]["clock_s"], row
    assert kept["result"]["rank_hosts"] == single["rank_hosts"], row
    assert (row["status"], row["error"]) == ("0", ""), row
assert len(set(r["clock_s"] for r in rows)) > 4, rows
# random placements are one bar: 2 topologies, each with 2 speeds, in 2 panels
svg = xml.dom.minidom.parse("study/plot.svg")
titles = [t.firstChild.data for t in svg.getElementsByTagName("title")]
assert len(titles) == 8 and sum("2 points" in t for t in titles) == 4, titles
assert not os.path.exists("study/results.csv.part")
END_PY

# the same again runs nothing, whatever the order of options; more values, only those
sweep 0 t.tib -o study --latency 1us --sweep placement=block,random:1..2 --sweep speed=1..2Gf \
    --sweep 'topology=cluster|torus:2,2,2'
runs 0 'all points have results'
says '12 of 12 points have their result already' err
sweep 0 t.tib "${choices[@]/random:1..2/random:1..3}"
runs 4 'a seed more'
sweep 0 t.tib "${choices[@]}" --latency 2us
runs 12 'another latency'
sweep 0 t.tib "${choices[@]}" --list
runs 0 'a list'
[ "$(grep -c ' done  *topology=' out)" = 12 ] || { fail 'the list'; cat out; }

# by a runner: the same table, each word as it was, a place for each of the jobs; what is wrong with
# the runner is said
sweep 0 t.tib "${choices[@]}"
# shellcheck disable=SC2016  # for the shell there
sweep 0 t.tib "${choices[@]/study/by}" -j 2 --runner 'env "BY=a  b" sh -c "echo \$BY \$TIARA_SLOT \$1 >>slots; exec \"\$@\"" by'
runs 12 'by a runner'
python3 - <<'END_PY' || { fail 'by a runner: another table'; cat slots; }
import csv
def table(d):
    return {r["id"]: r["clock_s"] for r in csv.DictReader(open(d + "/results.csv"))}
assert table("by") == table("study") and len(table("by")) == 12
lines = open("slots").read().splitlines()
assert len(lines) == 12 and {l.split()[2] for l in lines} == {"0", "1"}, lines
assert all(l.startswith("a b ") and l.endswith("/ti-replay") for l in lines), lines
END_PY
sweep 1 t.tib --sweep speed=1Gf,2Gf -o nobody --runner ./no-such-runner
says 'no-such-runner: not found' err
sweep 1 t.tib --sweep speed=1Gf,2Gf -o nobody --runner false
says "'false' ended with status 1 and printed no result" err
sweep 2 t.tib --runner false
says '--runner and --list are for a --sweep' err
sweep 0 t.tib --runs 3 --noise 5% --runner 'touch ran-by; exec'
[ -e ran-by ] || fail '--runs without the runner'
rm -rf by nobody

# interrupted in the middle: what ran is kept, what runs is ended, the rest is run by the command
# that it prints
rm -r study
sweep 0 t.tib --sweep placement=random:1..2 -o study
touch slow
: >ran
"$o/ti-replay" t.tib --sweep placement=random:1..6 -o study -j 3 >out 2>err &
sweeper=$!
while kill -0 $sweeper 2>/dev/null && [ "$(wc -l <ran)" -lt 3 ]; do sleep 0.1; done
runs 3 'before the interruption'
sweep_of_others=$("$o/ti-replay" t.tib --sweep placement=random:1..6 -o study 2>&1)
[[ $sweep_of_others == *"'study' is in use"* ]] || fail "two in one folder: $sweep_of_others"
kill -TERM $sweeper
wait $sweeper
[ $? -eq 143 ] || { fail 'does not end by the signal'; cat err; }
says 'interrupted; 2 of 6 points have their result' err
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"
[ "$(find study/points -type f | wc -l)" -eq 2 ] || fail 'points that were ended have files'
rm slow
: >ran
command=$(sed -n 's/^hint: to resume: //p' err)
[ -n "$command" ] || { fail 'no command to continue'; cat err; }
bash -c "$command" >out 2>err || { fail "it fails: $command"; cat err; }
runs 4 'the command that continues'
[ "$(wc -l <study/results.csv)" -eq 7 ] || fail 'rows of a sweep that was interrupted'

# another trace, or another file that an option names, is noticed
sed 's/^.*$/&:8/' <<<node-0 >hosts
sweep 0 t.tib --sweep hostfile=hosts -o study
sweep 0 t.tib --sweep hostfile=hosts -o study
runs 0 'the same hostfile'
echo node-1 >>hosts
sweep 0 t.tib --sweep hostfile=hosts -o study
runs 1 'another hostfile'
trace "$tmp/r2" 8 cputime "$o/examples/stencil" 48 20 >/dev/null || fail stencil
"$o/ti-gather" -q "$tmp/r2" -o "$tmp/u.tib" && mv u.tib t.tib
sweep 0 t.tib --sweep placement=random:1..6 -o study
runs 6 'another trace'
says "'t.tib' is not the trace that 6 of the points were run with" err
sweep 0 r2 --sweep placement=random:1 -o of-run
sweep 0 r2 --sweep placement=random:1..2 -o of-run
runs 1 'of a run directory'

# points that fail are recorded, the others go on; a failed one is tried again
sweep 1 t.tib --sweep 'topology=cluster|torus:2,2|torus:2,2,2' --sweep hosts=7..8 -o failing
says '4 of 6 points failed' err
python3 - <<'END_PY' || { fail 'points that fail'; cat failing/results.csv; }
import csv
rows = {(r["topology"], r["hosts"]): r for r in csv.DictReader(open("failing/results.csv"))}
assert len(rows) == 6
assert rows["cluster", "7"]["status"] == "3" and "7 hosts" in rows["cluster", "7"]["error"]
assert rows["torus:2,2", "8"]["status"] == "2" and not rows["torus:2,2", "8"]["clock_s"]
assert "torus:2,2 has 4" in rows["torus:2,2", "8"]["error"], rows
assert rows["cluster", "8"]["status"] == "0" and float(rows["cluster", "8"]["clock_s"]) > 0
END_PY
sweep 1 t.tib --sweep 'topology=cluster|torus:2,2|torus:2,2,2' --sweep hosts=7..8 -o failing
runs 0 'what succeeded is not run again; what fails does so before smpirun'
sweep 1 t.tib --sweep 'cfg=smpi/nothing:1|smpi/simulate-computation:no' -o cfg --json
runs 2 'cfg'
python3 -c 'import json; j = json.load(open("out")); assert j["failed"] == 1, j' || fail 'JSON'

# bursts without time are a choice, beside options that have no effect on them
sweep 0 t.tib --sweep no-compute=yes,no --speed 2Gf --noise 3% --ranks-per-host 2 \
    --contention 1:1,2:0.9 -o free
python3 - "$o/ti-replay" <<'END_PY' || { fail 'no-compute as a choice'; cat free/results.csv; }
import csv, json, subprocess, sys
clock = {r["no-compute"]: float(r["clock_s"]) for r in csv.DictReader(open("free/results.csv"))}
def single(*options):
    out = subprocess.run([sys.argv[1], "t.tib", "-q", "--json", *options], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out)["clock_s"]
pairs = ["--ranks-per-host", "2"]
assert clock == {"yes": single("--no-compute", *pairs),
                 "no": single("--speed", "2Gf", "--noise", "3%", "--contention", "1:1,2:0.9", *pairs)}
assert clock["yes"] < clock["no"], clock
END_PY

# what cannot be
refuses() {
    local text=$1
    shift
    sweep 2 "$@"
    says "$text" err
    runs 0 "$*"
}
refuses 'no folder is given' t.tib --sweep speed=1Gf
refuses 'are for a --sweep' t.tib -o study
refuses 'are for a --sweep' t.tib --list
refuses "'4Gx'" t.tib --sweep speed=4Gf,4Gx -o new
refuses "'ring'" t.tib --sweep placement=block,ring -o new
refuses 'there is no option --pace' t.tib --sweep pace=4 -o new
refuses "--sweep 'topology=VALUE|VALUE'" t.tib --sweep topology=cluster,ring -o new
refuses "'5parsecs' is not a time" t.tib --sweep latency=1us,5parsecs -o new
! grep -qF '|' err || { fail 'a bad unit: | is no help'; cat err; }
refuses "'maybe' is neither yes nor no" t.tib --sweep no-compute=maybe -o new
refuses 'is not empty, and holds no study' t.tib --sweep speed=4Gf -o bin
refuses 'are not for a --sweep' t.tib --sweep speed=4Gf -o new --keep kept
[ ! -e new ] || fail 'a folder is left by a usage error'
finish
