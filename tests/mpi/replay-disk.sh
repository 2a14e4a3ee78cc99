#!/bin/bash
# Disks in a replay: accesses take what latency, bytes and bandwidth say, alone and at the same
# time; and without a disk, files take no time.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
mkdir "$tmp/files"
for np in 1 8; do
    for how in write own three read short all iall split iwrite first nothing; do
        trace "$tmp/$how-$np" $np cputime "$o/tests/mpi/disk" $how 1000000 "$tmp/files" \
            >"$tmp/log" 2>&1 || { fail "disk $how"; cat "$tmp/log"; }
    done
done
cd "$tmp" || exit 1

# A network and, but for --speed, bursts that take no time: what remains is the disk's.
# shellcheck disable=SC2054  # the commas are the option's
net=(--latency 0s --bandwidth 1000TBps --loopback 1000TBps,0s --cfg network/model:CM02
     --cfg smpi/bw-factor:0:1 --cfg smpi/lat-factor:0:1 --cfg network/TCP-gamma:0)
replay() { "$o/ti-replay" "$@" "${net[@]}" --json >out 2>err || { fail "$*"; cat out err; }; }
clock() { python3 -c 'import json; print("%.12f" % json.load(open("out"))["clock_s"])'; }
near() { # WORDS FOUND EXPECTED, in seconds, within a nanosecond
    awk -v t="$2" -v e="$3" 'BEGIN { d = t - e; exit !(d * d < 1e-18) }' ||
        fail "$1: $2 s, not $3 s"
}
# takes SECONDS HOW-NP OPTION...
takes() {
    local expected=$1
    shift
    replay "$1" --no-compute "${@:2}"
    near "$*" "$(clock)" "$expected"
}

# A disk of 100 MB/s and 1 ms: a megabyte takes 1 ms + 10 ms.  Ranks that share one take 1 ms, and
# 10 ms each.
# shellcheck disable=SC2054
own=(--disk 100MBps,1ms) shared=(--disk 100MBps,1ms,shared)
for how in write own all iall split short; do
    takes 0 $how-8
    takes 0.011 $how-1 "${own[@]}"
    takes 0.011 $how-1 "${shared[@]}"
    takes 0.011 $how-8 "${own[@]}"
    takes 0.081 $how-8 "${shared[@]}"
    takes 0.041 $how-8 "${own[@]}" --ranks-per-host 4  # ranks of a host share its disk
done
takes 0.033 three-1 "${shared[@]}"
takes 0.243 three-8 "${shared[@]}"
takes 0.022 read-8 "${own[@]}"     # a write, then a read
takes 0.162 read-8 "${shared[@]}"
takes 0.021 iwrite-8 "${own[@]}"   # two at once share the bandwidth, too
takes 0.161 iwrite-8 "${shared[@]}"
takes 0.011 first-8 "${shared[@]}" # a single rank has all of it
takes 0 nothing-8 "${own[@]}"      # no bytes; preallocate and sync
trace plain 2 cputime "$o/examples/ring" >log 2>&1 || { fail ring; cat log; }
replay plain --no-compute "${own[@]}"
grep -qF "warning: --disk has no effect: 'plain' has no MPI-IO" err || { fail 'no warning of a disk'; cat err; }
takes 0.0101 write-8 --disk 800Mbps,100us
! grep -q 'no effect' err || { fail 'a warning of a disk that is used'; cat err; }
takes 0.000100001 write-8 --disk 1000TBps,100us

# networks that are written host by host, and the sites of a file
takes 0.081 write-8 "${shared[@]}" --topology hierarchical:2,2,2
takes 0.011 write-8 "${own[@]}" --topology hierarchical:2,2,2
takes 0.081 write-8 "${shared[@]}" --topology torus:2,2,2
cat >two.conf <<'END_CONF'
[site s]
wan_latency = 0s
[cluster fast]
site = s
nodes = a[1-4]
latency = 0s
bandwidth = 1000TBps
disk = 200MBps,1ms,shared
[cluster slow]
site = s
nodes = b[1-4]
latency = 0s
bandwidth = 1000TBps
disk = 100MBps,2ms
END_CONF
sites() { # SECONDS OPTION...: only one rank of each host
    "$o/ti-replay" own-8 --no-compute --sites "${@:2}" "${net[@]:4}" --json >out 2>err ||
        { fail "$*"; cat err; }
    near "$*" "$(clock)" "$1"
}
sites 0.021 two.conf              # 1 ms + 4 x 5 ms on the shared disk, 2 ms + 10 ms on the others
sed 's/,shared//' two.conf >each.conf
sites 0.012 each.conf             # 1 ms + 5 ms, 2 ms + 10 ms
sed '/^disk = 100/d' two.conf >half.conf
sites 0.0215 half.conf --disk 200MBps,1.5ms,shared # the default for the others; they share it
refused() { # STATUS TEXT OPTION...
    "$o/ti-replay" "${@:3}" >out 2>err
    local st=$?
    { [ $st -eq "$1" ] && grep -qF -- "$2" err; } || { fail "$st, not $1, '$2': ${*:3}"; cat err; }
}
refused 3 "half.conf:9: cluster 'slow' has no disk, but cluster 'fast' has" own-8 --sites half.conf
grep -q '^hint:.*--disk' err || { fail 'no hint'; cat err; }
sed 's/100MBps,2ms/100MB,2ms/' two.conf >bad.conf
refused 3 "bad.conf:14:" own-8 --sites bad.conf
grep -qF "disk: '100MB' is not a bandwidth" err || { fail 'a bad disk'; cat err; }
refused 3 "the disks of 'two.conf' need --engine tiara" own-8 --sites two.conf --engine stock
refused 2 '--disk needs --engine tiara' own-8 --disk 1GBps,1ms --engine stock
refused 2 '--platform describes the whole platform' own-8 --disk 1GBps,1ms --platform x.xml
refused 2 "--disk: '5' is not BANDWIDTH,LATENCY" own-8 --disk 5

# An access beside a burst ends when the longer one does, and a collective one when the last rank
# has ended its own.
for how in iwrite iall split; do
    replay $how-8 --speed 1000Gf && none=$(clock)
    replay $how-8 --speed 1000Gf "${own[@]}"
    alone=0.011
    [ $how != iwrite ] || alone=0.021
    awk -v t="$(clock)" -v n="$none" -v e=$alone \
        'BEGIN { exit !(t >= e && t < e + n + 1e-9) }' || fail "$how beside a burst: $(clock)"
done

# What is printed.
"$o/ti-replay" write-8 --no-compute "${own[@]}" "${net[@]}" >out 2>err || fail 'the text'
grep -qx 'disk:           100 MB/s, 1 ms, in each host' out || { fail 'disk:'; cat out; }
replay write-8 --no-compute "${shared[@]}"
python3 -c 'import json; j = json.load(open("out")); assert j["disk"] == {
    "bandwidth_bytes_per_s": 1e8, "latency_s": 0.001, "shared": True} and "watts" not in j, j' ||
    fail 'disk in JSON'

# A sweep, and what a platform says of itself.
"$o/ti-replay" all-8 --no-compute "${net[@]}" --sweep 'disk=100MBps,1ms|100MBps,1ms,shared' \
    -o swept >out 2>err || { fail 'a sweep'; cat err; }
python3 - <<'END_PY' || { fail 'a sweep'; cat swept/results.csv; }
import csv
rows = [(r["disk"], round(float(r["clock_s"]), 9)) for r in csv.DictReader(open("swept/results.csv"))]
assert rows == [("100MBps,1ms", .011), ("100MBps,1ms,shared", .081)], rows
END_PY
"$o/ti-replay" --show-platform --hosts 4 "${shared[@]}" | grep -qx 'disk:       100 MB/s, 1 ms, shared' ||
    fail 'a platform does not tell its disk'
"$o/ti-replay" --show-platform --sites two.conf | grep -qx 'disk:       slow, 100 MB/s, 2 ms a host' ||
    fail 'a platform of sites does not tell its disks'

# A profile has the time of the disk, by call.
replay write-8 --no-compute "${own[@]}" --profile
python3 - <<'END_PY' || fail 'a profile'
import json
ops = {o["operation"]: o for o in json.load(open("out"))["profile"]["operations"]}
assert abs(ops["file_write_at"]["communicating_s"] - 8 * .011) < 1e-8, ops
END_PY

# Traces of everything that files can do, with and without a disk; --steady leaves none of it out.
mkdir io
trace all 4 cputime "$o/tests/mpi/io" all io >log 2>&1 || { fail io; cat log; }
replay all --no-compute && none=$(clock)
replay all --no-compute "${own[@]}"
awk -v t="$(clock)" -v n="$none" 'BEGIN { exit !(t > n + 0.01) }' || fail "io: $none, $(clock) s"
"$o/ti-info" --merge all -o merged.ti >/dev/null 2>&1 || fail merge
replay all --no-compute "${own[@]}" && once=$(clock)
replay merged.ti --no-compute "${own[@]}" --steady
near 'io, --steady' "$(clock)" "$once"
finish
