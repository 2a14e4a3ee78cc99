#!/bin/bash
# A bed made from a sites file: nodes by the names there, with their memory, and links with the
# latency there; ti-acquire finds all by the sites file of the bed.
# tests/run: waits
. tests/testbed/lib.bash
need_acquire

cat >"$scratch/two.conf" <<'END'
[site nancy]
domain = nancy.grid5000.fr
gateway = access.grid5000.fr
wan_bandwidth = 1Gbps
wan_latency = 30ms

[cluster graphene]
site = nancy
nodes = graphene-[08-10], graphene-12
cores = 4
memory = 16GiB

[site lyon]
domain = lyon.grid5000.fr
wan_bandwidth = 1Gbps
wan_latency = 1ms

[cluster taurus]
site = lyon
nodes = taurus-1
cores = 12
memory = 32GiB

[cluster orion]
site = lyon
nodes = orion-1
cores = 12
memory = 8GiB
END
bed_up --from "$scratch/two.conf" --gateways
is() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
on() { "$bed" node "$@" 2>&1; }

is "nodes" "$("$bed" list | tr '\n' ' ')" \
    "gw.site1 gw.site2 n1.site1 n2.site1 n3.site1 n4.site1 n1.site2 n2.site2 "
is "host name" "$(on graphene-09.nancy.grid5000.fr hostname)" graphene-09.nancy.grid5000.fr
is "the same by the bed's name" "$(on n2.site1 hostname)" graphene-09.nancy.grid5000.fr
is "memory" "$(on n1.site2 awk '/^MemTotal/ { print $2 }' /proc/meminfo)" $((32 << 20))
is "memory of another cluster" "$(on orion-1.lyon.grid5000.fr awk '/^MemTotal/ { print $2 }' /proc/meminfo)" $((8 << 20))
is "no such node" "$("$bed" node graphene-11.nancy.grid5000.fr true 2>&1 | head -n 1)" \
    "bed: there is no node 'graphene-11.nancy.grid5000.fr'"

# Round trips between the front and a site are at least twice the latency of its link.
rtt() { front bash -c "s=\$(date +%s%N); : </dev/tcp/$1/22; e=\$(date +%s%N); echo \$(((e - s) / 1000000))"; }
far=$(rtt gw.site1)
[ "$far" -ge 60 ] || fail "a round trip to a site 30 ms away takes $far ms"

front "$o/ti-acquire" --sites "$state/sites.conf" --probe --json >"$scratch/out" 2>"$scratch/err" ||
    { fail "--probe"; cat "$scratch/err"; }
for n in graphene-12.nancy.grid5000.fr taurus-1.lyon.grid5000.fr orion-1.lyon.grid5000.fr; do
    grep -q "\"name\": \"$n\"" "$scratch/out" || fail "--probe does not tell of $n"
done
grep -q 'by gw.site1' "$scratch/err" || { fail "the gateway is not the bed's"; cat "$scratch/err"; }
"$bed" vanish graphene-10.nancy.grid5000.fr
is "left after one vanished" "$("$bed" node n3.site1 true 2>&1)" "bed: node n3.site1 is down"
"$bed" boot graphene-10.nancy.grid5000.fr
is "booted" "$(front ssh -J gw.site1 graphene-10.nancy.grid5000.fr hostname 2>&1)" graphene-10.nancy.grid5000.fr
is "left on nodes" "$("$bed" ps)" ""
finish
