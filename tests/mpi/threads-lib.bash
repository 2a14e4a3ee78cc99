# shellcheck shell=bash
# For the scripts about threads, which source it behind lib.sh.
program=$TI_BUILD/tests/mpi/threads
# shellcheck disable=SC2154  # it is in lib.sh
dir=$scratch/trace

# run COUNTER ARGUMENT...: the program traced on 2 ranks, or NP, which must succeed.
# THREADS is whose volumes.
run() {
    local counter=$1
    shift
    rm -rf "$dir"
    MPIRUN="-x TIARA_THREADS=${THREADS:-caller} -x OMP_WAIT_POLICY=passive" \
        trace "$dir" "${NP:-2}" "$counter" "$program" "$@" >"$scratch/out" 2>"$scratch/err"
    rc=$?
    [ $rc != 77 ] || skip 'work of known length is written for x86-64'
    if [ $rc != 0 ]; then
        fail "$*: status $rc"
        head -n 20 "$scratch/out" "$scratch/err"
    fi
}

# complete TITLE: all traces are, and the library said nothing.
complete() {
    for ((rank = 0; rank < ${NP:-2}; rank++)); do
        dump "$dir" $rank >"$scratch/events-$rank" 2>"$scratch/end"
        [ ! -s "$scratch/end" ] || fail "$1: rank $rank: $(cat "$scratch/end")"
    done
    if grep '^tiara:' "$scratch/err"; then fail "$1: the library says something"; fi
    "$TI_BUILD/ti-info" --verify "$dir" >"$scratch/verify" 2>&1 || fail "$1: $(cat "$scratch/verify")"
}

# bounds TITLE all|each: the volumes of rank 0 are as it says in
# $scratch/truth; their total too or not.
bounds() {
    sed -e 1d -e '$d' "$scratch/events-0" | cut -d' ' -f1,2 >"$scratch/found"
    grep -v '^total' "$scratch/truth" >"$scratch/each"
    [ "$(wc -l <"$scratch/found")" = "$(wc -l <"$scratch/each")" ] ||
        fail "$1: $(wc -l <"$scratch/found") events"
    paste -d' ' "$scratch/found" "$scratch/each" | awk '
        $2 != $3 || ($4 != "-" && ($1 < $4 || $1 > $5)) { print "event " NR ": " $0; bad = 1 }
        END { exit bad }' >"$scratch/bad" || fail "$1: $(head -n 5 "$scratch/bad")"
    awk 'NR == FNR { found += $1; next }
        $1 == "total" && (found < $2 || found > $3) { print found " in all: " $0; bad = 1 }
        END { exit bad }' "$scratch/found" "$scratch/truth" >"$scratch/bad" ||
        [ "$2" = each ] || fail "$1: $(cat "$scratch/bad")"
}

# stopped WORDS TITLE: the library said so once, with the words; both traces can be
# read as far as they go, and give the words as the reason.
stopped() {
    [ "$(grep -c "^tiara: rank 0: recording stopped: .*$1" "$scratch/err")" = 1 ] ||
        fail "$2: stderr: $(cat "$scratch/err")"
    for rank in 0 1; do
        dump "$dir" $rank >"$scratch/events" 2>"$scratch/end"
        head -n 1 "$scratch/events" | grep -q ' init ' || fail "$2: rank $rank: no beginning"
        if grep -q finalize "$scratch/events"; then fail "$2: rank $rank: it has an end"; fi
        grep -q "$1" "$scratch/end" || fail "$2: rank $rank ends by: $(cat "$scratch/end")"
    done
}
