#!/bin/bash
# A real Slurm: the plan is that of the allocation, nodes are reached by srun, by
# salloc from outside and by sbatch from within; who cancels the job ends all.
# tests/run: waits
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
for tool in mpirun slurmctld slurmd munged unzip; do
    command -v $tool >/dev/null || PATH=$PATH:/usr/sbin command -v $tool >/dev/null || skip "there is no $tool"
done
slurm=$top/tests/testbed/slurm

in_slurm() { timeout -k 5 3000 "$slurm" run "$@" >"$scratch/out" 2>&1 </dev/null; }
said() { grep -qE -- "$1" "$scratch/out" || { fail "$2 does not say: $1"; cat "$scratch/out"; }; }
left() { # what lives on nodes and is not Slurm's own
    while "$bed" ps | grep -qvE ' (munged|slurmd|slurmstepd:) '; do sleep 0.1; done
}
ranks_of() { # ranks_of BUNDLE: "name ranks" of each node
    unzip -p "$1" MANIFEST.json | python3 -c '
import json, sys
for n in json.load(sys.stdin)["nodes"]: print(n["name"], n["ranks"])'
}
four="n1.site1 0-3
n2.site1 4-7
n3.site1 8-11
n4.site1 12-15"

"$o/ti-mpicc" -O1 -std=gnu11 -I"$top" -o "$scratch/lu" "$top/examples/lu.c" "$top/examples/example.c" \
    -lm || fail "ti-mpicc"
acquire=("$o/ti-acquire" --np 16 --mem-per-rank 30M -c blocks)
bed_up --nodes 4 --shared-home --share "$scratch"
"$slurm" up --memory 1024 --cpus 2 || { fail "Slurm"; finish; }
cd "$scratch" || exit 1

# salloc: the grant is what is planned with, the traces end in one bundle.
in_slurm salloc -N4 --mem=512M "${acquire[@]}" ./lu S 3 || { fail "salloc: status $?"; cat out; }
said 'on Slurm job [0-9]+ \(main\), 4 nodes' salloc
said 'F-4: 16 ranks on 4 nodes of 1 cluster at 1 site' salloc
said 'main +4/4 .* of +0\.2 ' salloc # 512 MiB, half of it left for the system
said '16 ranks: .*: verified' salloc
"$o/ti-info" --verify lu.16.tib >out 2>&1 || { fail "ti-info --verify"; cat out; }
[ "$(ranks_of lu.16.tib)" = "$four" ] || fail "salloc: ranks are here: $(ranks_of lu.16.tib)"
left salloc

in_slurm salloc -N2 --mem=512M "${acquire[@]}" --dry-run --np 64 ./lu S 3 && fail "64 ranks in 1 GiB"
said 'the 2 nodes hold at most [0-9]+' "too many ranks"

# One for each task of a step is a mistake.
in_slurm srun -N2 "${acquire[@]}" ./lu S 3 && fail "within srun -n2"
said 'srun started 2 of ti-acquire' srun

# srun starts the ranks itself, by PMIx: preloaded, the library traces them.
if "$slurm" run srun --mpi=list 2>&1 | grep -qw pmix; then
    home=$(getent passwd 0 | cut -d: -f6)
    "$bed" node n1.site1 mkdir "$home/srun.run"
    in_slurm srun -N2 -n4 --mem=256M --overcommit --mpi=pmix -D "$home" \
        env LD_PRELOAD="$o/libminitrace.so" TIARA_TRACE_DIR="$home/srun.run" TIARA_COUNTER=blocks \
        TIARA_RUN_ID=00112233445566778899aabbccddeeff "$scratch/lu" S 3 || { fail "srun --mpi=pmix: status $?"; cat out; }
    said '4 ranks: .*: verified' 'srun --mpi=pmix'
    "$bed" node n1.site1 tar -C "$home" -c srun.run | tar -x
    "$o/ti-info" --verify srun.run >out 2>&1 || { fail "srun --mpi=pmix: ti-info --verify"; cat out; }
    said '4 ranks' 'srun --mpi=pmix: ti-info'
    left 'srun --mpi=pmix'
else
    echo "without srun --mpi=pmix"
fi

# sbatch: from the first node of the job, with nothing of our environment.
cat >job <<END
#!/bin/sh
export PATH=/usr/bin:/bin
cd ~ && ${acquire[*]} $scratch/lu S 3
END
in_slurm sbatch --wait -N4 --mem=512M --export=NONE -D "$(getent passwd 0 | cut -d: -f6)" -o out job ||
    { fail "sbatch: status $?"; cat out; "$bed" node n1.site1 sh -c 'cat ~/out'; }
"$bed" node n1.site1 sh -c 'cat ~/lu.16.tib' >batch.tib
[ "$(ranks_of batch.tib)" = "$four" ] || fail "sbatch: ranks are here: $(ranks_of batch.tib)"
"$o/ti-info" --compare lu.16.tib batch.tib >out 2>&1 || { fail "sbatch: another trace"; cat out; }
left sbatch

# The script of docs/jobs.md, as it stands there, in the home that the nodes share.
sed -n '/^#SBATCH/,/^```/p' "$top/docs/jobs.md" | sed '/^```/d; 1i #!/bin/sh' >job.sh
grep -q '^ti-acquire ' job.sh || fail "docs/jobs.md has no script: $(cat job.sh)"
"$bed" node n1.site1 sh -c "cd && rm -f lu.16.tib && cp $scratch/lu ."
in_slurm env PATH="$o:$PATH" sbatch --wait -D "$(getent passwd 0 | cut -d: -f6)" job.sh ||
    { fail "docs/jobs.md: status $?"; cat "$scratch/out"; }
"$bed" node n1.site1 sh -c 'cat ~/lu.out' >lu.out
"$bed" node n1.site1 sh -c 'cat ~/lu.16.tib' >script.tib
grep -q '16 ranks: .*: verified' lu.out || fail "docs/jobs.md: $(cat lu.out)"
[ "$(ranks_of script.tib)" = "$four" ] || fail "docs/jobs.md: ranks are here: $(ranks_of script.tib)"
"$o/ti-info" --compare lu.16.tib script.tib >out 2>&1 || { fail "docs/jobs.md: another trace"; cat out; }
left docs/jobs.md

# The job is cancelled, or its time is over, during the run.
in_slurm salloc -N4 --mem=512M "${acquire[@]}" -o cancelled.tib ./lu C &
pid=$!
while kill -0 $pid 2>/dev/null; do
    [ "$("$bed" ps | grep -c "\./lu C")" -lt 16 ] || break
    sleep 0.5
done
# shellcheck disable=SC2016  # for the shell there
"$slurm" run sh -c 'scancel $(squeue -h -o %i)'
wait $pid && fail "cancelled, and status 0"
# salloc need not wait for what it started
until grep -q 'the job was cancelled' "$scratch/out"; do sleep 0.5; done
said 'nodes? .*(lost|CANCELLED)' scancel
said 'the job was cancelled or ran out of time' scancel
left scancel
finish
