#!/bin/bash
# Energy of a replay: joules agree with a sum by hand, and no clock changes.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
export TIARA_TIMES=1 TIARA_QUIET=1
MPIRUN="$(pass TIARA_TIMES) $(pass TIARA_QUIET)"
trace "$tmp/lu" 8 cputime "$o/examples/lu" S 5 >/dev/null || fail lu
trace "$tmp/stencil" 6 cputime "$o/examples/stencil" 48 10 >/dev/null || fail stencil
trace "$tmp/cg" 4 cputime "$o/examples/cg" 512 3 >/dev/null || fail cg
cd "$tmp" || exit 1
for name in lu stencil cg; do
    for ((rank = 0; rank < 8; rank++)); do
        "$o/ti-info" "$name" --rank $rank --dump 2>/dev/null | sed '/^#/d' >$name.$rank
    done
done

# by-hand.py RESULT CLOCK NAME HOSTS: the joules of each host are its idle power x the time, and
# what its cores take more x the seconds in which they compute.  HOSTS: a list of the host's name,
# ranks, idle and full watts, cores, and speed; "times": bursts take their measured durations.
cat >by-hand.py <<'END_PY'
import json, re, sys
result, clock, name, hosts = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3], eval(sys.argv[4])
assert repr(result["clock_s"]) == clock, (result["clock_s"], "not", clock)
def busy_s(rank, speed):
    lines = open(f"{name}.{rank}").read().splitlines()
    if speed == "times":
        return sum(int(re.search(r" burst_ns=(\d+)", l).group(1)) for l in lines) / 1e9
    return sum(int(l.split()[0]) for l in lines) / speed if speed else 0
energy, all, seen = result["energy"], 0, []
for h, (host, ranks, idle, full, cores, speed) in zip(energy["hosts"], hosts, strict=True):
    a_core = (full - idle) / cores
    joules = idle * result["clock_s"] + a_core * sum(busy_s(r, speed) for r in ranks)
    assert (h["host"], h["ranks"]) == (host, len(ranks)), (h, host, ranks)
    # SimGrid rounds each burst to a nanosecond; the clock is printed with twelve decimals
    rounded_s = 1e-9 * sum(open(f"{name}.{r}").read().count("\n") for r in ranks)
    assert abs(h["joules"] - joules) <= 1e-12 * (joules + idle) + a_core * rounded_s, (h, joules)
    all += h["joules"]
assert abs(energy["joules"] - all) <= 1e-9 * all, (energy["joules"], all)
END_PY
# joules NAME HOSTS OPTION...: with the option --watts or without, the clock is the same
clock() { python3 -c 'import json; print(repr(json.load(open("out"))["clock_s"]))'; }
run() { "$o/ti-replay" "$@" --json >out 2>err || { fail "$*"; cat err; }; }
joules() {
    local name=$1 hosts=$2 watts=() others=()
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in --watts) watts=("$1" "$2"); shift ;; *) others+=("$1") ;; esac
        shift
    done
    run "$name" "${others[@]}"
    clock=$(clock)
    run "$name" "${others[@]}" "${watts[@]}"
    python3 by-hand.py out "$clock" "$name" "$hosts" || { fail "$name ${others[*]}"; head -n 3 out; }
}
one_each='[("node-%d" % i, [i], 100, 200, 1, 1e9) for i in range(8)]'
joules lu "$one_each" --watts 100,200
joules lu "$one_each" --watts 100,200 --topology torus:2,2,2
joules lu "$one_each" --watts 100,200 --topology hierarchical:2,2,2
joules lu "$one_each" --watts 100,200 --disk 1GBps,1ms # a disk takes no power
# several ranks on a host of several cores, and hosts without a rank
joules stencil '[("node-0", [0, 1, 2, 3], 90.5, 250, 6, 2e9), ("node-1", [4, 5], 90.5, 250, 6, 2e9),
                 ("node-2", [], 90.5, 250, 6, 2e9)]' \
    --watts 90.5,250 --hosts 3 --cores 6 --ranks-per-host 4 --speed 2Gf
# ranks that share a core take as much energy, in a longer time
joules stencil '[("node-%d" % i, [2 * i, 2 * i + 1], 50, 60, 1, 1e9) for i in range(3)]' \
    --watts 50,60 --ranks-per-host 2
joules stencil '[("node-%d" % i, [i], 50, 60, 1, 0) for i in range(6)]' --watts 50,60 --no-compute
joules cg '[("node-%d" % i, [i], 10, 110, 1, "times") for i in range(4)]' --watts 10,110 --times
joules cg '[("node-0", [0, 1, 2, 3], 10, 110, 4, "times")]' --watts 10,110 --times \
    --ranks-per-host 4 --cores 4
# names in the order of their numbers
joules lu '[("node-%d" % i, [i] if i < 8 else [], 1, 2, 1, 1e9) for i in range(12)]' --hosts 12 \
    --watts 1,2

# Hosts of different power and speed.
cat >two.conf <<'END_CONF'
[site s]
[cluster new]
site = s
nodes = a[1-2]
cores = 4
speed = 3G
watts = 100,400
[cluster old]
site = s
nodes = b[1-3]
cores = 1
speed = 1G
watts = 80,160
END_CONF
two='[("a1", [0], 100, 400, 4, 3e9), ("a2", [1], 100, 400, 4, 3e9), ("b1", [2], 80, 160, 1, 1e9),
      ("b2", [3], 80, 160, 1, 1e9), ("b3", [], 80, 160, 1, 1e9)]'
joules cg "$two" --sites two.conf
sed '/^watts = 80/d' two.conf >half.conf
run cg --sites half.conf --watts 80,160
python3 by-hand.py out "$clock" cg "$two" || fail 'a default for the clusters without watts'
run lu --sites two.conf --ranks-per-host 2 --engine stock
python3 -c 'import json; j = json.load(open("out")); assert j["energy"] is None and "engine" in j["energy_reason"]' ||
    fail 'a sites file with watts, engine stock'

# A platform of the user, whose hosts need not all have a power; bursts that vary; two jobs.
cat >own.xml <<'END_XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="p" speed="1Gf" core="2"><prop id="wattage_per_state" value="10:15:35"/></host>
    <host id="q" speed="1Gf"/>
    <link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="p" dst="q"><link_ctn id="l"/></route>
    <route src="p" dst="p"><link_ctn id="l"/></route>
    <route src="q" dst="q"><link_ctn id="l"/></route>
  </zone>
</platform>
END_XML
printf 'p:2\nq:2\n' >hosts
run cg --platform own.xml --hostfile hosts
sed 's/wattage_per_state/wattage/' own.xml >without.xml
mv out with
run cg --platform without.xml --hostfile hosts
python3 - <<'END_PY' || fail 'a platform of the user'
import json
found, without = json.load(open("with")), json.load(open("out"))
assert found["clock_s"] == without["clock_s"] and "energy" not in without
(p,) = found["energy"]["hosts"]
assert p["host"] == "p" and p["ranks"] == 2 and p["joules"] == found["energy"]["joules"]
assert 10 * found["clock_s"] < p["joules"] < 35 * found["clock_s"], p
END_PY
# by-profile RANKS CORES: of hosts with so many ranks and cores, by the time that ranks compute
by_profile() {
    python3 - "$@" <<'END_PY' || fail "by the profile: $*"
import json, sys
each, cores = int(sys.argv[1]), int(sys.argv[2])
j = json.load(open("out"))
ranks = j["profile"]["ranks"]
for i, host in enumerate(j["energy"]["hosts"]):
    busy_s = sum(r["computing_s"] for r in ranks[i * each : (i + 1) * each])
    joules = 100 * j["clock_s"] + 100 / cores * busy_s
    assert host["ranks"] == each and abs(host["joules"] - joules) < 1e-9 * joules, (host, joules)
END_PY
}
run lu --watts 100,200 --noise 5% --profile
by_profile 1 1
run lu --watts 100,200 --ranks-per-host 4 --cores 4 --profile
by_profile 4 4
# cores that slow each other down take their power for longer
before=$(clock)
run lu --ranks-per-host 4 --cores 4 --contention 1:1,4:0.5
slow=$(clock)
run lu --watts 100,200 --ranks-per-host 4 --cores 4 --contention 1:1,4:0.5 --profile
by_profile 4 4
[ "$slow" = "$(clock)" ] && [ "$slow" != "$before" ] || fail "contention: $before, $slow, $(clock)"
run cg --copies 2 --start 0s,10ms --watts 100,200 --cores 1
mv out twice
run cg --watts 100,200
python3 - <<'END_PY' || fail 'two jobs'
import json
two, one = json.load(open("twice")), json.load(open("out"))
busy = one["energy"]["joules"] - 4 * 100 * one["clock_s"]
joules = 8 * 100 * two["clock_s"] + 2 * busy
assert abs(two["energy"]["joules"] - joules) < 1e-7 * joules, (two["energy"], joules)
END_PY

# What is printed, also by a sweep.
"$o/ti-replay" cg --watts 100,200 --hosts 14 --width 80 >out 2>err || fail 'the text'
grep -Eqx 'energy: +[0-9.]+ J, of which [0-9.]+ J of 10 hosts without ranks' out || { fail 'energy:'; cat out; }
grep -Eqx ' *[0-9.]+ J +1  node-[0-3]' out || { fail 'energy of a host'; cat out; }
grep -qx '  ... and 4 more hosts: --json has all' out || { fail 'more hosts'; cat out; }
"$o/ti-info" -q --merge cg -o cg.ti || fail 'merge'
"$o/ti-replay" cg.ti --sites two.conf --steady --width 0 >out 2>&1
grep -qx 'energy:         not known: --steady leaves out some of the time' out ||
    { fail '--steady'; cat out; }
"$o/ti-replay" cg --sweep 'watts=0,100|100,200' --sweep no-compute=yes,no -o swept >out 2>err ||
    { fail 'a sweep'; cat err; }
python3 - <<'END_PY' || { fail 'a sweep'; cat swept/results.csv; }
import csv
rows = {(r["watts"], r["no-compute"]): r for r in csv.DictReader(open("swept/results.csv"))}
for free in ("yes", "no"):
    less, more = rows["0,100", free], rows["100,200", free]
    assert less["clock_s"] == more["clock_s"]
    idle = 4 * 100 * float(more["clock_s"])
    assert abs(float(more["energy_j"]) - float(less["energy_j"]) - idle) < 1e-9 * idle, rows
assert float(rows["0,100", "yes"]["energy_j"]) == 0 < float(rows["0,100", "no"]["energy_j"]), rows
END_PY
"$o/ti-replay" --show-platform --hosts 4 --watts 100,200 | grep -qx 'power:      100 to 200 W a host' ||
    fail 'a platform does not tell its power'
run --show-platform --sites two.conf
python3 - <<'END_PY' || fail 'a platform of sites does not tell its power'
import json
assert [c["watts"] for c in json.load(open("out"))["clusters"]] == [
    {"idle": 100, "full": 400}, {"idle": 80, "full": 160}]
END_PY

# What cannot be.
refused() { # STATUS TEXT HINT OPTION...
    "$o/ti-replay" "${@:4}" >out 2>err
    local st=$?
    { [ $st -eq "$1" ] && grep -qF -- "$2" err && grep -qF -- "$3" err; } ||
        { fail "$st, not $1, '$2', '$3': ${*:4}"; cat err; }
}
refused 2 "--watts: '100' is not IDLE,FULL" 'hint: 100,200 is a host' cg --watts 100
refused 2 "--watts: '-1,100' is not IDLE,FULL" 'hint: 100,200 is a host' cg --watts=-1,100
refused 2 'a host takes less power with all cores busy (100 W) than idle (200 W)' \
    'hint: the idle power comes first: 100,200' cg --watts 200,100
refused 2 '--watts needs --engine tiara' '' cg --watts 100,200 --engine stock
refused 2 '--watts adds up the power of each moment' '' cg --watts 100,200 --steady
refused 2 '--platform describes the whole platform' '' cg --watts 100,200 --platform own.xml
refused 2 '--threads longest gives threads cores' '--cores N' cg --watts 100,200 --threads longest
refused 2 'hosts with more ranks than cores' "'node-0' has 1" cg --watts 100,200 --times --ranks-per-host 2
refused 3 "half.conf:8: cluster 'old' has no watts, but cluster 'new' has" 'hint: ' cg --sites half.conf
sed 's/100,400/400,100/' two.conf >bad.conf
refused 3 'bad.conf:7:9: watts: a host takes less power' 'the idle power comes first: 100,400' \
    cg --sites bad.conf
finish
