#!/bin/bash
# Real programs on more ranks: the trace that ti-extrapolate makes of runs with fewer is the trace
# of such a run, in every event and nearly in its volumes, and is replayed in the same simulated
# time on three platforms.  Programs without rules are refused.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ "$MPI" = mpich ] && skip 'the programs and their volumes are those of Open MPI'
[ -x "$TI_BUILD/blocks/lu" ] || skip 'no counter that is exact and fast: ti-mpicc was not built'
export TIARA_QUIET=1
MPIRUN="--oversubscribe $(pass TIARA_QUIET)"
cd "$scratch" || exit 1
info=$TI_BUILD/ti-info

traced() { # PROGRAM NP ARGUMENT...
    local program=$1 np=$2
    shift 2
    [ ! -e "$program.$np.run" ] || return 0
    trace "$program.$np.run" "$np" blocks "$TI_BUILD/blocks/$program" "$@" >log 2>&1 ||
        fail "$program on $np ranks: $(head -n 5 log)"
}

# extrapolate PROGRAM FROM... TO: into PROGRAM.made.TO
extrapolate() {
    local program=$1 runs=()
    shift
    while [ $# -gt 1 ]; do
        runs+=("$program.$1.run")
        shift
    done
    "$TI_BUILD/ti-extrapolate" "${runs[@]}" --np "$1" -o "$program.made.$1" >log 2>&1
}

clock() { # TRACE OPTION...
    "$TI_BUILD/ti-replay" --json "$@" 2>log >json || fail "ti-replay $*: $(cat log)"
    python3 -c 'import json; print(repr(json.load(open("json"))["clock_s"]))'
}

within() { # WHAT SHARE A B
    python3 - "$@" <<'END' || fail "$1: $3 and $4"
import sys
share, a, b = map(float, sys.argv[2:])
print(f"# {sys.argv[1]}: off by {100 * abs(a - b) / b:.3g} %")
sys.exit(abs(a - b) > share * b)
END
}

volume() { "$info" --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["volume"])'; }

# same PROGRAM TO: what was made is what was run, but for volumes that are unproven.
same() {
    local real=$1.$2.run made=$1.made.$2 platform
    "$info" --compare "$real" --no-volumes "$made" >log 2>&1 || fail "$1: $(cat log)"
    grep -q "^equal: $2 ranks" log || fail "$1: $(cat log)"
    echo "# $1: $(grep ^equal log)"
    "$info" --verify "$made" >log 2>&1 || fail "$1: $(cat log)"
    # only a proof says that the volume is right
    [ -n "${unproven:-}" ] || within "$1, volume" 0.01 "$(volume "$made")" "$(volume "$real")"
    command -v smpirun >/dev/null && [ -x "$TI_BUILD/ti-smpi-replay" ] || return
    for platform in '--speed 1Gf' '--topology torus:4,4,4 --speed 4Gf' \
        '--topology fat-tree:2;8,8;1,4;1,1 --speed 8Gf --bandwidth 1GBps --latency 2us'; do
        # shellcheck disable=SC2086  # words are meant
        within "$1, $platform" 0.02 "$(clock "$made" $platform)" "$(clock "$real" $platform)"
    done
}

grows() { # PROGRAM 'ARGUMENT...' FROM... TO
    local program=$1 arguments=$2 np
    shift 2
    for np; do
        # shellcheck disable=SC2086  # words are meant
        traced "$program" "$np" $arguments
    done
    if extrapolate "$program" "$@"; then
        grep -E '^proof|unproven' log | sed "s/^/# $program, /"
        grep -q "^${unproven:-proof}" log || fail "$program, its proof: $(cat log)"
        same "$program" "${!#}"
    else
        fail "$program: $(cat log)"
    fi
}

refused() { # PROGRAM 'ARGUMENT...' TEXT NP...
    local program=$1 arguments=$2 text=$3 np
    shift 3
    for np; do
        # shellcheck disable=SC2086
        traced "$program" "$np" $arguments
    done
    if extrapolate "$program" "$@" 64; then
        fail "$program: extrapolated: $(cat log)"
    else
        [ $? -eq 3 ] || fail "$program: $(cat log)"
        grep -q "$text" log || fail "$program is refused for another reason: $(cat log)"
        echo "# $(head -n 1 log)"
    fi
}

unproven=
grows lu 'W 2' 9 12 16 20 36 48 64
grows stencil '64 20' 9 12 16 20 36 48 64
grows ring '' 4 8 16 32 64
grows ep '' 4 8 16 32 64
# One stage of the hypercube on 4 ranks, three on 64.  From 4, 8 and 16 ranks it does not follow what
# 32 do, so there is no proof, and volumes are far off.
unproven='ti-extrapolate: warning: unproven: without the largest input' grows cg '256 3' 4 8 16 32 64

# A sparse matrix: two traces do not prove its volumes, and --explain has words for each fit.
"$TI_BUILD/ti-extrapolate" cg.16.run cg.64.run --np 256 --explain -o cg.made.256 >log 2>&1 ||
    fail "cg: $(cat log)"
grep -q '^ti-extrapolate: warning: unproven: a proof takes three traces' log || fail "cg: $(cat log)"
grep -q '= 70 + [0-9]* \* block(256, px, x) (fitted' log || fail "cg, vectors: $(cat log)"
grep -q '^  irecv .* log2(block(256, px, x)) (fitted: .*t = 0\]; .*t > 0\]' log ||
    fail "cg, product with the matrix: $(cat log)"

# As square as can be, or prime factors dealt out as MPI_Dims_create does it: the inputs do not tell.
if extrapolate stencil 9 12 16 20 36 240; then
    fail "stencil: one grid of 240 ranks was taken: $(cat log)"
else
    grep -q 'grids of 12 x 20 and of 15 x 16 both continue those' log || fail "stencil, 240: $(cat log)"
fi

# squares alone do not tell one axis from the other: which ranks would
if extrapolate stencil 9 16 36 128; then
    fail "stencil: extrapolated from squares to 8 x 16: $(cat log)"
else
    grep -q "both '.*px.*' and '.*py.*' fit" log || fail "stencil, squares: $(cat log)"
    grep -q '^hint: a trace of 3[0-9] ranks would decide' log || fail "stencil, squares: $(cat log)"
fi

refused is '' 'a list differs from call to call' 4 8 16
refused master_worker '' 'a field differs from call to call without a pattern' 4 8 16
refused multigrid '16 4' 'exchange_faces .*: a field differs from call to call without a pattern' 8 16 32
refused amr '' 'a list differs from call to call' 4 8 16
finish
