#!/bin/bash
# TIARA_MODE=whole: the first and the last event, and what was counted between them.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export TIARA_MODE=whole

# ends NP TRACE: nothing but init and finalize on any rank, and the trace is sound.
ends() {
    local np=$1 dir=$2 rank
    for ((rank = 0; rank < np; rank++)); do
        [ "$(dump "$dir" "$rank" --no-volumes | cut -d' ' -f1 | tr '\n' ' ')" = 'init finalize ' ] ||
            fail "$dir: events of rank $rank"
    done
    "$TI_BUILD/ti-info" -q --verify "$dir" || fail "$dir: --verify"
}

# Every binding, and both MPIs where there are two.
for program in "$examples/lu" "$examples/ring_mpifh" "$examples/ring_f08"; do
    name=$(basename "$program")
    [ "$name" = lu ] && set -- S 3 || set --
    MPIRUN="$(pass TIARA_MODE)" trace "$scratch/$name" 2 cputime "$program" "$@" \
        >"$scratch/log" 2>&1 || { fail "$name"; cat "$scratch/log"; }
    ends 2 "$scratch/$name"
done
if [ "$MPI" = openmpi ] && command -v mpirun.mpich >/dev/null && [ -d "$TI_BUILD/tests/mpich" ]; then
    MPI=mpich mpirun=mpirun.mpich trace "$scratch/mpich" 2 cputime "$TI_BUILD/tests/mpich/ring" \
        >"$scratch/log" 2>&1 || { fail "ring of MPICH"; cat "$scratch/log"; }
    ends 2 "$scratch/mpich"
fi

# The tools on such a trace.
"$TI_BUILD/ti-info" "$scratch/lu" | grep -q '^mode  *whole$' || fail 'ti-info does not tell the mode'
"$TI_BUILD/ti-replay" --lint "$scratch/lu" >"$scratch/log" 2>&1
[ $? = 3 ] || fail 'ti-replay does not refuse it'
grep -q 'rank 0: its trace is of mode whole' "$scratch/log" || fail 'ti-replay does not say why'
"$TI_BUILD/ti-gather" -q "$scratch/lu" -o "$scratch/lu.tib" || fail 'ti-gather'
"$TI_BUILD/ti-info" --json "$scratch/lu.tib" >"$scratch/json"
grep -q '"mode": "whole"' "$scratch/json" || fail 'the bundle does not tell the mode'

# Not a mode: the application runs, nothing is recorded.
TIARA_MODE=half MPIRUN="$(pass TIARA_MODE)" trace "$scratch/half" 2 cputime "$examples/lu" S 1 \
    >"$scratch/log" 2>&1 || fail 'an unknown mode ends the application'
grep -q "unknown TIARA_MODE 'half'" "$scratch/log" || fail 'an unknown mode is not said to be one'
[ ! -e "$scratch/half/rank-000000.ti" ] || fail 'an unknown mode is recorded'

# field TRACE NAME: a total of its summary
field() { "$TI_BUILD/ti-info" --json "$1" | sed -n "s/^ *\"$2\": \\([0-9]*\\),*\$/\\1/p" | head -n 1; }

# The volume is what was counted, all but the discount of one burst a rank; a
# traced run counts more than its bursts, and more than a run that is not traced.
if exact_counter; then
    MPIRUN="$(pass TIARA_MODE)" trace "$scratch/bare" 1 valgrind "$examples/lu" S 2 \
        >"$scratch/log" 2>&1 || { fail "lu under valgrind"; cat "$scratch/log"; }
    unset TIARA_MODE
    trace "$scratch/full" 1 valgrind "$examples/lu" S 2 >"$scratch/log" 2>&1 || fail 'traced lu'
    bare=$(field "$scratch/bare" whole) volume=$(field "$scratch/bare" volume)
    full=$(field "$scratch/full" whole) bursts=$(field "$scratch/full" volume)
    echo "bare: whole $bare, volume $volume; traced: whole $full, bursts $bursts"
    [ "$volume" -le "$bare" ] && [ $((bare - volume)) -lt 500 ] || fail 'bare: volume is not whole'
    [ "$bursts" -gt 1000000 ] && [ "$bursts" -lt "$bare" ] || fail 'bursts are not part of the whole'
    [ "$full" -gt "$bare" ] || fail 'tracing costs nothing?'
fi
finish
