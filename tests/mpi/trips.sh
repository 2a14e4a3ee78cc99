#!/bin/bash
# Real programs with other numbers of steps: their traces are those that --trips makes of traces
# with fewer steps or more, in events and, where a counter is exact, in volumes; and they are
# replayed in the same simulated time.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export TIARA_QUIET=1
MPIRUN="--oversubscribe $(pass TIARA_QUIET)"
[ "$MPI" = mpich ] && MPIRUN=
cd "$scratch" || exit 1
info=$TI_BUILD/ti-info

# With the counter blocks, volumes are compared, too.
counter=cputime programs=$examples without=(--no-volumes)
if [ "$MPI" != mpich ] && [ -x "$TI_BUILD/blocks/lu" ]; then
    counter=blocks programs=$TI_BUILD/blocks without=()
fi
echo "# counter $counter"

traced() { # NAME NP PROGRAM ARGUMENT...
    local name=$1 np=$2 program=$3
    shift 3
    trace "$name.run" "$np" $counter "$programs/$program" "$@" >log 2>&1 ||
        { fail "$program $*: $(head -n 5 log)"; return; }
    "$info" -q --merge "$name.run" -o "$name.m" || fail "$name: --merge"
}

# loop NAME TRIPS: the name of its first loop with so many trips.
loop() { "$info" --phases --rank 0 "$1.m" | sed -n "s/.* loop $2 times {  # //p" | head -n 1; }

# changed FROM TO HAD TRIPS: what --trips makes of the trace FROM is the trace TO.
changed() {
    local to=$1-as-$2
    set -- "$1" "$2" "$(loop "$1" "$3")=$4"
    if ! "$info" --trips "$3" "$1.m" -o "$to" >log 2>&1; then
        fail "$1, $3: $(cat log)"
        return
    fi
    echo "# $(head -n 1 log)"
    "$info" --compare "$2.m" "${without[@]}" "$to" >log 2>&1 || fail "$1, $3: $(cat log)"
    grep -q '^equal: ' log || fail "$1, $3: $(cat log)"
    "$info" --verify "$to" >log 2>&1 || fail "$1, $3: $(cat log)"
}

# Class S has a norm every ten steps, one more after the first, and one at the end.
traced lu.50 4 lu S 50
traced lu.200 4 lu S 200
changed lu.50 lu.200 5 20
changed lu.200 lu.50 20 5
traced stencil.50 4 stencil 64 50
traced stencil.200 4 stencil 64 200
changed stencil.50 stencil.200 5 20
changed stencil.200 stencil.50 20 5
traced cg.4 4 cg 512 4
traced cg.12 4 cg 512 12
changed cg.4 cg.12 4 12
changed cg.12 cg.4 12 4
traced multigrid.5 8 multigrid 16 5
traced multigrid.20 8 multigrid 16 20
changed multigrid.5 multigrid.20 5 20
changed multigrid.20 multigrid.5 20 5

# A cycle is the same until rounding ends convergence, after 20: from then on, a test of the norm is
# another one.  The calls are the same.
traced multigrid.10 8 multigrid 16 10
traced multigrid.40 8 multigrid 16 40
changed multigrid.10 multigrid.20 10 20
changed multigrid.20 multigrid.10 20 10
exact=("${without[@]}") without=(--no-volumes)
changed multigrid.20 multigrid.40 20 40
changed multigrid.40 multigrid.20 40 20
without=("${exact[@]}")
traced fine.10 8 multigrid 32 10
traced fine.20 8 multigrid 32 20
changed fine.10 fine.20 10 20
changed fine.20 fine.10 20 10

# A tenth of the steps are of an inner loop, in each trip of the outer one.
"$info" -q --trips "$(loop stencil.50 10)=30" --trips "$(loop stencil.50 5)=7" stencil.50.m -o inner ||
    fail "stencil: an inner loop"
"$info" --json inner >json
python3 - <<'END' || fail "stencil: events with an inner loop"
import json
events = json.load(open("json"))["operations"]
assert events["waitall"]["events"] == 4 * 7 * 30 and events["allreduce"]["events"] == 4 * (7 + 1)
END

if command -v smpirun >/dev/null && [ -x "$TI_BUILD/ti-smpi-replay" ]; then
    clock() { # OPTION... TRACE
        "$TI_BUILD/ti-replay" --json --no-compute "$@" 2>log >json || fail "ti-replay $*: $(cat log)"
        python3 -c 'import json; print(repr(json.load(open("json"))["clock_s"]))'
    }
    mkdir tmp
    export TMPDIR=$scratch/tmp
    name=$(loop lu.50 5)
    [ "$(clock lu.200.m)" = "$(clock --trips "$name=20" lu.50.m)" ] ||
        fail "ti-replay --trips takes another time"
    grep -q "changed after they were traced, by ti-replay --trips '$name=20'" log ||
        fail "ti-replay does not say that the trace was changed"
    python3 - "$name" <<'END' || fail "ti-replay --json does not say so"
import json, sys
j = json.load(open("json"))
assert j["exact"] is False and j["changed"] == \
    "ti-replay --trips '%s=20' (trips 2 to 5 again and again)" % sys.argv[1], j
assert j["trace"] == "lu.50.m" and j["events"] == 43340, j
assert [(l["trips_before"]["maximum"], l["trips"]) for l in j["trips"]] == [(5, 20)], j
END
    for engine in stock tiara; do
        "$TI_BUILD/ti-replay" -q --engine $engine --trips "$(loop stencil.50 5)=2" stencil.50.m >log 2>&1 ||
            fail "engine $engine: $(cat log)"
    done
    "$TI_BUILD/ti-replay" --lint --trips "$name=1000000" lu.50.m >log 2>&1 ||
        fail "ti-replay --lint: $(cat log)"
    grep -q 'can be replayed: 4 ranks, 2,164,000,060 events' log || fail "--lint: $(cat log)"
    "$TI_BUILD/ti-replay" --trips nowhere=2 lu.50.m >log 2>&1 && fail "a loop that is not there"
    grep -q "no loop has the name 'nowhere'" log || fail "--trips nowhere: $(cat log)"
    "$TI_BUILD/ti-replay" -q --sweep "trips=$name=5|$name=20" \
        --no-compute -o study lu.50.m >log 2>&1 || fail "a sweep over trips: $(cat log)"
    [ "$(wc -l <study/results.csv)" -eq 3 ] || fail "a sweep over trips: $(cat study/results.csv)"
    [ -z "$(ls tmp)" ] || fail "ti-replay --trips left $(ls tmp)"
fi
finish
