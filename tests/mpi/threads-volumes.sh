#!/bin/bash
# Whose volume an event has: that of the thread which calls, or with
# TIARA_THREADS=sum that of all threads, to the instruction where it is known.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
# shellcheck source=tests/mpi/threads-lib.bash
. tests/mpi/threads-lib.bash
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'

# Under valgrind a rank takes a second or two to start: no more of them than needed.
for THREADS in caller sum; do
    NP=1
    run valgrind serialized "$scratch/truth" $THREADS
    complete "serialized, $THREADS"
    bounds "serialized, $THREADS" all
    NP=2
    run valgrind helpers "$scratch/truth" $THREADS
    complete "helpers, $THREADS"
    [ $THREADS = caller ] || all=all
    bounds "helpers, $THREADS" "${all:-each}"
done

# replays CORES OPTION...: what a replay with the option computes is each burst's volume on so
# many cores, or its longest thread where that is more; CORES 0: the longest.  A rank that is
# alone has no barriers, so all of them are one.
replays() {
    local cores=$1
    shift
    rm -rf "$scratch/kept"
    "$TI_BUILD/ti-replay" -q --engine stock --keep "$scratch/kept" "$dir" "$@" >"$scratch/log" 2>&1 ||
        fail "replay $*: $(cat "$scratch/log")"
    awk -v cores="$cores" '{
        share = cores ? int(($1 + cores - 1) / cores) : 0
        longest = $NF; sub(/.*=/, "", longest)
        sum += longest + 0 > share ? longest : share
    } END { print "0 compute " sum }' "$scratch/events-0" >"$scratch/expected"
    grep compute "$scratch/kept/rank-000000.txt" >"$scratch/found"
    same "$scratch/expected" "$scratch/found" "replay $*"
}

# takes CORES: a host of so many cores takes 100 W, and 300 W more while all compute, so the energy
# depends on the volume of all threads and on the time.
takes() {
    "$TI_BUILD/ti-replay" -q --json "$dir" --cores "$1" --watts 100,400 >"$scratch/log" 2>&1
    python3 - "$1" "$scratch" <<'PY' || fail "energy of threads on $1 cores: $(cat "$scratch/log")"
import json, sys
cores, scratch = int(sys.argv[1]), sys.argv[2]
result = json.load(open(f"{scratch}/log"))
lines = open(f"{scratch}/events-0").read().splitlines()
busy_s = sum(int(l.split()[0]) for l in lines if not l.startswith("#")) / 1e9
joules = 100 * result["clock_s"] + 300 / cores * busy_s
assert abs(result["energy"]["joules"] - joules) < 1e-6 * joules, (result["energy"], joules)
PY
}

# A thread that ends before another one, which gets its number; and one that only calls what is no
# part of a burst.
cat >"$scratch/helpers.c" <<'C'
#include <mpi.h>
#include <pthread.h>

static void *work(void *n)
{
    long left = (long)n;

    __asm__ volatile("1: decq %0; jnz 1b" : "+r"(left));
    return n;
}

static void *ask(void *n)
{
    for (long i = 0; i < (long)n; i++)
        MPI_Wtime();
    return n;
}

static void run(void *(*function)(void *), long n)
{
    pthread_t thread;

    pthread_create(&thread, NULL, function, (void *)n);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    run(work, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    run(work, 1000000);
    run(work, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    run(ask, 100000);
    MPI_Finalize();
    return 0;
}
C
program=$scratch/helpers
if ${MPICC:-mpicc} -pthread -O1 -o "$program" "$scratch/helpers.c" 2>"$scratch/err"; then
    NP=1 THREADS=sum
    run valgrind
    complete helpers
    longest=$(sed -n '3s/.* longest=//p' "$scratch/events-0")
    ((longest >= 2000000 && longest <= 2100000)) || fail "helpers: the longest thread has $longest"
    awk '{ longest = $NF; sub(/.*=/, "", longest); if (longest + 0 > $1) exit 1 }' "$scratch/events-0" ||
        fail "helpers: more than in all: $(cat "$scratch/events-0")"
else
    fail "$(cat "$scratch/err")"
fi

# With OpenMP: every thread of the region does the same, but the third does it three times.
cat >"$scratch/openmp.c" <<'C'
#include <mpi.h>
#include <omp.h>

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(4)
        {
            long n = omp_get_thread_num() == 2 ? 3000000 : 1000000; /* of two instructions */

            __asm__ volatile("1: decq %0; jnz 1b" : "+r"(n));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
C
program=$scratch/openmp
if ${MPICC:-mpicc} -fopenmp -O1 -o "$program" "$scratch/openmp.c" 2>"$scratch/err"; then
    NP=1
    for THREADS in caller sum; do
        run valgrind
        complete "OpenMP, $THREADS"
        # the first region starts the threads
        volume=$(sed -n 3p "$scratch/events-0" | cut -d' ' -f1)
        least=2000000
        [ $THREADS = caller ] || least=12000000
        ((volume >= least && volume <= least + 100000)) ||
            fail "OpenMP, $THREADS: $volume instead of $least"
        said=caller
        if "$TI_BUILD/ti-info" "$dir" | grep -q '^counter .* of all threads,'; then said=sum; fi
        [ "$said" = $THREADS ] || fail "OpenMP: ti-info says $said instead of $THREADS"
        if [ $THREADS = caller ]; then
            if grep longest= "$scratch/events-0"; then fail 'a longest thread of one'; fi
            continue
        fi
        for region in 3 4; do
            longest=$(sed -n "${region}s/.* longest=//p" "$scratch/events-0")
            ((longest >= 6000000 && longest <= 6100000)) || fail "OpenMP: the longest thread has $longest"
        done
        if command -v smpirun >/dev/null; then
            replays 1
            replays 1 --threads sum --cores 4
            replays 2 --cores 2
            replays 3 --cores 3
            replays 0 --threads longest
            takes 1
            takes 3
            takes 8
        fi
    done
else
    echo 'not tried: OpenMP, which does not compile'
fi
finish
