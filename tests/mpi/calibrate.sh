#!/bin/bash
# ti-calibrate on two ranks here, and replays with what it writes.  No figure is judged: only that
# each is there, of the right kind, and where it belongs.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
case $o in /*) ;; *) o=$PWD/$o ;; esac
[ -x "$o/ti-calibrate-mpi" ] || skip 'ti-calibrate-mpi was not built'
cd "$scratch" || exit 1
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
calibrate() { "$o/ti-calibrate" --local --no-progress "$@" >out 2>err; }
replay() { "$o/ti-replay" "$@" >out 2>err; }
clock() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' out; }

calibrate --repeats 5 --largest 256K || { fail "status $?"; cat out err; }
for key in date cpu mpi nodes program speed folded_speed within bandwidth latency eager ois \
    bandwidth_factor latency_factor $([ "$(nproc)" = 1 ] || echo shared copy) burst $([ "$(nproc)" = 1 ] || echo core) cores; do
    grep -q "^$key = " calibration.conf || fail "calibration.conf has no $key"
done
grep -q '^within = node$' calibration.conf || fail 'two ranks here are not within a node'
grep -q '^half round trips by all parts: error [0-9.]* %' out || { fail 'no error is told'; cat out; }
grep -q '^network ' out || fail 'no table'
# Two ranks of one node: its cores are measured once, and nothing is known about other nodes.
sed -n '/^\[noise\]/,$p' calibration.conf >noise
grep -q "^cores = $(nproc)$" noise && grep -q '^nodes = 1$' noise && ! grep -q '^node = ' noise ||
    { fail 'not the cores of one node'; cat noise; }
grep -q '^equal bursts vary by .*, cores.* 1 node)$' out || [ "$(nproc)" = 1 ] || fail 'no noise is told'

# The file is not replaced by mistake; a wrong command line says so.
calibrate
[ $? -eq 2 ] || fail 'replaces a file'
calibrate --measure x.json
[ $? -eq 2 ] || fail '--measure without a program'
calibrate -o none.conf --no-network -c cputime "$o/examples/ring" 2
[ $? -eq 3 ] || fail 'takes nanoseconds for instructions'
grep -q 'does not count instructions' err || { fail 'does not say why'; cat err; }
calibrate -o none.conf ./no-such-program
[ $? -ne 0 ] || fail 'calibrates by a program that is not there'
[ ! -e none.conf ] || fail 'leaves a file after a failure'
calibrate -o nowhere/none.conf ./no-such-program
{ [ $? -eq 4 ] && grep -q "cannot write 'nowhere/none.conf'" err; } || { fail 'measures for a file that cannot be'; cat err; }

# The rate of a program on as many cores as it has ranks, and on fewer: a core is not faster because
# others compute, too.
if [ -x "$o/blocks/lu" ] && [ "$(nproc)" -gt 1 ]; then
    calibrate -o program.conf --no-network -c blocks -r 2 --np 3 "$o/blocks/lu" S 5 ||
        { fail 'rate of a program'; cat err; }
    python3 - program.conf "$(nproc)" <<'P' || { fail 'speeds by the number of cores'; cat program.conf; }
import sys
keys = dict(line.strip().split(" = ") for line in open(sys.argv[1]) if " = " in line)
speeds = [x.split(":") for x in keys["speeds"].split(";")]
assert [int(n) for n, _ in speeds] == ([1, 2] if int(sys.argv[2]) == 2 else [1, 2, 3]), speeds
values = [float(v) for _, v in speeds]
assert values == sorted(values, reverse=True), speeds
assert abs(values[-1] / float(keys["speed"]) - 1) < 1e-6 and values[0] >= float(keys["folded_speed"]) * (1 - 1e-6), keys
P
fi

# Calibrated and measured by the same command, with as many runs of each kind; neither file is
# replaced by mistake.
if [ -x "$o/blocks/lu" ]; then
    calibrate -o both.conf --measure both.json --no-network -c blocks -r 3 "$o/blocks/lu" S 5 ||
        { fail '--output with --measure'; cat err; }
    grep -q '^speed = ' both.conf || fail 'no rate beside the real times'
    grep -q "untraced runs are in 'both.json'" err || { fail 'does not say where the times are'; cat err; }
    python3 - both.json <<'P' || fail 'not three runs'
import json, sys
real = json.load(open(sys.argv[1]))
assert len(real["runs"]) == 3 and real["program"][1:] == ["S", "5"] and real["np"] == 2, real
P
    for files in 'other.conf both.json' 'both.conf other.json' 'other.x other.x'; do
        calibrate -o "${files% *}" --measure "${files#* }" -c blocks "$o/blocks/lu" S 5
        [ $? -eq 2 ] || fail "writes $files"
    done
    [ -z "$(ls other.* 2>/dev/null)" ] || fail 'leaves files'
fi
calibrate --measure x.json --no-network "$o/examples/ring" 2
[ $? -eq 2 ] || fail '--no-network without anything that it belongs to'

# Real times, and what a replay makes of them.
calibrate --measure real.json -r 2 --progress json "$o/examples/ring" 2 || { fail "--measure"; cat out err; }
grep -q '"step":"timing the program, untraced","done":2,"of":2,"unit":"runs"' err || { fail 'no progress of runs'; cat err; }
python3 - real.json <<'P' || fail 'no common start of the ranks'
import json, sys
for run in json.load(open(sys.argv[1]))["runs"]:
    assert run["start_skew_s"] >= 0 and run["time_s"] == max(run["ranks_s"]), run
P
trace "$scratch/ring" 2 cputime "$o/examples/ring" 2 >/dev/null || fail ring
replay "$scratch/ring" --calibration calibration.conf --against real.json --keep kept ||
    { fail "replay"; cat err; }
grep -q '^run 2 .* %$' out && grep -q '^median ' out && grep -q '^rank 1 .* %$' out ||
    { fail 'no table of errors'; cat out; }
[ -n "$(clock)" ] || fail 'no time'
# each setting of the file goes to SMPI, a latency of two links to the platform
for key in smpi/ois smpi/bw-factor smpi/lat-factor smpi/send-is-detached-thresh; do
    grep -q -- "--cfg=$key:" kept/command || fail "$key is not set"
done
replay "$scratch/ring" --calibration calibration.conf --against real.json --json || fail json
python3 - out <<'P' || fail 'not the JSON it should be'
import json, sys
j = json.load(open(sys.argv[1]))
a = j["against"]
assert len(a["runs"]) == 2 and len(a["ranks"]) == 2, a
real = [r["real_s"] for r in a["runs"]]
assert abs(a["spread_s"] - abs(real[0] - real[1]) / 2) < 1e-9 * max(real), a
for c in a["runs"] + a["ranks"]:
    assert abs(c["error_pct"] - 100 * (c["simulated_s"] / c["real_s"] - 1)) < 1e-6, c
assert abs(max(r["simulated_s"] for r in a["ranks"]) - j["clock_s"]) < 1e-9, j
P
# SimGrid's own replay tells of each rank, too
replay "$scratch/ring" --engine stock --calibration calibration.conf --against real.json &&
    grep -q '^rank 1 .* %$' out || { fail 'stock replay: no table of errors'; cat out err; }

# Options win over the file, the file over defaults; nanoseconds are no instructions.
replay "$scratch/ring" --calibration calibration.conf && calibrated=$(clock)
grep -q ' 1 Gf,' out || { fail 'scales nanoseconds by a speed in instructions'; cat out; }
replay "$scratch/ring" --calibration calibration.conf --latency 1s && slow=$(clock)
awk -v c="$calibrated" -v s="$slow" 'BEGIN { exit !(s > c) }' || fail '--latency has no effect'
replay "$scratch/ring" --calibration calibration.conf --cfg smpi/lat-factor:0:1e9 && slow=$(clock)
awk -v c="$calibrated" -v s="$slow" 'BEGIN { exit !(s > c) }' || fail '--cfg has no effect'

# SimGrid has a round trip take what the file says, by ti-calibrate's reading of SMPI's formula:
# on both sides of every limit, to the byte, by both engines.
cat >fixed.conf <<'C'
[network]
within = node
bandwidth = 1G
latency = 2e-06
eager = 1000
os = 0:1e-06:1e-09;99:3e-06:0
or = 0:2e-06:2e-09
bandwidth_factor = 0:0.5;1016:2
latency_factor = 0:1;1016:4
C
for size in 1 99 100 1000 1001 1000000; do
    rm -rf actions pp
    mkdir actions
    printf '%s\n' '0 init' "0 send 1 0 $size 6" "0 recv 1 0 $size 6" '0 finalize' >actions/0
    printf '%s\n' '1 init' "1 recv 0 0 $size 6" "1 send 0 0 $size 6" '1 finalize' >actions/1
    printf '%s\n' 0 1 >actions/list
    "$o/ti-convert" -q --from simgrid actions/list -o pp || fail "ti-convert, $size bytes"
    for engine in stock tiara; do
        replay pp --engine $engine --calibration fixed.conf || { fail "$engine, $size bytes"; cat err; }
        awk -v t="$(clock)" -v s=$size 'BEGIN {
            want = s <= 1000 ? 2e-6 + (s + 16) / 0.5e9 + 2e-6 + 2e-9 * s + (s < 100 ? 1e-6 + 1e-9 * s : 3e-6) \
                             : 8e-6 + (s + 16) / 2e9
            exit !(t > 2 * want * 0.9999 && t < 2 * want * 1.0001) }' ||
            fail "$engine: a round trip of $size bytes takes $(clock) s"
    done
done

# The noise of the file changes a replay.
replay pp --calibration calibration.conf --noise calibration || { fail 'noise of a calibration'; cat err; }
grep -q '^noise: .* of bursts' out || { fail 'no noise'; cat out; }

# A malformed file is refused with the place of the fault.
sed 's/^latency = .*/latency = soon/' calibration.conf >bad.conf
replay "$scratch/ring" --calibration bad.conf
[ $? -eq 3 ] || fail 'takes a malformed calibration'
grep -q "bad.conf:[0-9]*:[0-9]*: latency is a number" err || { fail 'does not say where'; cat err; }
sed 's/"np": 2/"np": 3/' real.json >bad.json
replay "$scratch/ring" --against bad.json
[ $? -eq 3 ] || fail 'compares with other ranks'

[ -z "$(ls -A "$TMPDIR")" ] || fail "leaves files: $(ls -A "$TMPDIR")"
finish
