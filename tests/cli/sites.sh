#!/bin/bash
# ti-acquire --check-sites: what the sites files that are shipped have, compared with the
# data they were made from, and what is said of others, where.
set -u
o=${TI_BUILD:-build}
case $o in /*) ;; *) o=$PWD/$o ;; esac
[ -x "$o/ti-acquire" ] || { echo "ti-acquire was not built"; exit 77; }
unset "${!SLURM_@}" "${!OAR_@}" "${!PBS_@}" "${!LSB_@}"
top=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# run STATUS ARGUMENT...
run() {
    local want=$1 rc
    shift
    "$o/ti-acquire" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    rc=$?
    [ $rc -eq "$want" ] || { fail "status $rc, not $want: $*"; cat "$tmp/out" "$tmp/err"; }
}
says() { grep -qF -- "$2" "$tmp/$1" || { fail "$1 does not say: $2"; cat "$tmp/$1"; }; }

# The shipped ones: number of sites, clusters, nodes, cores, bytes of memory as in the
# Grid'5000 data of June 2013 and March 2026, added up independently.
while read -r name sites clusters nodes cores bytes; do
    run 0 --check-sites --json --sites "$top/hostfiles/$name.conf"
    [ -s "$tmp/err" ] && { fail "$name.conf has findings"; cat "$tmp/err"; }
    found=$(sed -n 's/^ "\(nsites\|nclusters\|nnodes\|cores\|memory_bytes\)": \([0-9]*\),$/\2/p' \
        "$tmp/out" | tr '\n' ' ')
    [ "$found" = "$sites $clusters $nodes $cores $bytes " ] ||
        fail "$name.conf: $found, not $sites $clusters $nodes $cores $bytes"
done <<'END'
g5k 10 24 1169 8080 17949049085952
g5k-778 9 18 778 6504 16296354869248
g5k-2026 11 158 939 31190 236577536081920
laptop 1 2 2 12 51539607552
END
run 0 --check-sites --sites hostfiles/g5k.conf
says out 'in total 10 sites, 24 clusters, 1,169 nodes, 8,080 cores, 16.3 TiB'
says out '            griffon        92      8   15.7 GiB  2.494G  x86_64   x86-64     Intel Xeon L5420'
run 0 --check-sites --json --sites hostfiles/g5k.conf
says out '"nodes": "graphene-[1-144].nancy.grid5000.fr"'
says out '"gateway": "access.grid5000.fr"'
run 0 --check-sites --sites hostfiles/g5k-2026.conf
says out 'family: x86_64, ppc64le, aarch64'
# Each shipped file is a known one.
for f in hostfiles/*.conf; do
    case $f in */g5k.conf | */g5k-778.conf | */g5k-2026.conf | */laptop.conf) ;; *) fail "$f is not tested" ;; esac
done

cd "$tmp" || exit 1
# All findings at once, the first as the error; the order is the file's.
cat >bad.conf <<'END'
[site lyon]
[site nancy]
gatewy = access.nancy
[cluster graphene]
site = nancy
nodes = graphene-[1-144
[cluster griffon]
site = nanci
nodes = griffon-[1-3], griffon-2
memory = 16 GO
END
run 3 --check-sites --sites bad.conf
cat >expected <<'END'
ti-acquire: bad.conf:1:1: warning: no cluster is at site 'lyon'
ti-acquire: bad.conf:6:18: a '[' is not closed
ti-acquire: bad.conf:8:8: there is no [site nanci], did you mean 'nancy'?
ti-acquire: bad.conf:10:10: memory must be a size such as 512M or 16GiB, not '16 GO'
ti-acquire: bad.conf:3:1: unknown key 'gatewy', did you mean 'gateway'?
END
diff expected err || fail "findings"
[ -s out ] && fail "a table of a file with errors"
run 3 --check-sites --json --sites bad.conf
says out '"error": "bad.conf:3:1: unknown key '"'gatewy', did you mean 'gateway'?"
says out '"status": 3'
says out "\"bad.conf:6:18: a '[' is not closed\""

# Keys for replays are checked as the others.
cat >wan.conf <<'END'
[defaults]
bandwidth = 10Gb
[site a]
wan_bandwidth = 1GBps
wan_latency = 5
wan_speed = 1GBps
[cluster c]
wan_latency = 5ms
latency = 1us
lat = 1us
nodes = n[1-3]
END
run 3 --check-sites --sites wan.conf
cat >expected <<'END'
ti-acquire: wan.conf:5:15: wan_latency: '5' is not a time such as 50us
ti-acquire: wan.conf:6:1: unknown key 'wan_speed'
ti-acquire: wan.conf:8:1: 'wan_latency' is a key of [site NAME], not of [cluster NAME]
ti-acquire: wan.conf:10:1: unknown key 'lat', did you mean 'latency'?
ti-acquire: wan.conf:2:13: bandwidth: '10Gb' is not a bandwidth such as 125MBps or 10Gbps
END
diff expected err || fail "findings on keys for replays"

# Warnings leave it usable.
printf '[site a]\n[site b]\n[cluster c]\nsite = b\nnodes = n[1-3]\n' >warn.conf
run 0 --check-sites --sites warn.conf
says err "ti-acquire: warn.conf:1:1: warning: no cluster is at site 'a'"
says out 'in total 2 sites, 1 cluster, 3 nodes, ? cores, ? GiB'

# From elsewhere, and not at all.
printf 'n1 slots=4\nn2 slots=2\n' >hosts
run 0 --check-sites --hostfile hosts
says out 'in total 1 site, 1 cluster, 2 nodes'
says out '6 slots'
run 3 --check-sites --hostfile /dev/null
says err '/dev/null:1:1: there is no node in it'
run 3 --check-sites --sites hosts
says err "hosts:1:1: 'n1 slots' stands before any section"
says err 'hint: a sites file has sections such as [cluster NAME], see tiara-sites(5); --hostfile takes'
run 4 --check-sites --sites nowhere.conf
says err "cannot open 'nowhere.conf': No such file or directory"
run 2 --check-sites
says err 'there is this machine alone'
run 2 --check-sites --sites warn.conf --hostfile hosts
says err '--sites and --hostfile exclude each other'
SLURM_JOB_ID=5 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_CPUS_PER_NODE='4(x2)' run 0 --check-sites
says out 'in total 1 site, 1 cluster, 2 nodes, 8 cores'
SLURM_JOB_ID=5 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_CPUS_PER_NODE='4(x' run 3 --check-sites
says err 'SLURM_JOB_CPUS_PER_NODE is malformed'

# Text of a file commands no terminal: no escape, nor U+009B.
printf '[site a]\ngateway = g\n[cluster c]\nnodes = n[1-2]\ncores = 4\ncpu = AMD \033[31mred \302\2331m\n' >escape.conf
run 0 --check-sites --sites escape.conf
says out 'AMD ?[31mred ??1m'

# 100,000 nodes, named one by one, on a line of 1 MB.
{ printf '[cluster c]\ncores = 1\nnodes = '; seq -s, -f 'n%.0fx' 100000; } >large.conf
run 0 --check-sites --sites large.conf
says out '100,000 nodes, 100,000 cores'

# The example of tiara-sites(5) is read without a finding.
sed -n '/^# two sites/,/^\.Ed/p' "$top/man/tiara-sites.5" | sed '/^\.Ed/d; s/\\e/\\/g' >page.conf
run 0 --check-sites --sites page.conf
[ -s err ] && { fail "the example of tiara-sites(5)"; cat err; }
says out 'in total 2 sites, 3 clusters'
run 0 --check-sites --json --sites page.conf
says out '"wan_latency": "8ms"'
says out '"wan_bandwidth": "10Gbps"'
says out '"latency": "1.5us"'
says out '"bandwidth": "100Gbps"'

# Power and disk, for replays; the defaults are those of clusters without a value of their own.
printf '%s\n' '[defaults]' 'watts = 90,180' '[cluster c]' 'nodes = n1' 'cores = 4' \
    'disk = 8Gbps,1ms,shared' '[cluster d]' 'nodes = n2' 'cores = 4' 'watts = 100W,250W' >power.conf
run 0 --check-sites --json --sites power.conf
python3 - <<'END_PY' || fail 'watts and disk'
import json
c, d = json.load(open("out"))["sites"][0]["clusters"]
assert c["watts"] == {"idle": 90, "full": 180} and d["watts"] == {"idle": 100, "full": 250}, (c, d)
assert c["disk"] == {"bandwidth_bytes_per_s": 1e9, "latency_s": 0.001, "shared": True}, c
assert d["disk"] is None, d
END_PY
printf '%s\n' '[cluster c]' 'nodes = n1' 'cores = 4' 'watts = 200,100' 'disk = 5GB,1ms' \
    'power = 3' >power.conf
run 3 --check-sites --sites power.conf
says err "power.conf:4:9: watts: a host takes less power with all cores busy (100 W) than idle (200 W)"
says err "power.conf:5:8: disk: '5GB' is not a bandwidth such as 125MBps or 10Gbps"
says err "power.conf:6:1: unknown key 'power', did you mean 'watts'?"
[ $failed -eq 0 ] && echo "ok"
exit $failed
