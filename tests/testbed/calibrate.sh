#!/usr/bin/env bash
# ti-calibrate between nodes of two sites, whose latency and bandwidth are known, and the replay of
# a message between two such nodes.
. tests/testbed/lib.bash
need_acquire
[ -x "$o/ti-calibrate" ] || skip "$o/ti-calibrate was not built"
bed_up --sites 2 --nodes 1 --rate 400mbit --delay 2ms --share "$scratch"
cd "$scratch" || exit 1
front "$o/ti-calibrate" --sites "$state/sites.conf" --repeats 3 --largest 256K --no-progress \
    -o wan.conf >table 2>err || { fail "ti-calibrate: $(tail -n 5 err)"; finish; }
grep -q '^within *= *"\?cluster' wan.conf || fail "not between nodes: $(grep within wan.conf)"

# One way is over the links of two sites; 400 Mbit/s are 50 MB/s, which TCP does not reach within one
# message.
awk -F= '$1 ~ /^latency *$/ { seen = $2 > 0.004 && $2 < 0.006 } END { exit !seen }' wan.conf ||
    fail "latency: $(grep '^latency' wan.conf)"
awk -F= '$1 ~ /^bandwidth *$/ { v = $2; gsub(/[ "]/, "", v); f = v ~ /M/ ? 1e6 : v ~ /k/ ? 1e3 : v ~ /G/ ? 1e9 : 1
          seen = v * f > 2e6 && v * f < 60e6 } END { exit !seen }' wan.conf ||
    fail "bandwidth: $(grep '^bandwidth' wan.conf)"
# The cores of both nodes were timed.
sed -n '/^\[noise\]/,$p' wan.conf >noise
grep -q '^nodes = 2$' noise && grep -q '^node = ' noise || fail "noise: $(cat noise)"
cat table

# The replay of a message and its answer takes as long as they were measured.
if command -v smpirun >/dev/null; then
    for size in 1 100000; do
        printf '0 init\n0 send 1 0 %d 2\n0 recv 1 0 %d 2\n0 finalize\n' $size $size >a0
        printf '1 init\n1 recv 0 0 %d 2\n1 send 0 0 %d 2\n1 finalize\n' $size $size >a1
        printf 'a0\na1\n' >list
        rm -rf ring
        "$o/ti-convert" -q --from simgrid list -o ring || fail "ti-convert"
        "$o/ti-replay" -q --no-progress ring --calibration wan.conf >out 2>err || fail "ti-replay: $(cat err)"
        awk -v size=$size '{ seen = size == 1 ? $3 > 0.008 && $3 < 0.012 : $3 > 0.010 && $3 < 0.1 } END { exit !seen }' out ||
            fail "a round trip of $size bytes: $(cat out)"
    done
fi
finish
