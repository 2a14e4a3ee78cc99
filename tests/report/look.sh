#!/bin/bash
# Make reports as users do, and look at them in headless Chromium: of a program with its replays and
# sweep, of 1,024 ranks, of 10 million events, of a run that failed, and of hostile inputs; and at
# pictures over time.  `make check-report` builds
# first.  Pictures are left in $TI_BUILD/report-pictures: look at them.

top=$PWD
# shellcheck source=tests/cli/acquire-lib.bash
tool=ti-report . tests/cli/acquire-lib.bash
set -euo pipefail
command -v chromium >/dev/null || skip 'there is no chromium'
export PATH=$o:$o/tests:$PATH

ti-acquire -q --np 16 -c cputime --mem-per-rank 10M -o lu.tib "$o/examples/lu" W 5 >../out
replay=(ti-replay -q lu.tib --topology 'fat-tree:2;4,4;1,4;1,1' --speed 8Gf --bandwidth 12.5GBps --latency 1us)
"${replay[@]}" --profile --causes --links --timeline lu.csv --json >fast.json
ti-replay -q lu.tib --topology torus:4,4 --speed 8Gf --profile --causes --links --json >slow.json
"${replay[@]}" --tolerance latency=1%,5% --json >tolerance.json
"${replay[@]}" --sweep latency='1us|10us|50us' --sweep speed=4Gf,8Gf --sweep placement=random:1..3 -o study >../out
ti-skew -q --np 2 -r 2 -c cputime --json "$o/examples/lu" S 2 >skew.json
ti-acquire -q --np 16 -c cputime --mem-per-rank 10M --merge root -o longer.tib "$o/examples/lu" W 8 >../out
ti-acquire -q --np 4 -c cputime --mem-per-rank 10M --merge root -o few.tib "$o/examples/lu" W 5 >../out
ti-info -q --merge lu.tib -o lu.m
ti-replay -q lu.m --versus longer.tib --speed 8Gf --json >versus.json
ti-replay -q few.tib lu.m --scaling --speed 8Gf --json >scaling.json
ti-info --compare longer.tib lu.m --json >changes.json || [ $? -eq 1 ]
compared=(--comparison versus.json --comparison scaling.json --comparison changes.json)
ti-report -q lu.tib "${compared[@]}" --replay fast.json --replay slow.json --replay tolerance.json --study study \
    --timeline lu.csv --skew skew.json -o lu.html

"${replay[@]}" --links=60 --json >slices.json
ti-report -q lu.tib --replay slices.json --frames film

mktrace --np 1024 --iterations 2 --lean many.run
ti-gather -q many.run -o many.tib
ti-replay -q many.tib --topology 'fat-tree:2;32,32;1,32;1,1' --speed 8Gf --profile --causes --links --json >many.json
ti-report -q many.tib --replay many.json -o many.html
ti-replay -q many.tib --topology 'fat-tree:2;32,32;1,32;1,1' --speed 8Gf --links=4 --json >many-slices.json
ti-report -q many.tib --replay many-slices.json --frames many-film

# 10 million events at 1,024 ranks, none with the volume of another.  Their timeline, of 1.4 GB, goes
# through a pipe.
mktrace --np 1024 --iterations 2000 --lean --noise 500 --times big.run
ti-gather -q big.run -o big.tib
mkfifo big.csv
ti-info -q --timeline big.csv big.tib >../out &
ti-report -q big.tib --timeline big.csv -o big.html
wait $!

# Ended before it was through: the traces are cut off, and cannot be replayed.
ti-acquire -q --np 4 -c cputime --mem-per-rank 10M --timeout 5 --trace-dir cut.run -o cut.tib \
    "$o/examples/lu" B 100000 >../out 2>&1 || true
ti-replay -q cut.run --json >cut.json 2>../err || true
ti-report -q cut.run --replay cut.json -o cut.html

evil='</script><script>hacked=1</script><img src=x onerror=hacked=1>'
cp lu.tib evil.tib
cp slow.json evil.json
json -w evil.tib "application=\"$evil\"" "command=\"$evil\"" "plan.mode=\"$evil\"" "nodes.0.name=\"$evil\""
json -w evil.json "platform=\"$evil\"" "profile.sites.*.function=\"$evil\"" "profile.sites.*.file=\"$evil\"" \
    "causes.helps.*.what=\"$evil\"" "links.*.link=\"$evil\"" 'profile.ranks.0.waiting_s="x"'
cat >evil.svg <<END
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="hacked=1"><script>hacked=1</script>
<g onclick="hacked=1"><path d="M0 0L1 1"/><rect width="1" height="1" fill="red"><title>$(
    printf '%s' "$evil" | sed 's/&/\&amp;/g; s/</\&lt;/g')</title></rect></g></svg>
END
ti-report -q evil.tib --replay evil.json --platform evil.svg -o evil.html

rm -rf "$o/report-pictures"
python3 -B "$top/tests/report/look.py" "$o/report-pictures" lu.html many.html big.html cut.html evil.html \
    film/frame-00{01,20}.svg many-film/frame-0001.svg
echo "pictures: $o/report-pictures"
