#!/bin/bash
# ti-replay --tolerance: values of options at which programs are slower by a share, where closed forms
# tell them; and what it says where there are none.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
# Messages take the latency of two links, and 16 bytes more than they have.
plain=(--cfg network/weight-S:0 --cfg smpi/os:0:0:0 --cfg smpi/or:0:0:0 --cfg smpi/ois:0:0:0
    --cfg smpi/lat-factor:0:1 --cfg smpi/bw-factor:0:1)
replay() { "$o/ti-replay" --no-progress "$@" "${plain[@]}" >out 2>err || { fail "status $?: $*"; cat err; }; }
refuses() {
    local status=$1 text=$2
    shift 2
    "$o/ti-replay" --no-progress "$@" >out 2>err
    [ $? -eq "$status" ] && grep -qF -- "$text" err || { fail "does not refuse: $*"; cat err; }
}
convert() { # NAME: of actions in NAME.0 and NAME.1
    printf '%s.0\n%s.1\n' "$1" "$1" >list
    "$o/ti-convert" -q --from simgrid list -o "$1" || fail "ti-convert $1"
}

# A ping-pong of 20 messages of 100,000 bytes: T = 20 (2 L + 100,016 / B).
awk 'BEGIN { print "0 init"; for (i = 0; i < 10; i++) print "0 send 1 0 100000 6\n0 recv 1 0 100000 6"; print "0 finalize" }' >pong.0
awk 'BEGIN { print "1 init"; for (i = 0; i < 10; i++) print "1 recv 0 0 100000 6\n1 send 0 0 100000 6"; print "1 finalize" }' >pong.1
convert pong
for engine in stock tiara; do
    replay pong --engine $engine --latency 100us --bandwidth 1GBps --tolerance latency=1%,2%,5%,300% \
        --tolerance bandwidth=1%,50% --json
    python3 - <<'END_PY' || { fail "$engine: not the tolerance of a ping-pong"; cat out; }
import json
latency, bandwidth = json.load(open("out"))["tolerance"]
n, s, L, B = 20, 100016, 1e-4, 1e9
T = n * (2 * L + s / B)
assert latency["option"] == "latency" and abs(latency["time_s"] / T - 1) < 1e-6, latency
assert abs(latency["step"]["slower_pct"] - 10 * n * 2 * L / T) < 1e-3, latency
for v, p in zip(latency["slower"], (1, 2, 5, 300)):
    want = L + p / 100 * T / n / 2
    found = float(v["value"].rstrip("s"))
    assert v["slower_pct"] == p and abs((found - L) / (want - L) - 1) < 1e-3, (v, want)
    assert abs(v["found_pct"] / p - 1) < 1e-3 and v["replays"] <= 10 and not v["jump"], v
    assert abs(v["change_pct"] - 100 * (found / L - 1)) < 1e-6, v
for v, p in zip(bandwidth["slower"], (1, 50)):
    want = s / (s / B + p / 100 * T / n)
    found = float(v["value"][:-3])
    assert v["value"].endswith("Bps") and abs((B / found - 1) / (B / want - 1) - 1) < 1e-3, (v, want)
    assert v["replays"] <= 10, v
END_PY
done
replay pong --latency 100us --bandwidth 1GBps --tolerance latency=1%,300% --tolerance speed=5%
grep -qE '^latency: 100 us, simulated time 0\.0060003' out &&
    grep -qE '^ +300 %  550 us +\+450 % +300 % +[0-9]+$' out &&
    grep -qE '^ +5 %  never: the time does not grow down to 1 kf$' out || { fail 'no table'; cat out; }

# A message under way while both ranks compute for 1 ms: T = max(1 ms, 2 L + 1,016 / B).
printf '%s\n' '0 init' '0 isend 1 0 1000 6' '0 compute 1000000' '0 wait 0 1 0' '0 finalize' >hidden.0
printf '%s\n' '1 init' '1 irecv 0 0 1000 6' '1 compute 1000000' '1 wait 0 1 0' '1 finalize' >hidden.1
convert hidden
replay hidden --latency 10us --bandwidth 1GBps --tolerance latency=1%,20% --tolerance speed=10% --json
python3 - <<'END_PY' || { fail 'not the tolerance of a hidden latency'; cat out; }
import json
latency, speed = json.load(open("out"))["tolerance"]
assert latency["step"]["slower_pct"] == 0, latency
for v, p in zip(latency["slower"], (1, 20)):
    want = (1e-3 * (1 + p / 100) - 1016e-9) / 2
    assert v["replays"] <= 10 and abs(v["found_pct"] / p - 1) <= 0.011, v
    assert abs(float(v["value"][:-1]) / want - 1) < 0.011 * p / 100, (v, want)
v = speed["slower"][0]
assert abs(float(v["value"][:-1]) / (1e9 / 1.1) - 1) < 1e-3, v
END_PY

# With noise, the median of the same seeds.  Ranks that only compute are slower as hosts are.
steps() { awk -v r="$1" 'BEGIN { print r, "init"; for (i = 0; i < 20; i++) { print r, "compute 1000000"; print r, "barrier" } print r, "finalize" }'; }
steps 0 >noisy.0
steps 1 >noisy.1
convert noisy
replay noisy --latency 0s --bandwidth 1e9GBps --noise 10% --runs 3 --tolerance speed=5% --json
python3 - <<'END_PY' || { fail 'not the tolerance of runs'; cat out; }
import json
v, = json.load(open("out"))["tolerance"]
assert v["time_s"] > 0.0205, v
assert abs(float(v["slower"][0]["value"][:-1]) / (1e9 / 1.05) - 1) < 1e-3, v
END_PY

# Whole numbers: two ranks that share a core take twice as long.
replay noisy --latency 0s --bandwidth 1e9GBps --loopback 1e9GBps,0s --ranks-per-host 1 --tolerance ranks-per-host=50%,150% --json
python3 - <<'END_PY' || { fail 'not the tolerance of a whole number'; cat out; }
import json
half, never = json.load(open("out"))["tolerance"][0]["slower"]
assert half["value"] == "2" and half["jump"] and abs(half["found_pct"] - 100) < 1e-3, half
assert half["low"] == "1" and half["replays"] <= 10, half
assert never["value"] is None and never["reason"].startswith("never: with "), never
END_PY

# What a command line cannot have; a replay that fails is told.
refuses 2 'is not an option whose value is a number' pong --tolerance topology=1%
refuses 2 'is not an option whose value is a number' pong --tolerance seed=1%
refuses 2 "'1' is not shares" pong --tolerance latency=1
refuses 2 "'1%,0%' is not shares" pong --tolerance latency=1%,0%
refuses 2 'by how much' pong --tolerance latency
refuses 2 'there is no value of it to begin with' pong --tolerance latency=1% --latency 0s
refuses 2 'there is no value of it to begin with' pong --tolerance reduce-rate=1%
refuses 2 '--sweep cannot be given too' pong --tolerance latency=1% --sweep speed=1Gf -o new
refuses 2 'not for --tolerance' pong --tolerance latency=1% --profile
refuses 2 'then replay with it: --latency VALUE --profile' pong --tolerance latency=1% --profile
"$o/ti-replay" -q pong --keep kept >/dev/null
refuses 2 'describes the whole platform' pong --platform kept/platform.xml --tolerance latency=1%
[ -z "$(ls -A new 2>/dev/null)" ] || fail 'a folder is left'
finish
