#!/bin/bash
# Bursts whose length is known to the instruction, counted by PAPI, which `auto`
# chooses here: 4 ranks on the one core.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
np=4
allowed=1 # instruction

# once NAME LENGTH...: trace bursts of these lengths, into $scratch/NAME.run; and
# "OPERATION DEVIATION" of each, of all ranks, into $scratch/NAME.
once() {
    local name=$1 rank
    shift
    trace "$scratch/$name.run" $np auto "$built/bursts" "$scratch/truth" "$@" >"$scratch/log" 2>&1 ||
        fail "$name: $(cat "$scratch/log")"
    "$TI_BUILD/ti-info" "$scratch/$name.run" >"$scratch/info" 2>&1
    grep -q '^counter  *papi, PAPI_TOT_INS, in instructions, exact$' "$scratch/info" ||
        fail "$name: counter: $(cat "$scratch/info")"
    for ((rank = 0; rank < np; rank++)); do
        # what lies between init and finalize is in the truth
        dump "$scratch/$name.run" $rank | sed -e 1d -e '$d' | cut -d' ' -f1,2 >"$scratch/found"
        cmp -s <(cut -d' ' -f1 "$scratch/truth") <(cut -d' ' -f2 "$scratch/found") ||
            fail "$name: rank $rank: events"
        paste -d' ' "$scratch/truth" "$scratch/found" |
            awk '$2 != "-" { print $1, $3 - $2 }' >>"$scratch/$name"
    done
}

once short 10 100 1000 10000 100000
once again 10 100 1000 10000 100000
once long 1000000 10000000
for ((rank = 0; rank < np; rank++)); do
    dump "$scratch/short.run" $rank >"$scratch/expected"
    dump "$scratch/again.run" $rank >"$scratch/found"
    same "$scratch/expected" "$scratch/found" "rank $rank: in a second run"
done

# operation, bursts, least and most deviation
sort "$scratch/short" "$scratch/long" | awk '
    $1 != op { if (op) print op, n, least, most; op = $1; n = 0; least = most = $2 }
    { n++; if ($2 < least) least = $2; if ($2 > most) most = $2 }
    END { print op, n, least, most }' >"$scratch/spread"
while read -r op n least most; do
    figure "bursts of 10 to 10^7 before $op: $n, off by $least to $most instructions"
    ((-allowed <= least && most <= allowed)) || fail "$op: off by $least to $most"
    ((most == least)) || fail "$op: off by $least to $most, depending on rank or length"
    ((n == 7 * 3 * np)) || fail "$op: $n bursts"
done <"$scratch/spread"
[ "$(wc -l <"$scratch/spread")" = 9 ] || fail 'operations'
figure "calibration, spread: $("$TI_BUILD/ti-info" "$scratch/short.run" --rank 1 | sed -n 's/^calibration  *//p')"
finish
