#!/bin/bash
# Bursts whose length is known to the instruction, against what the trace says.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
exact_counter || skip 'no exact counter here: valgrind or ticount is missing'
allowed=5 # instructions

TRUTH=$scratch/truth
trace "$scratch/trace" 2 valgrind "$built/bursts" "$TRUTH" >"$scratch/log" 2>&1
case $? in
    0) ;;
    77) skip 'bursts of known length are written for x86-64' ;;
    *) fail "$(cat "$scratch/log")" ;;
esac
bursts=0 largest=0
for rank in 0 1; do
    dump "$scratch/trace" $rank >"$scratch/all"
    # what lies between init and finalize is in the truth
    sed -e 1d -e '$d' "$scratch/all" | cut -d' ' -f1,2 >"$scratch/found"
    [ "$(wc -l <"$scratch/found")" = "$(wc -l <"$TRUTH")" ] || fail "rank $rank: number of events"
    read -r n worst < <(paste -d' ' "$TRUTH" "$scratch/found" | awk '
        $1 != $4 { print "0 999999999"; exit }
        $2 != "-" { d = $3 - $2; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { print n + 0, worst + 0 }')
    bursts=$((bursts + n))
    [ "$worst" -le "$largest" ] || largest=$worst
done
echo "$bursts bursts; largest deviation: $largest instructions, $allowed allowed"
[ "$bursts" -ge 100 ] || fail 'too few bursts'
[ "$largest" -le $allowed ] || fail 'deviation'
finish
