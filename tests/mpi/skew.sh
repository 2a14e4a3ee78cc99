#!/bin/bash
# Skew of bursts under the exact counter: what real programs record is what they
# execute outside MPI, as ticount sees it.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
command -v python3 >/dev/null || skip 'there is no python3'
allowed=0.01 # percent

# of TRACE RANK: volume and outside of a rank
of() { "$TI_BUILD/ti-info" --rank "$2" "$1" | awk '
    /^volume / { gsub(",", ""); v = $2 } /^outside / { o = $2 } END { print v, o }'; }

# bursts NP PROGRAM ARGUMENT...: traced, each rank's bursts against the tool's count.
bursts() {
    local np=$1 name dir rank worst
    shift
    name=$(basename "$1") dir=$scratch/$name
    VALGRIND_OPTIONS=--outside=yes trace "$dir" "$np" valgrind "$@" >"$scratch/log" 2>&1 ||
        { fail "$*"; cat "$scratch/log"; return; }
    worst=$(for ((rank = 0; rank < np; rank++)); do of "$dir" $rank; done | awk '
        NF != 2 || $2 < 1000 { print 100; exit }
        { d = 100 * ($1 - $2) / $2; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { if (n == '"$np"') printf "%.6f", worst; else print 100 }')
    echo "$name, np $np: skew of bursts $worst % in the worst rank, $allowed allowed"
    awk "BEGIN { exit !($worst <= $allowed) }" || fail "$*: skew of bursts"
}

bursts 8 "$examples/lu" S 5
bursts 8 "$examples/stencil" 48 20
bursts 8 "$examples/cg" 256 1
bursts 8 "$examples/is" 1000 2
bursts 8 "$examples/master_worker" 30 500

# And what ti-skew makes of it, with the skew of the whole run beside it.
plot=
command -v gnuplot >/dev/null && plot=--plot=$scratch/skew.svg
"$TI_BUILD/ti-skew" -q --np 2 --runs 1 -c valgrind --trace-dir "$scratch/skew" --json ${plot:+"$plot"} \
    "$examples/lu" S 5 >"$scratch/json" 2>"$scratch/log" || { fail ti-skew; cat "$scratch/log"; }
grep -i 'empty y range' "$scratch/log" && fail 'gnuplot warns of a skew of 0'
python3 - "$scratch/json" "$allowed" <<'P' || fail 'lu: figures of ti-skew'
import json, sys
np, = json.load(open(sys.argv[1]))["np"]
allowed = float(sys.argv[2])
kind = {r["kind"]: r for r in np["runs"]}
bare, traced = kind["bare"], kind["traced"]
print("lu, np 2: skew of bursts %g %% (worst rank %g), of the whole run %.2f %%" % (
    np["burst_skew_pct"]["median"], np["burst_skew_worst_rank_pct"], np["whole_skew_pct"]["median"]))
assert "whole" not in kind["native"] and kind["native"]["seconds"] > 0
assert abs(np["burst_skew_pct"]["median"]) <= allowed and np["burst_skew_worst_rank_pct"] <= allowed
assert abs(np["burst_skew_bare_pct"]["median"]) <= allowed
assert traced["volume"] > 1e7 and traced["events"] > 250
assert np["residual_per_call"]["median"] == (traced["volume"] - traced["outside"]) / traced["events"]
# the tracer's own work is in the whole
assert traced["whole"] > traced["outside"] and bare["whole"] > bare["outside"]
assert abs(np["whole_skew_pct"]["median"] - 100 * (traced["whole"] / bare["whole"] - 1)) < 1e-6
P

# Bursts that are left out show: the measure would see what it should.
dir=$scratch/pcontrol
VALGRIND_OPTIONS=--outside=yes trace "$dir" 2 valgrind "$built/pcontrol" >"$scratch/log" 2>&1 ||
    { fail pcontrol; cat "$scratch/log"; }
read -r volume outside < <(of "$dir" 0)
[ "$volume" -lt "$outside" ] || fail "pcontrol: $volume recorded of $outside, and a part was left out"

# Counted by blocks, what is missing is code of libraries.  It is told by running the
# program as compiled without, and by what one compiled with counts of itself.
if [ -x "$TI_BUILD/ti-mpicc" ]; then
    "$TI_BUILD/ti-mpicc" --tiara-audit -O2 -I. -o "$scratch/lu.blocks" examples/lu.c examples/example.c \
        -lm || fail ti-mpicc
    against() {
        "$TI_BUILD/ti-skew" -q --np 2 --runs 1 -c blocks --against valgrind \
            --trace-dir "$scratch/skew" "$@" "$scratch/lu.blocks" S 5 >"$scratch/out" 2>"$scratch/log" ||
            { fail "blocks against valgrind $*"; cat "$scratch/log"; }
    }
    against --plain "$examples/lu"
    sed -n 's/,//g; s/.* in libraries mostly: \([0-9]*\) .*/\1/p' "$scratch/out" >"$scratch/plain"
    against
    sed -n 's/,//g; s/.*not compiled for it: \([0-9]*\);.*/\1/p' "$scratch/out" >"$scratch/itself"
    echo "lu, np 2: $(cat "$scratch/plain") instructions in libraries"
    same "$scratch/plain" "$scratch/itself" 'instructions in libraries'
    [ -s "$scratch/plain" ] && [ "$(cat "$scratch/plain")" -lt 100000 ] || fail 'too many of them'
fi
finish
