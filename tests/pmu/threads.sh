#!/bin/bash
# Whose volume an event has: that of the thread which calls, or the sum of all, which
# PAPI counts by having threads inherit their counter.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
# shellcheck source=tests/mpi/threads-lib.bash
. tests/mpi/threads-lib.bash

# A thread counts from its first call on: what the second and the third did before
# theirs, events 4 and 6, is not known.
THREADS=caller
run papi serialized "$scratch/truth" $THREADS
sed -i -e '4s/ .*/ -/' -e '6s/ .*/ -/' "$scratch/truth"
complete 'serialized, caller'
bounds 'serialized, caller' each

# The work of threads while the caller is inside MPI is in no burst: totals are not known.
for THREADS in caller sum; do
    run papi helpers "$scratch/truth" $THREADS
    complete "helpers, $THREADS"
    bounds "helpers, $THREADS" each
    figure "two helpers beside the caller, $THREADS:" \
        "$(paste -d' ' "$scratch/found" "$scratch/truth" | awk '$4 > 1000 { print $1 " of " $4 }' | head -n 1)"
done
"$TI_BUILD/ti-info" "$dir" 2>&1 | grep -q '^counter .*papi.* of all threads' ||
    fail "ti-info does not say that it is a sum"

# PAPI sums up for the thread that opened it alone.
THREADS=sum
run papi serialized "$scratch/truth" sum
stopped 'this counter sums up threads for the one that' 'serialized, sum'
finish
