#!/bin/bash
# One ring in C and in the Fortran bindings, 4 ranks: bursts of known length, and the
# few instructions with which each language prepares a call.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
np=4 length=100000 allowed=100 # instructions

for ring in ring ring_mpifh ring_usempi ring_f08; do
    trace "$scratch/$ring" $np auto "$examples/$ring" 3 1000 $length >"$scratch/log" 2>&1 ||
        fail "$ring: $(cat "$scratch/log")"
    for ((rank = 0; rank < np; rank++)); do
        dump "$scratch/$ring" $rank --no-volumes >"$scratch/found"
        dump "$scratch/ring" $rank --no-volumes >"$scratch/expected"
        same "$scratch/expected" "$scratch/found" "$ring: events of rank $rank"
        # before a send is the burst; before the others what is between two calls
        paste -d' ' <(dump "$scratch/ring" $rank) <(dump "$scratch/$ring" $rank | cut -d' ' -f1) |
            awk -v n=$length '$2 == "send" || $2 == "recv" {
                print $NF - ($2 == "send" ? n : 0), $NF - $1 }'
    done >"$scratch/beside"
    [ "$(wc -l <"$scratch/beside")" = $((6 * np)) ] || fail "$ring: number of bursts"
    read -r least most far < <(awk '
        NR == 1 { least = most = $1 }
        { if ($1 < least) least = $1; if ($1 > most) most = $1; if ($2 < 0) $2 = -$2; if ($2 > far) far = $2 }
        END { print least, most, far + 0 }' "$scratch/beside")
    figure "$ring: $least to $most instructions beside the burst, at most $far from C's"
    ((0 <= least && far <= allowed)) || fail "$ring: $least beside the burst, $far from C's"
done
finish
