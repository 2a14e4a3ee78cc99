#!/bin/bash
# ti-replay --runs: the single replays with each seed, their median and its interval; in a sweep, too.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
"$o/tests/mktrace" --np 4 --plain --iterations 20 --noise 5000 four
"$o/ti-info" --merge --volumes stats four -o stats.tib >/dev/null 2>&1 || fail 'no statistics'
replay() { "$o/ti-replay" --no-progress "$@" >out 2>err || { fail "status $?: $*"; cat err; }; }
refuses() {
    local status=$1 text=$2
    shift 2
    "$o/ti-replay" --no-progress "$@" >out 2>err
    [ $? -eq "$status" ] && grep -qF -- "$text" err || { fail "does not refuse: $*"; cat err; }
}
says() { grep -qE -- "$1" "$2" || { fail "$2 does not say: $1"; cat "$2"; }; }

# Nine runs are the single ones.  Their 2nd and 8th have the median with 1 - 20 / 512.
single() { # TRACE RUNS OPTION...: the times, by seed
    local seed
    for ((seed = 0; seed < $2; seed++)); do
        replay "$1" --seed $seed --json "${@:3}"
        python3 -c 'import json; print(repr(json.load(open("out"))["clock_s"]))'
    done
}
for engine in stock tiara; do
    single four 9 --noise 30% --engine $engine >seeds.txt
    replay four --noise 30% --engine $engine --runs 9 -j 2 --json
    python3 - <<'END_PY' || { fail "$engine: nine runs"; cat out seeds.txt; }
import json
times = [float(t) for t in open("seeds.txt")]
j = json.load(open("out"))
r, s = j["runs"], sorted(times)
assert r["values_s"] == times and len(set(times)) == 9, r
assert r["runs"] == 9 and r["median_s"] == s[4] == j["clock_s"] == j["simulated_time_s"], r
assert r["interval_s"] == [s[1], s[7]] and abs(r["confidence"] - (1 - 20 / 512)) < 1e-12, r
assert r["min_s"] == s[0] and r["max_s"] == s[8], r
assert j["np"] == 4 and j["noise"]["burst"] == 0.3 and "seed" not in j and j["status"] == 0, j
END_PY
done
replay four --noise 30% --runs 9
says '^simulated time: [0-9.e-]+ s, the median of 9 runs$' out
says '^interval: .* has the median of all possible runs with a probability of 96\.1 %$' out
says '^noise: .* of bursts 30 %, seeds 0 to 8$' out
says '^platform: *cluster of 4 hosts, 1 Gf, ' out

# The seed drives volumes that are drawn from statistics, too; and both together.
for noise in 0% 10%; do
    single stats.tib 3 --noise $noise >seeds.txt
    replay stats.tib --runs 3 --noise $noise --json
    python3 - <<'END_PY' || { fail "statistics, noise $noise"; cat out seeds.txt; }
import json
j = json.load(open("out"))
assert j["runs"]["values_s"] == [float(t) for t in open("seeds.txt")], j
assert len(set(j["runs"]["values_s"])) == 3 and j["drawn_ranks"] == 4, j
END_PY
done
replay stats.tib --runs 2
says '^bursts: .* of 4 ranks drawn from statistics' out

# Nothing is drawn: the runs are equal, and it says so.
replay four --runs 2
says 'all runs took the same time' err

# In a sweep: the runs of each point, and what they say together.
replay four --noise 30% --sweep speed=1Gf,2Gf --sweep latency=1us --runs 3 -o study
says '^points: *2, 3 runs of each' out
says '^fastest: .* speed=2Gf latency=1us$' out
replay four --noise 30% --sweep speed=1Gf,2Gf --sweep latency=1us --runs 5 -o study
says '6 of 10 points have their result already' err
single four 5 --noise 30% --speed 1Gf --latency 1us >seeds.txt
single four 5 --noise 30% --speed 2Gf --latency 1us >>seeds.txt
python3 - <<'END_PY' || { fail 'runs of a sweep'; cat study/results.csv seeds.txt; }
import csv, json, xml.dom.minidom
times = [float(t) for t in open("seeds.txt")]
rows = list(csv.DictReader(open("study/results.csv")))
assert [(r["speed"], r["seed"]) for r in rows] == \
    [(s, str(i)) for s in ("1Gf", "2Gf") for i in range(5)], rows
for r, t in zip(rows, times):
    assert abs(float(r["clock_s"]) / t - 1) < 1e-11, (r, t)
runs = json.load(open("study/results.json"))["runs"]
assert [r["settings"] for r in runs] == [{"speed": s, "latency": "1us"} for s in ("1Gf", "2Gf")]
for r, t in zip(runs, (times[:5], times[5:])):
    assert r["runs"] == 5 and r["median_s"] == sorted(t)[2], r
    assert r["interval_s"] == [min(t), max(t)] and r["confidence"] == 1 - 2 / 32, r
svg = xml.dom.minidom.parse("study/plot.svg")
titles = [t.firstChild.data for t in svg.getElementsByTagName("title")]
assert len(titles) == 2 and all("5 points" in t for t in titles), titles
bands = [r for r in svg.getElementsByTagName("rect") if r.hasAttribute("fill-opacity")]
assert len(bands) == 2, bands
assert "median and range of 5 runs" in open("study/plot.svg").read()
END_PY

# What fails, fails once; what is for one replay is refused.
refuses 3 'hosts' four --noise 3% --runs 4 --hosts 2
[ "$(grep -c hosts err)" -le 2 ] || { fail 'an error for each run'; cat err; }
refuses 2 '--seed cannot be given too' four --runs 3 --seed 1
refuses 2 '--seed cannot be given too' four --runs 3 --seed 1 --sweep speed=1Gf -o new
refuses 2 'seed is given twice' four --runs 3 --sweep seed=1..2 -o new
refuses 2 'not for --runs' four --runs 3 --timeline a.csv
refuses 2 'in place of --runs, such as --seed 2 --profile' four --runs 3 --profile
refuses 2 'in place of --runs, such as --seed 7 --keep' four --runs 30 --keep new
refuses 2 'leave out --runs' four --runs 3 --lint
refuses 2 'not for --runs' four --runs 3 --causes
refuses 2 'are for a --sweep' four --runs 3 -o new
refuses 2 'one trace' four four --runs 3
[ ! -e new ] || fail 'a folder is left by a usage error'
finish
