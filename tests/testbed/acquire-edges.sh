#!/usr/bin/env bash
# ti-acquire over nodes: what the program is given, that it is traced as on one machine,
# what is refused before anything runs, and what an interrupted run leaves.
. tests/testbed/lib.bash
need_acquire
[ -x "$o/ti-mpicc" ] || skip "$o/ti-mpicc was not built"
bed_up --sites 2 --nodes 1 --memory 24GiB,48GiB --share "$scratch"
cd "$scratch" || exit 1
cat >show.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, sum;
    char line[64] = "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 3) {
        for (int i = 1; i < argc; i++)
            printf("<%s>", argv[i]);
        printf("[%s]\n", getenv("GIVEN") ? getenv("GIVEN") : "");
    }
    if (rank == 0 && read(0, line, sizeof line - 1) > 0)
        printf("read %s", line);
    fflush(stdout);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (getenv("SECONDS_TO_STAY"))
        sleep((unsigned)atoi(getenv("SECONDS_TO_STAY")));
    MPI_Finalize();
    return 0;
}
EOF
"$o/ti-mpicc" -O2 -o "my show" show.c || fail "ti-mpicc"
acquire=("$o/ti-acquire" --sites "$state/sites.conf" --np 4 -c blocks --mem-per-rank 5GiB)

# nothing of a run is anywhere
none_left() {
    local left
    left=$("$bed" ps)
    [ -z "$left" ] || fail "$1: still running: $left"
    for node in $("$bed" list); do
        "$bed" node "$node" sh -c 'ls -d /tmp/ompi-* /dev/shm/tiara-* /scratch/* 2>/dev/null' >left &&
            fail "$1: on $node: $(cat left)"
    done
    compgen -G '*.run' >left && fail "$1: here: $(cat left)"
}

# refused STATUS TEXT ARGUMENT...: before anything is run, and with one JSON object
refused() {
    local status=$1 text=$2
    shift 2
    front "${acquire[@]}" --json "$@" </dev/null >out 2>err
    local got=$?
    [ $got -eq "$status" ] || fail "$*: status $got, not $status: $(cat err)"
    grep -q -- "$text" err || fail "$*: nothing of '$text' in: $(cat err)"
    python3 -m json.tool <out >/dev/null || fail "$*: no JSON: $(cat out)"
    none_left "$*"
}

# --- arguments, variables and input arrive as they are, at a node's ranks too
new=$'new\nline'
export GIVEN="it's \$HOME  "
echo "a line" | front "${acquire[@]}" -x GIVEN -o nodes.tib "./my show" "a b" "x'y" "\$HOME" "" "$new" '*' '\' >out 2>err ||
    fail "run: $(cat err)"
printf '<%s>' "a b" "x'y" "\$HOME" "" "$new" '*' '\' >want
printf '[%s]\n' "$GIVEN" >>want
grep -v "^read" out | cmp -s - want || fail "arguments: $(cat out), not $(cat want)"
grep -q "^read a line" out || fail "input: $(cat out)"
none_left run

# --- and the trace is that of a run on one machine
echo "a line" | front "$o/ti-acquire" --local --np 4 -c blocks --mem-per-rank 50MiB -x GIVEN -o local.tib \
    "./my show" "a b" "x'y" "\$HOME" "" "$new" '*' '\' >out 2>err || fail "local: $(cat err)"
"$o/ti-info" --compare local.tib nodes.tib >out 2>&1 || fail "compare: $(cat out)"
none_left local

# --- mpirun's own options between us and the ranks
front "${acquire[@]}" -o tag.tib "./my show" -- --tag-output </dev/null >out 2>err || fail "tag: $(cat err)"
grep -q "stdout>:.*\[" out || fail "tag: $(cat out)"

# --- refused
front "${acquire[@]}" "./my show" -- --no-such-option </dev/null >out 2>err
[ $? -eq 2 ] && grep -q "did not start anything" err || fail "mpirun's option: $(cat err)"
[ "$(ls "my show.4.run")" = run.log ] || fail "mpirun's option: left: $(ls "my show.4.run")"
rm -r "my show.4.run"
front "${acquire[@]}" --json --write-hostfile - "./my show" </dev/null >out 2>err
[ $? -eq 2 ] && grep -q "both write" err && [ ! -s out ] || fail "two for standard output: $(cat err out)"
refused 2 "cores of this machine" --pin 0 "./my show"
refused 3 "NO_SUCH_EVENT" --also NO_SUCH_EVENT "./my show"
refused 4 "no/such/log" --log no/such/log "./my show"
odd=$(printf 'odd\351')
mkdir "$odd" && cp "my show" "$odd/show" && cd "$odd" || exit 1
front "${acquire[@]}" --trace-dir ../odd.run -o ../odd.tib "$scratch/my show" </dev/null >../out 2>../err ||
    fail "odd directory: $(cat ../err)"
front "${acquire[@]}" --trace-dir ../odd.run -o ../odd.2.tib ./show </dev/null >../out 2>../err
[ $? -eq 3 ] && grep -q "UTF-8" ../err || fail "odd program: $(cat ../err)"
front "$o/ti-acquire" --sites "$state/sites.conf" --probe </dev/null >../out 2>../err ||
    fail "odd probe: $(cat ../err)"
cd ..
GIVEN=$odd refused 3 "UTF-8" -x GIVEN "./my show"

# --- interrupted before the launch nothing is left; later, what was traced
interrupt() { # TEXT-IN-THE-LOG
    "${front_now[@]}" "${acquire[@]}" --json -x SECONDS_TO_STAY=9999 "./my show" </dev/null >out 2>err &
    local run=$! pid
    while kill -0 $run 2>/dev/null && ! grep -qs "$1" *.run/run.log; do sleep 0.02; done
    pid=$(pgrep -f "^$o/ti-acquire --sites $state/" | head -1)
    [ -n "$pid" ] && kill -INT "$pid"
    wait $run
    local got=$?
    [ $got -eq 130 ] || fail "interrupted at '$1': status $got: $(cat err)"
    python3 -m json.tool <out >/dev/null || fail "interrupted at '$1': no JSON: $(cat out)"
}
front_now=(timeout -k 30 3000 "$bed" front)
interrupt "ship$"
none_left "interrupted while connecting"
interrupt "ranks have started"
grep -q "the traces are on the nodes" err || fail "interrupted: $(cat err)"
[ -z "$("$bed" ps)" ] || fail "interrupted: still running: $("$bed" ps)"
front "$o/ti-gather" --remove ./*.run -o rest.tib >out 2>&1
[ -s rest.tib ] || fail "interrupted: no bundle: $(cat out)"
finish
