#!/bin/bash
# Where ti-replay puts ranks: by site, by a file, several on a host; and that the result says so.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
trace "$tmp/r" 4 cputime "$o/examples/stencil" 16 2 >/dev/null || fail stencil
replay() { "$o/ti-replay" "$tmp/r" "$@" >"$tmp/out" 2>"$tmp/err"; }

# placed EXPECTED OPTION...: EXPECTED is "HOST RANGES; HOST RANGES...", as the JSON has them.
placed() {
    local expected=$1
    shift
    replay --json "$@" || { fail "$*"; cat "$tmp/err"; }
    python3 - "$tmp/out" "$expected" <<'END_PY' || fail "placed by $*"
import json, sys
j = json.load(open(sys.argv[1]))
found = "; ".join("%s %s" % (h["host"], " ".join("%d-%d" % tuple(r) for r in h["ranks"]))
                  for h in j["rank_hosts"])
if found != sys.argv[2]:
    sys.exit("found %s\nnot   %s" % (found, sys.argv[2]))
END_PY
}
# refuses STATUS TEXT OPTION...
refuses() {
    local status=$1 says=$2
    shift 2
    replay "$@"
    [ $? -eq "$status" ] || fail "status: $*"
    grep -qF -- "$says" "$tmp/err" || { fail "does not say: $says"; cat "$tmp/err"; }
}

placed 'node-0 0-0; node-1 1-1; node-2 2-2; node-3 3-3'
placed 'node-0 0-1; node-1 2-3' --ranks-per-host 2
placed 'node-0 0-0 2-2; node-1 1-1 3-3' --ranks-per-host 2 --placement round-robin
refuses 3 '2 hosts in the platform for 4 ranks' --hosts 2
refuses 3 '3 slots on the hosts' --hosts 1 --ranks-per-host 3
printf 'node-1:4\n' >"$tmp/hosts"
refuses 2 'cannot be given with --hostfile' --hostfile "$tmp/hosts" --ranks-per-host 2

# the hosts smpirun is given are those, and can be given again
printf 'node-2\nnode-1:2 # two in a row\nnode-2\n' >"$tmp/ranks"
placed 'node-2 0-0 3-3; node-1 1-2' --placement "file:$tmp/ranks" --keep "$tmp/kept"
printf 'node-2\nnode-1\nnode-1\nnode-2\n' >"$tmp/expected"
same "$tmp/expected" "$tmp/kept/hostfile" 'the hostfile of smpirun'
placed 'node-2 0-0 3-3; node-1 1-2' --placement "file:$tmp/kept/hostfile" --hosts 4 --ranks-per-host 2
refuses 3 "ranks:2: one rank too many on 'node-1'" --placement "file:$tmp/ranks" --ranks-per-host 1
printf 'node-1:4\nnode-2:1\n' >"$tmp/hosts"
refuses 3 "ranks:3: one rank too many on 'node-2', which has 1 slot" \
    --placement "file:$tmp/ranks" --hostfile "$tmp/hosts"
printf 'node-2\nnode-9:3\n' >"$tmp/ranks"
refuses 3 "ranks:2: the platform has no host 'node-9'" --placement "file:$tmp/ranks"

cat >"$tmp/xy.conf" <<'END_CONF'
[site x]
[site y]
[cluster x]
site = x
nodes = x[1-4]
[cluster y]
site = y
nodes = y[1-4]
END_CONF
placed 'x1 0-0; x2 1-1; x3 2-2; x4 3-3' --sites "$tmp/xy.conf"
# one number of ranks for hosts with different cores
printf '[site x]\n[cluster x]\nsite = x\nnodes = x[1-4]\ncores = 2\n[cluster z]\nsite = x\nnodes = z[1-4]\ncores = 8\n' >"$tmp/xz.conf"
placed 'x1 0-2; x2 3-3' --sites "$tmp/xz.conf" --ranks-per-host 3
grep -qF "3 ranks share the 2 cores of 'x1', since --ranks-per-host 3 is for all hosts; lines NAME:SLOTS" "$tmp/err" ||
    { fail 'no warning of cores that ranks share'; cat "$tmp/err"; }
placed 'x1 0-1; x2 2-3' --sites "$tmp/xz.conf" --ranks-per-host 2
! grep -q ' share the ' "$tmp/err" || { fail 'a warning without a reason'; cat "$tmp/err"; }
printf 'x1:2\nz1:8\n' >"$tmp/hosts"
placed 'x1 0-1; z1 2-3' --sites "$tmp/xz.conf" --hostfile "$tmp/hosts"
! grep -q ' share the ' "$tmp/err" || { fail 'a warning of what a hostfile says'; cat "$tmp/err"; }
placed 'x1 0-0; x2 1-1; y1 2-2; y2 3-3' --sites "$tmp/xy.conf" --placement by-site
printf 'y4:2\nx1\nx2\n' >"$tmp/hosts"
placed 'y4 2-3; x1 0-0; x2 1-1' --sites "$tmp/xy.conf" --placement by-site --hostfile "$tmp/hosts"
refuses 2 'by-site is for the sites of --sites' --placement by-site
finish
