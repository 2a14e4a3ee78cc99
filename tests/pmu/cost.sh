#!/bin/bash
# The cost of tracing a call when PAPI counts: instructions of ours and PAPI's as
# counted, and, from the time they take, the kernel's as well.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
event=$TI_BUILD/bench/event turns=2000

# whole HOW: instructions from MPI_Init to MPI_Finalize, and calls in them.
whole() {
    trace "$scratch/$1" 1 papi "$event" send "$1" $turns >"$scratch/calls" 2>"$scratch/log" ||
        fail "$1: $(cat "$scratch/log")"
    "$TI_BUILD/ti-info" "$scratch/$1" --rank 0 | sed -n 's/^whole  *//p'
}

traced=$(whole traced)
calls=$(grep -o '[0-9]*' "$scratch/calls" | tail -n 1)
bare=$(whole bare)
calibration=$("$TI_BUILD/ti-info" "$scratch/traced" --rank 0 | sed -n 's/^calibration  *\([0-9]*\).*/\1/p')
added=$(((traced - bare) / calls))
figure "added to a call of Irecv, Send, Wait: $added instructions; between two reads: $calibration"
((2 * calibration <= added && added <= 2 * calibration + 1500)) || fail "$added instructions"
trace "$scratch/timed" 1 papi "$event" send 3 $turns >"$scratch/times" 2>"$scratch/log" ||
    fail "$(cat "$scratch/log")"
read -r without with more <"$scratch/times"
figure "nanoseconds, an instruction each, the kernel's too: $without, traced $with, added $more"
finish
