#!/bin/bash
# A sweep whose replays run through srun, on the nodes of a real Slurm: its results are those of
# replays here, and it is killed three times on the way.
# tests/run: waits
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
for tool in mpirun smpirun slurmctld slurmd munged; do
    command -v $tool >/dev/null || PATH=$PATH:/usr/sbin command -v $tool >/dev/null || skip "there is no $tool"
done
slurm=$top/tests/testbed/slurm
points=${POINTS:-24}

cd "$scratch" || exit 1
TIARA_TRACE_DIR=r TIARA_COUNTER=cputime mpirun --allow-run-as-root --oversubscribe -np 4 -x LD_PRELOAD="$o/libminitrace.so" "$o/examples/ring" >out 2>&1 || { fail ring; cat out; }
"$o/ti-gather" -q r -o t.tib || fail gather
bed_up --nodes 4 --shared-home --share "$scratch"
"$slurm" up --memory 1024 --cpus 2 || { fail "Slurm"; finish; }

# shellcheck disable=SC2054  # the commas are the option's
study=("$o/ti-replay" t.tib --noise 5% --sweep 'topology=cluster|torus:2,2' --sweep "seed=1..$((points / 2))")
"${study[@]}" -o here >out 2>&1 || { fail 'a sweep here'; cat out; }
through=("$slurm" run "${study[@]}" -o "$scratch/there" -j 6 --runner 'srun -Q -n1 --mem=64M')
done_points() { find there/points -name '*.json' 2>/dev/null | wc -l; }
for part in 1 2 3; do
    "${through[@]}" >out 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(done_points)" -lt $((points * part / 4)) ]; do sleep 0.05; done
    kill -0 $pid 2>/dev/null || { fail "it ended before it was killed: $part"; cat out; }
    pkill -KILL -f "^[^ ]*ti-replay t.tib .*-o $scratch/there " || fail "no sweep to kill"
    wait $pid && fail "killed, and status 0"
done
"${through[@]}" >out 2>&1 || { fail 'a sweep through srun'; cat out; }
grep -q "of $points points have their result already" out || { fail 'what was done is done again'; cat out; }
table() { # all columns but how long a replay took
    python3 -c '
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    print({k: v for k, v in r.items() if k != "wall_time_s"})' "$1/results.csv"
}
diff <(table here) <(table there) || fail 'another table'
[ "$(table there | wc -l)" -eq "$points" ] || fail "not $points rows"
"$slurm" run squeue -h >out
[ ! -s out ] || { fail 'jobs are left'; cat out; }
finish
