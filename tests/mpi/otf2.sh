#!/bin/bash
# Real programs, traced by the library and by a tracer that writes OTF2 as Score-P does: the
# trace that ti-convert makes of the latter has the same calls, messages and collectives.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
[ -e "$TI_BUILD/tests/otf2-tracer.so" ] || skip 'there is no OTF2 library'
cd "$scratch" || exit 1

# plain DIR RANK: its events, without what is no part of an OTF2 trace, and in the words that
# the conversion has for what a communicator needs.
plain() {
    dump "$1" "$2" | sed -E -e '/ (comm_create_group|comm_free) /d' -e 's/^[0-9]+ //' \
        -e 's/ (r?esize|redop|level|burst_ns|call_ns|from|fromtag)=[^ ]*//g' \
        -e 's/^comm_split .*/barrier comm=0/' -e 's/^(alltoallv|waitall) .*/\1/'
}

# program NP NAME ARGUMENT...
program() {
    local np=$1 name=$2 rank
    shift 2
    rm -rf score score.run own
    trace own "$np" cputime "$examples/$name" "$@" >log 2>&1 || { fail "$name"; cat log; }
    export OTF2_DIR=score
    MPIRUN='-x OTF2_DIR' PRELOAD=$TI_BUILD/tests/otf2-tracer.so \
        trace none "$np" cputime "$examples/$name" "$@" >log 2>&1 || { fail "$name with OTF2"; cat log; }
    "$TI_BUILD/ti-convert" -q --from otf2 score/traces.otf2 -o score.run 2>log ||
        { fail "$name: refused"; cat log; return; }
    for ((rank = 0; rank < np; rank++)); do
        plain own "$rank" >expected
        plain score.run "$rank" >found
        [ "$(wc -l <expected)" -gt 5 ] || fail "$name: rank $rank has no events"
        same expected found "$name: rank $rank"
    done
    # The durations of bursts are there: as volumes, and as times.
    "$TI_BUILD/ti-info" --dump --rank 0 score.run |
        awk '$1 ~ /^[0-9]+$/ { sub(/.*burst_ns=/, $1 " "); if ($1 != $2) exit 1; sum += $1 }
             END { exit sum == 0 }' || fail "$name: bursts"
}

program 2 ring 20 1000
program 4 lu S 2
program 4 multigrid
program 4 is
program 4 cg
finish
