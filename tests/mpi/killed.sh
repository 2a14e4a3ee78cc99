#!/bin/bash
# The trace of a rank that is killed: as many events as the manual page promises, from the first
# ones on.  unit/t-killed looks after each single event; here the library and SIGKILL are real.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh

# killed EVENTS SHAPE [BUFFER]
killed() {
    local dir=$scratch/killed found
    rm -rf "$dir"
    TIARA_BUFFER=${3:-24K} MPIRUN="$(pass TIARA_BUFFER)" \
        trace "$dir" 1 cputime "$built/killed" "$1" "$2" >"$scratch/log" 2>&1 &&
        { fail "$*: was not killed"; return; }
    [ -e "$dir" ] || { fail "$*: no trace"; head "$scratch/log"; return; }
    # tools say that it is cut off, and end with a status of their own
    dump "$dir" 0 >"$scratch/events" 2>"$scratch/err"
    found=$(grep -vc '^#' "$scratch/events")
    awk -v n="$1" -v found="$found" -v most="${4:-16384}" 'BEGIN {
        lost = n - found
        if (n / 5 > most) most = n / 5
        exit !(lost >= 0 && lost <= 3 * n / 4 + 64 && lost <= most) }' ||
        fail "$*: $found of $1 events are left"
    grep -q 'cut off' "$scratch/err" || { fail "$*: is not said to be cut off"; cat "$scratch/err"; }
}

for n in 1 100 256 257 1000 1280 1281 5376 6000; do
    killed $n mixed
done
for n in 300 1280 21760 70000 120000; do
    killed $n loop
done
killed 60000 mixed 1M 32768
finish
