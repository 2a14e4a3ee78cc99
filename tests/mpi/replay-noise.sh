#!/bin/bash
# ti-replay --noise: the time of ranks that meet in a barrier each step is that of the slowest one,
# which the theory of order statistics tells; what lasts lasts; both engines draw the same.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1

# A network that takes no time: latency, overheads and bytes are nothing.
free=(--latency 0s --bandwidth 1e9GBps --cfg network/weight-S:0 --cfg smpi/os:0:0:0 --cfg smpi/or:0:0:0)
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err || { fail "status $?: $*"; cat err; }; }
clock() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' out; }
refuses() {
    local status=$1 text=$2
    shift 2
    "$o/ti-replay" --no-progress "$@" >out 2>err
    [ $? -eq "$status" ] && grep -qF -- "$text" err || { fail "does not refuse: $*"; cat err; }
}

# steps NAME RANKS STEPS: each step is a burst of 1 ms (on hosts of 1Gf) and a barrier.
steps() {
    local rank
    mkdir "$1.d"
    for ((rank = 0; rank < $2; rank++)); do
        awk -v r=$rank -v n="$3" 'BEGIN {
            print r, "init"
            for (i = 0; i < n; i++) { print r, "compute 1000000"; print r, "barrier" }
            print r, "finalize" }' >"$1.d/a$rank"
        echo "a$rank"
    done >"$1.d/list"
    "$o/ti-convert" -q --from simgrid "$1.d/list" -o "$1" || fail "ti-convert"
}

# The mean and the standard deviation of the maximum of n draws from the log-normal distribution
# with mean 1: by its distribution function to the power of n, summed up.
cat >theory.py <<'E_PY'
import math, sys
clock, n, deviation, steps = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
s = math.sqrt(math.log(1 + deviation ** 2))
mean = square = before = 0.0
for i in range(-100000, 100001):
    z = i * 1e-4
    upto = (0.5 * math.erfc(-z / math.sqrt(2))) ** n
    x = math.exp(s * (z - 0.5e-4) - s * s / 2)
    mean += x * (upto - before)
    square += x * x * (upto - before)
    before = upto
error = math.sqrt((square - mean * mean) / steps)
print("%d ranks, %g %%: %.6f, by theory %.6f, standard error %.6f" % (n, 100 * deviation, clock / steps * 1e3, mean, error))
sys.exit(abs(clock / steps * 1e3 - mean) > 4 * error or error > 0.02 * mean)
E_PY
for ranks in 1 4 32; do
    steps of$ranks $ranks 1500
    replay of$ranks "${free[@]}"
    [[ $(clock) = 1.50000000000* ]] || fail "without noise: $(clock) s"
    for deviation in 2 40; do
        replay of$ranks "${free[@]}" --noise $deviation% --seed 7
        python3 theory.py "$(clock)" $ranks "0.$(printf %02d $deviation)" 1500 ||
            fail "$ranks ranks, $deviation %: not what the theory says"
    done
done
grep -q '^noise: .* of bursts 40 %, seed 7$' out || { fail 'does not tell the noise'; cat out; }

# Both engines draw the same, whatever the kinds; another seed is another time.
for noise in 5% node:3%,core:4%,burst:0.05; do
    replay of4 "${free[@]}" --noise $noise --engine stock
    stock=$(clock)
    replay of4 "${free[@]}" --noise $noise
    [ -n "$stock" ] && [ "$stock" = "$(clock)" ] || fail "$noise: stock $stock, tiara $(clock)"
    replay of4 "${free[@]}" --noise $noise --seed 1
    [ "$stock" != "$(clock)" ] || fail "$noise: the seed has no effect"
done
replay of4 "${free[@]}" --noise 0%
[[ $(clock) = 1.50000000000* ]] || fail 'noise of nothing'

# A slow core is as slow in each run: two traces, one four times as long as the other.  Two ranks
# of one node share its factor, wherever they are placed.
steps long 4 400
steps short 4 100
computing() { # TRACE OPTION...: the seconds of each rank
    replay "$1" "${free[@]}" --profile --json "${@:2}"
    python3 -c 'import json; print(*["%.9f" % r["computing_s"] for r in json.load(open("out"))["profile"]["ranks"]])'
}
read -r -a a <<<"$(computing long --noise core:10%)"
read -r -a b <<<"$(computing short --noise core:10%)"
python3 - "${a[@]}" "${b[@]}" <<'E_PY' || fail 'cores are not as slow all the time'
import sys
v = [float(x) for x in sys.argv[1:]]
assert len(v) == 8 and len(set(v[:4])) == 4, v
for a, b in zip(v[:4], v[4:]):
    assert abs(a / b - 4) < 1e-6 and abs(a / 0.4 - 1) > 1e-3, v
E_PY
read -r -a a <<<"$(computing long --noise node:10% --ranks-per-host 2 --cores 2)"
read -r -a b <<<"$(computing long --noise node:10% --ranks-per-host 2 --cores 2 --placement round-robin)"
python3 - "${a[@]}" "${b[@]}" <<'E_PY' || fail 'nodes are not as slow for all their ranks'
import sys
v = [float(x) for x in sys.argv[1:]]
assert v[0] == v[1] and v[2] == v[3] and v[0] != v[2], v
assert v[4:] == [v[0], v[2], v[0], v[2]], v
E_PY

# Trips with noise are left out by their mean: the time is that of the whole replay, within the share.
"$o/ti-info" --merge of4 -o of4.tib >/dev/null 2>&1 || fail 'ti-info --merge'
replay of4.tib "${free[@]}" --noise 2% --seed 7
whole=$(clock)
replay of4.tib "${free[@]}" --noise 2% --seed 7 --steady=0.5% --json
python3 - "$whole" <<'E_PY' || { fail '--steady with noise'; cat out; }
import json, sys
whole, j = float(sys.argv[1]), json.load(open("out"))
s = j["steady"]
assert s["trips_left_out"] > 1000 and all(l["mean"] for l in s["loops"]), s
assert 0 < s["expected_error_pct"] <= 0.5, s
assert abs(j["clock_s"] / whole - 1) < 0.01 and j["clock_s"] != whole, (j["clock_s"], whole)
E_PY
# Where only cores differ, trips are alike.
replay of4.tib "${free[@]}" --noise core:2% --steady --json
grep -q '"mean": false' out || { fail '--steady with slow cores'; cat out; }

# A calibration says how much; a number of the command line wins.  So does a rate file, for the
# classes of which it knows the deviation.
printf '[noise]\nburst = 0.05\ncore = 0.04\nnode = 0.03\n' >noise.conf
replay of4 "${free[@]}" --noise node:3%,core:4%,burst:5%
all=$(clock)
replay of4 "${free[@]}" --noise calibration --calibration noise.conf
[ "$(clock)" = "$all" ] || fail "by a calibration: $(clock) s, by numbers $all"
replay of4 "${free[@]}" --noise calibration,core:0 --calibration noise.conf
python3 - "$(clock)" "$all" <<<'import sys; sys.exit(sys.argv[1] == sys.argv[2])' || fail 'a number does not win'
printf '[rates]\nreference = 1G\n[class 0]\nrate = 1G\ndeviation = 300M\n[class 1000000]\nrate = 1G\ndeviation = %s\n' 20M >rates
replay of32 "${free[@]}" --rate rates --noise rate --seed 7
rates=$(clock)
replay of32 "${free[@]}" --noise 2% --seed 7
[ "$(clock)" = "$rates" ] || fail "by a rate file: $rates s, by a number $(clock)"
replay of4 "${free[@]}" --noise rate,core:4% --rate rates --json
python3 - <<'E_PY' || { fail JSON; cat out; }
import json
j = json.load(open("out"))
assert j["noise"] == {"burst": None, "core": 0.04, "node": 0} and j["seed"] == 0, j
E_PY

printf '[host]\nspeed = 1G\n' >none.conf
refuses 3 "'none.conf' has no noise" of4 --noise calibration --calibration none.conf
refuses 2 'needs the file: --calibration' of4 --noise calibration
refuses 2 'needs the file: --rate' of4 --noise rate
refuses 2 'no effect with --no-compute' of4 --noise 3% --no-compute
refuses 2 'no effect with --times' of4 --noise 3% --times
refuses 2 "'3x' is not a standard deviation" of4 --noise burst:3x
refuses 2 'both say how much' of4 --noise rate,3% --rate rates
finish
