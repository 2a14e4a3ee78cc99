#!/bin/bash
# Several events at once: cycles and page faults beside the volume, which stays what
# it is without them.
# shellcheck source=tests/pmu/lib.sh
. tests/pmu/lib.sh
np=4 lengths='10 1000 100000'

# shellcheck disable=SC2086  # words are meant
{
    trace "$scratch/plain" $np auto "$built/bursts" "$scratch/truth" $lengths >"$scratch/log" 2>&1 ||
        fail "alone: $(cat "$scratch/log")"
    MPIRUN='-x TIARA_ALSO=PAPI_TOT_CYC,perf::PAGE-FAULTS -x TIARA_TIMES=1' \
        trace "$scratch/also" $np auto "$built/bursts" "$scratch/truth" $lengths >"$scratch/log" 2>&1 ||
        fail "also: $(cat "$scratch/log")"
}
for ((rank = 0; rank < np; rank++)); do
    dump "$scratch/plain" $rank | sed -e 1d -e '$d' | cut -d' ' -f1,2 >"$scratch/expected"
    dump "$scratch/also" $rank | sed -e 1d -e '$d' >"$scratch/found"
    cut -d' ' -f1,2 "$scratch/found" | awk -v f="$scratch/expected" '
        { getline want <f; split(want, w, " "); d = $1 - w[1]
          if ($2 != w[2] || d < -2 || d > 2) { print "want " want ", found " $0; bad = 1 } }
        END { exit bad }' >"$scratch/bad" || fail "rank $rank: $(head -n 5 "$scratch/bad")"
    # an instruction is a cycle here; what is counted beside is not calibrated
    sed -n 's/^\([0-9]*\) .* PAPI_TOT_CYC=\([0-9]*\) .*perf::PAGE-FAULTS=\([0-9]*\).*/\1 \2 \3/p' \
        "$scratch/found" >>"$scratch/beside"
done
[ "$(wc -l <"$scratch/beside")" = $((3 * 3 * 10 * np)) ] || fail "columns: $(head -n 3 "$scratch/found")"
read -r least most faults < <(awk '
    { d = $2 - $1; if (NR == 1) least = most = d; if (d < least) least = d; if (d > most) most = d
      faults += $3 }
    END { print least, most, faults }' "$scratch/beside")
figure "cycles beside the instructions of a burst: $least to $most more; $faults page faults"
((0 <= least && most <= 3000)) || fail "cycles: $least to $most more"
finish
