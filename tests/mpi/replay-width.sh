#!/bin/bash
# The results of ti-replay fit the terminal: no line is longer than it is wide, with long names and
# texts; without a terminal nothing is broken, rounded or cut.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
cd "$scratch" || exit 1
name=a-trace-with-a-name-of-more-than-forty-characters
"$o/tests/mktrace" --np 4 --plain --iterations 30 --sites "$name" --times "$name"
"$o/ti-info" --merge "$name" -o "$name.tib" >/dev/null 2>&1 || fail '--merge'
"$o/ti-info" --merge --volumes stats "$name" -o "$name.stats.tib" >/dev/null 2>&1 || fail '--volumes stats'
loop=$("$o/ti-info" --phases "$name.tib" 2>/dev/null | sed -n 's/.*loop .*{  # //p' | head -n 1)
printf '{"format": "tiara-measured", "program": "%s", "np": 4, "runs": [{"time_s": 12345678.9}, {"time_s": 0.1}]}\n' $name >real.json

longest() { awk '{ n = length($0) > n ? length($0) : n } END { print n + 0 }' "$1"; }
fits() { # OPTION...: at several widths; `wide` is the result without one
    local width
    "$o/ti-replay" --no-progress "$@" >wide 2>err || { fail "status $?: $*"; cat err; }
    for width in 80 100 132; do
        "$o/ti-replay" --no-progress --width $width "$@" >out 2>err || { fail "status $?: $*"; cat err; }
        [ "$(longest out)" -le $width ] || { fail "wider than $width: $*"; awk "length > $width" out; }
    done
}
# unbroken TEXT: a line of `wide`, which is longer than a terminal
unbroken() { grep -E -- "$1" wide | awk 'length > 80 { seen = 1 } END { exit !seen }' || { fail "not one line: $1"; cat wide; }; }

fits "$name.tib" --topology 'fat-tree:2;4,4;1,2;1,2' --bandwidth 1.25GBps,2.5GBps --latency 123us,234us \
    --trips "$loop=40" --noise node:1.25%,core:2.25%,burst:3.25% --causes --profile --links
unbroken '^changed: '
unbroken '^platform: '
fits "$name.stats.tib" --no-compute
fits "$name.stats.tib"
unbroken '^bursts: .*keeps the order$'
fits "$name.tib" --steady --profile
fits "$name.tib" "$name.tib" --start 0s,1ms
unbroken "^job 2 .*$name.tib$"
fits --lint "$name.tib"
unbroken 'can be replayed'
fits "$name.tib" --engine stock
fits "$name.tib" --against real.json
fits "$name.tib" --runs 7 --noise 30%
unbroken '^interval: '
fits "$name.tib" --tolerance latency=1%,200% --tolerance speed=1e-4%
fits "$name.tib" --sweep speed=1Gf,2Gf --sweep "latency=1us|10us|100us" -o "a-folder-$name-$name" --noise 1% --runs 2
unbroken '^points: '
unbroken '^results: '
finish
