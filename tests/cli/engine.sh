#!/bin/bash
# A third engine, tests/engine/sums.c, in a ti-replay whose table has one row more: it is chosen by
# its name, its time is what the totals of ti-info add up to, and what it does not serve is refused.
. tests/cli/trace-lib.bash
replay=$o/tests/engine/ti-replay
[ -x "$replay" ] || { echo "$replay was not built"; exit 77; }
ring=$OLDPWD/examples/ring4

# Beside the example, ranks that differ: rank 1 computes most, rank 2 sends most.
run 0 ti-convert --from simgrid "$ring/list.txt" -o ring.run
mkdir uneven
printf '%s\n' '0 init' '0 recv 2 0 40000000 6' '0 finalize' >uneven/0
printf '%s\n' '1 init' '1 compute 7e8' '1 recv 2 0 5 6' '1 finalize' >uneven/1
printf '%s\n' '2 init' '2 compute 5' '2 send 0 0 40000000 6' '2 send 1 0 5 6' '2 finalize' >uneven/2
printf '%s\n' 0 1 2 >uneven/list
(cd uneven && run 0 ti-convert --from simgrid list -o ../uneven.run)

# adds TRACE NP SPEED BANDWIDTH LATENCY: the time that --engine sums gives is the sum of the longest rank
adds() {
    run 0 "$replay" --json --engine sums --speed "$3f" --bandwidth "$4Bps" --latency "$5s" "$1"
    cp out result
    for ((rank = 0; rank < $2; rank++)); do
        run 0 ti-info --json --rank $rank "$1"
        cp out rank-$rank
    done
    python3 - "$@" <<'END' || fail "$*: the time is not what the totals add up to"
import json, sys
np, speed, bandwidth, latency = int(sys.argv[2]), *map(float, sys.argv[3:])
ranks = [json.load(open(f"rank-{r}")) for r in range(np)]
longest = max(r["volume"] / speed + r["message_bytes"] / bandwidth + r["messages"] * latency for r in ranks)
result = json.load(open("result"))
print(sys.argv[1], longest, result["clock_s"])
assert result["engine"] == "sums" and abs(result["clock_s"] - longest) < 1e-9 * longest
END
}
adds ring.run 4 1e9 125e6 50e-6
adds uneven.run 3 1e9 125e6 50e-6
adds uneven.run 3 1e9 1e6 0.5

# The rest of ti-replay follows from the row.
run 0 "$replay" --engine sums --lint ring.run
run 0 "$replay" --engine sums --sweep speed=1Gf,2Gf -o study ring.run
run 0 "$replay" --engine sums ring.run
says out 'engine:         sums'
says out 'events:         16'
run 2 "$replay" --engine mine ring.run
says err '--engine must be auto, sums, stock or tiara, not'
for option in '--links' '--cfg a:b' '--keep kept' '--profile' '--timeline t.csv' '--start 1s' '--copies 2' '--noise 3%'; do
    # shellcheck disable=SC2086  # words are meant
    run 2 "$replay" --engine sums $option ring.run
    says err 'needs --engine tiara'
done
run 2 "$replay" --engine sums --platform "$ring/platform.xml" ring.run
says err 'engine sums needs a generated platform'

# auto takes the last engine that is there: ti-smpi-replay is not beside this ti-replay.
if command -v smpirun >/dev/null; then
    run 0 "$replay" ring.run
    says out 'engine:         stock'
fi
run 4 "$replay" --engine tiara ring.run
says err 'there is no ti-smpi-replay beside ti-replay'
run 4 "$replay" --json --profile ring.run
says err '--profile needs ti-smpi-replay, which is not beside ti-replay'
exit $failed
