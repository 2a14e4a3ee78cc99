#!/bin/bash
# Platforms that ti-replay makes: SimGrid takes them, and messages take as long on them as they
# must by their links.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
trace "$tmp/ring" 2 cputime "$o/examples/ring" 1 1000000 >/dev/null || fail ring
trace "$tmp/grid" 16 cputime "$o/examples/stencil" 8000 3 >/dev/null || fail stencil

# A network without corrections, and hosts whose bursts take no time: a message of 1 MB takes the
# latencies of its links, and 1 MB / the bandwidth of the narrowest.
exact=(--cfg network/model:CM02 --cfg smpi/bw-factor:0:1 --cfg smpi/lat-factor:0:1
       --cfg network/TCP-gamma:0 --cfg network/crosstraffic:0)
fast=(--speed 1000000Ef)
replay() { "$o/ti-replay" "$@" >"$tmp/out" 2>"$tmp/err" || { fail "$*"; cat "$tmp/err"; }; }
time_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# ring A B MILLISECONDS OPTION...: the message goes from host A to B and back.
ring() {
    local a=$1 b=$2 expected=$3
    shift 3
    if [ "$a" = "$b" ]; then echo "$a:2"; else printf '%s\n' "$a" "$b"; fi >"$tmp/hosts"
    replay "$tmp/ring" --hostfile "$tmp/hosts" "${exact[@]}" "$@"
    awk -v t="$(time_of)" -v e="$expected" \
        'BEGIN { d = t - 2 * e / 1000; exit !(t && d * d < 1e-11) }' ||
        fail "$a to $b: $(time_of) s there and back, not 2 x $expected ms: $*"
}

ring node-0 node-1 10 --hosts 2 --bandwidth 125MBps --latency 1ms "${fast[@]}"
tree=(--topology 'fat-tree:2;4,4;1,2;1,2' --latency 1ms "${fast[@]}")
ring node-0 node-1 3 "${tree[@]}" --bandwidth 1GBps
ring node-0 node-15 5 "${tree[@]}" --bandwidth 1GBps
# the upper level has a tenth of the bandwidth and three times the latency
tree+=(--bandwidth '1GBps,100MBps' --latency '1ms,3ms')
ring node-0 node-1 3 "${tree[@]}"
ring node-0 node-15 18 "${tree[@]}"
ring node-0 node-1 3 "${tree[@]}" --topology 'fat-tree:2;4,4;1,1;1,1'
ring node-0 node-15 18 "${tree[@]}" --topology 'fat-tree:2;4,4;1,1;1,1'
# four links by the shortest way, which is two in each dimension, or the ring's other side
ring node-0 node-10 5 --topology torus:4,4 --bandwidth 1GBps --latency 1ms "${fast[@]}"
ring node-0 node-3 2 --topology torus:4,4 --bandwidth 1GBps --latency 1ms "${fast[@]}"
ring node-0 node-31 6 --topology torus:2,2,2,2,2 --bandwidth 1GBps --latency 1ms "${fast[@]}"
ring node-0 node-119 7 --topology 'dragonfly:3,4;4,3;5,1;2' --bandwidth 1GBps --latency 1ms \
    "${fast[@]}"

# Of 3 supergroups of 2 groups of 2 nodes: the link between supergroups a and b is at node b of a
# and node a of b.
direct=(--topology 'hierarchical:2,2,3' --bandwidth '1GBps,500MBps,100MBps'
        --latency '1ms,10ms,100ms' "${fast[@]}")
ring node-0 node-1 2 "${direct[@]}"
ring node-0 node-2 12 "${direct[@]}"
ring node-1 node-4 110 "${direct[@]}"   # the very nodes with the link
ring node-0 node-4 111 "${direct[@]}"   # a hop in the group before it
ring node-0 node-5 112 "${direct[@]}"   # and one behind it
ring node-0 node-11 130 "${direct[@]}"  # both between groups

cat >"$tmp/two.conf" <<'END_CONF'
[defaults]
speed = 1000000000000000000
[site lab]
domain = lab.org
wan_bandwidth = 50MBps
wan_latency = 5ms
[site other]
[cluster a]
site = lab
nodes = a[01-02]
bandwidth = 1GBps
latency = 1ms
[cluster b]
site = other
nodes = b1, b2
END_CONF
sites=(--sites "$tmp/two.conf" --latency 2ms --wan '1GBps,7ms')
ring a01.lab.org a02.lab.org 3 "${sites[@]}"
ring b1 b2 12 "${sites[@]}"
ring a02.lab.org b2 35 "${sites[@]}"
sed -i '/^wan_/d' "$tmp/two.conf"
ring a02.lab.org b2 25 "${sites[@]}"

# ranks of one host, on every kind of platform
loop=(--loopback '500MBps,3ms')
ring b1 b1 5 "${sites[@]}" "${loop[@]}"
ring b1 b1 2.023032 "${sites[@]}"
for t in cluster torus:4,4 'fat-tree:2;4,4;1,2;1,1' 'dragonfly:2,1;2,1;2,1;2' hierarchical:2,2,2; do
    ring node-1 node-1 5 --topology "$t" "${fast[@]}" "${loop[@]}"
    ring node-1 node-1 2.023032 --topology "$t" "${fast[@]}" # 498MBps, 15us
done
for t in 'fat-tree:2;4,4;1,2;1,1' 'fat-tree:2;4,4;1,1;1,1'; do
    ring node-1 node-1 5 --topology "$t" "${fast[@]}" "${loop[@]}" --bandwidth 1GBps,2GBps
done

# grid OPTION...: the simulated time of 16 ranks that send to their neighbors, in `t`.  Messages
# contend, so the time depends on the order in which they begin.  Volumes are of CPU time and differ
# from run to run; without --no-compute they would decide that order.
grid() {
    replay "$tmp/grid" --no-compute --latency 1us "$@"
    t=$(time_of)
}
# less A B WORDS: the time A is less than B, or WORDS failed
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a < b) }' || fail "$3: $1 s, $2 s"; }
# Messages take the same ways on our own tree as on SimGrid's: levels that are as good as equal,
# equal times.  With fewer up links, or slower ones, it takes longer.
two='fat-tree:2;4,4;1,2;1,2' one='fat-tree:2;4,4;1,1;1,1'
for seed in 1 2 3; do
    grid --topology "$two" --bandwidth 100MBps --placement random:$seed
    own=$t
    grid --topology "$two" --bandwidth 100MBps,100.00000001MBps --placement random:$seed
    awk -v a="$own" -v b="$t" 'BEGIN { d = a / b - 1; exit !(a > 0 && d * d < 1e-18) }' ||
        fail "$own s on SimGrid's tree, $t s on ours, ranks as by random:$seed"
done
grid --topology "$two" --bandwidth 100MBps
all=$t
grid --topology "$two" --bandwidth 100MBps,20MBps
less "$all" "$t" 'slower upper links are not slower'
grid --topology "$one" --bandwidth 100MBps
less "$all" "$t" 'fewer upper links are not slower'
narrow=$t
grid --topology "$one" --bandwidth 100MBps,400MBps
less "$t" "$narrow" 'links that grow to the top are not faster'

# Ranks at two sites: a slower wide-area network is slower.
cat >"$tmp/xy.conf" <<'END_CONF'
[site x]
[site y]
[cluster x]
site = x
nodes = x[1-8]
[cluster y]
site = y
nodes = y[1-8]
END_CONF
grid --sites "$tmp/xy.conf" --wan 1Gbps,1ms
wan=$t
grid --sites "$tmp/xy.conf" --wan 1Gbps,4ms
less "$wan" "$t" 'a longer way is not slower'
grid --sites "$tmp/xy.conf" --wan 100Mbps,1ms
less "$wan" "$t" 'less bandwidth is not slower'
# the platform of the paper's testbed, with its first nodes
grid --sites hostfiles/g5k.conf
grep -q 'hostfiles/g5k.conf of 1169 hosts at 10 sites' "$tmp/out" || { fail g5k; cat "$tmp/out"; }

# --show-platform says what it is, with and without a trace, and draws it
show() {
    local file=$1
    shift
    replay "--show-platform$file" "$@"
}
says() { grep -qE -- "$1" "$tmp/out" || { fail "does not say: $1"; cat "$tmp/out"; }; }
show "=$tmp/tree.svg" --topology "$two" --bandwidth 10GBps,2.5GBps
says '^hosts: +16, of 1 core, 1 Gf$'
says '^ +level 1 to level 2 +16 +2.5 GB/s +50 us$'
says '^bisection: +20 GB/s in each direction$'
python3 - "$tmp/tree.svg" <<'END_PY' || fail 'the SVG is not what it should be'
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
titles = [t.text for t in root.iter(svg + "title")]
assert sum(t.startswith("node-") for t in titles) == 16, titles
assert len(titles) == 22
assert len(list(root.iter(svg + "path"))) == 32 + 2  # links, and the legend
END_PY
show "=$tmp/a&b.svg" --sites "$tmp/xy.conf"
says 'x +x +8 +1 +1 Gf'
python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$tmp/a&b.svg" || fail 'no XML'
show "=$tmp/torus.dot" --topology torus:3,3
[ "$(grep -c ' -- ' "$tmp/torus.dot")" = 18 ] || fail 'the graph of a torus'
replay --show-platform "$tmp/grid"
says '^hosts: +16,'
show '' --topology hierarchical:8,4,512 --json
python3 - "$tmp/out" <<'END_PY' || fail 'not the JSON it should be'
import json, sys
j = json.load(open(sys.argv[1]))
assert (j["hosts"], j["diameter_links"]) == (16384, 3), j
assert [l["count"] for l in j["links"]] == [57344, 196608, 130816], j
END_PY

cat >"$tmp/given.xml" <<'END_XML'
<platform version="4.1"><zone id="z" routing="Full"><host id="h1" speed="1Gf" core="4"/>
<cluster id="c" prefix="c-" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"/></zone></platform>
END_XML
replay --show-platform --platform "$tmp/given.xml"
says '^hosts: +9, of 1 to 4 cores, h1 to c-7$'

# what cannot be
refuses() {
    local says=$1
    shift
    "$o/ti-replay" "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] || fail "status: $*"
    grep -qF -- "$says" "$tmp/err" || { fail "does not say: $says"; cat "$tmp/err"; }
}
refuses 'the number of hosts of a cluster is not known' --show-platform
refuses 'not named *.svg' --show-platform=a.png --hosts 4
refuses 'write --show-platform=a.svg' --show-platform a.svg --hosts 4
refuses 'draws only generated platforms' --show-platform=a.svg --platform x.xml
refuses '--wan connects the sites of --sites' --wan 1Gbps,1ms --show-platform --hosts 4
refuses '--sites names the hosts' --sites "$tmp/xy.conf" --hosts 4 "$tmp/grid"
refuses '2 values for the 3 levels' --topology hierarchical:2,2,2 --latency 1us,2us "$tmp/grid"
refuses 'not BANDWIDTH,LATENCY' --sites "$tmp/xy.conf" --wan 1Gbps "$tmp/grid"
refuses '6 groups, but 5 routers in a chassis' --topology 'dragonfly:6,4;4,3;5,1;2' "$tmp/grid"
finish
