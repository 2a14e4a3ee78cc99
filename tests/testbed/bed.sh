#!/bin/bash
# The bed itself is what README.md says: nodes that are private, can be reached
# as said, run Open MPI, can be hurt and healed, and leave nothing behind.
# tests/run: waits
. tests/testbed/lib.bash
command -v mpirun >/dev/null || skip "there is no mpirun"

on() { front ssh -o ConnectTimeout="${PATIENCE:-10}" "$@" 2>"$scratch/err"; }
is() { # is WHAT THIS THAT: and what ssh said last, if not
    [ "$2" = "$3" ] && return
    fail "$1: '$2', not '$3'"
    cat "$scratch/err"
}

bed_up --sites 2 --nodes 4 --memory 24GiB,48GiB --gateways --jump --disk 8MiB --cores 1

is "host name" "$(on n2.site1 hostname)" n2.site1
is "host name" "$(on n2.site2 hostname)" n2.site2
is "memory of site 1" "$(on n3.site1 awk "'/^MemTotal/ { print \$2 }'" /proc/meminfo)" $((24 << 20))
is "memory of site 2" "$(on n3.site2 awk "'/^MemTotal/ { print \$2 }'" /proc/meminfo)" $((48 << 20))
is "cores" "$(on n3.site2 nproc)" 1
is "disk" "$(on n1.site1 df --output=size -k /scratch | tail -n 1 | tr -d ' ')" 8192
on n1.site1 'touch /tmp/here ~/here /scratch/here /dev/shm/here' || fail "files on n1.site1"
is "files of another node" "$(on n1.site2 'ls /tmp/here ~/here /scratch/here /dev/shm/here 2>/dev/null')" ""
on n1.site1 "touch '$top/here'" && fail "the repository can be written to"
cmp -s "$top/HACKING.md" <(on n1.site1 cat "'$top/HACKING.md'") || fail "the repository is not visible"

# By the gateway, or not at all; MPI's connections by the shortest way.
front ssh -o ProxyJump=none n1.site1 true 2>/dev/null && fail "SSH past the gateway"
is "from its own site" "$("$bed" node n1.site1 ssh -o StrictHostKeyChecking=no n2.site1 true 2>&1 |
    grep -c 'Permission denied')" 1
is "from another site" "$("$bed" node n1.site1 ssh -o StrictHostKeyChecking=no n2.site2 true 2>&1 |
    grep -c 'No route')" 1

sed 's/$/ slots=8/' "$state/nodes" >"$scratch/hosts"
front "${plain_mpirun[@]}" --hostfile "$scratch/hosts" -np 64 "$o/examples/ring" \
    >"$scratch/out" 2>&1 || { fail "mpirun"; cat "$scratch/out"; }
grep -q '64 ranks: verified' "$scratch/out" || { fail "the ring"; cat "$scratch/out"; }
sed -i 's/8$/2/' "$scratch/hosts"
front "${plain_mpirun[@]}" --hostfile "$scratch/hosts" -np 16 hostname 2>/dev/null |
    sort | uniq -c | awk '$1 != 2 { exit 1 } END { exit NR != 8 }' || fail "not 2 ranks on each node"
is "left on nodes" "$("$bed" ps)" ""
"$bed" bytes | awk '$1 == "site1" && $2 > 50000 && $3 > 50000 { found = 1 } END { exit !found }' ||
    { fail "bytes between sites"; "$bed" bytes; }

# Faults of a node, and their ends.
"$bed" node n1.site1 sleep 1000 2>/dev/null &
sleeper=$!
for ((i = 0; i < 100; i++)); do [ -z "$("$bed" ps)" ] || break; sleep 0.05; done
"$bed" ps | grep -q '^n1.site1 .*sleep 1000' || fail "ps does not show a process"
"$bed" freeze n1.site1
PATIENCE=1 on n1.site1 true && fail "n1.site1 is frozen and answers"
"$bed" thaw n1.site1
is "thawed" "$(on n1.site1 hostname)" n1.site1
"$bed" crash n1.site1
wait $sleeper
is "after a crash" "$("$bed" ps)" ""
on n1.site1 true && fail "n1.site1 is down and answers"
"$bed" boot n1.site1
is "booted" "$(on n1.site1 'hostname; ls /scratch')" n1.site1
"$bed" cut n1.site1
PATIENCE=1 on n1.site1 true && fail "n1.site1 is cut off and answers"
"$bed" mend n1.site1
is "mended" "$(on n1.site1 hostname)" n1.site1
"$bed" fill n1.site1
on n1.site1 'echo 1234 >/scratch/file' && fail "a full disk takes a file"
"$bed" empty n1.site1
on n1.site1 'echo 1234 >/scratch/file' || fail "an empty disk takes none"
"$bed" memory n1.site1 1GiB
is "memory left" "$(on n1.site1 awk "'/^MemAvailable/ { print \$2 }'" /proc/meminfo)" $((1 << 20))
"$bed" hide n1.site1 "$o/examples/ring"
on n1.site1 "test -e '$o/examples/ring'" && fail "ring is not hidden"
on n1.site1 "test -x '$o/examples/lu'" || fail "lu is hidden as well"
"$bed" replace n1.site1 "$o/examples/lu" HACKING.md
cmp -s HACKING.md <(on n1.site1 cat "'$o/examples/lu'") || fail "lu is not replaced"
"$bed" rekey n2.site1
on n2.site1 true && fail "a changed host key is accepted"
grep -q 'HAS CHANGED' "$scratch/err" || fail "it was not for the host key"
"$bed" forget n2.site1
on n2.site1 true && fail "an unknown host key is accepted"
"$bed" sshd n3.site1 'AuthorizedKeysFile none'
on n3.site1 true && fail "our key is accepted"
grep -q 'Permission denied' "$scratch/err" || fail "it was not for the key"

# The least delay of the links to a site: nothing can be quicker.
"$bed" down
bed_up --sites 2 --nodes 1 --delay 100ms --rate 8mbit
took=$(front bash -c 'TIMEFORMAT=%3R; time : </dev/tcp/n1.site2/22' 2>&1)
awk "BEGIN { exit !($took >= 0.2) }" || fail "a connection took $took s over a link of 100 ms"
took=$(front bash -c 'TIMEFORMAT=%3R; time ssh n1.site2 head -c 1000000 /dev/zero >/dev/null' 2>&1)
awk "BEGIN { exit !($took >= 1) }" || fail "8 Mbit took $took s at 8 Mbit/s"

# What becomes of frames on a link is changed, and is as before again.
"$bed" link site2 loss=100%
PATIENCE=1 on n1.site2 true && fail "n1.site2 answers over a link that drops all"
"$bed" link site2 delay=1ms flip=2%
is "over a link that flips bits" "$(on n1.site2 'head -c 1000000 /dev/zero' | wc -c)" 1000000
"$bed" link site2 delay=1ms forge=20%
on n1.site2 'head -c 1000000 /dev/zero' >/dev/null && fail "SSH does not notice bytes that are changed"
grep -qiE 'corrupt|mac|banner|protocol|kex|packet|invalid|incorrect|bad|disconnect|closed|reset|error' "$scratch/err" ||
    { fail "SSH has another reason"; cat "$scratch/err"; }
"$bed" link site2
took=$(front bash -c 'TIMEFORMAT=%3R; time : </dev/tcp/n1.site2/22' 2>&1)
awk "BEGIN { exit !($took >= 0.2) }" || fail "a connection took $took s over a link of 100 ms again"
"$bed" link front loss=1% 2>/dev/null && fail "a link without delay takes settings"
"$bed" link site2 loss=many 2>/dev/null && fail "a loss of many"

# The front's link is one for all sites, and its bytes are counted; nodes of a site can
# log in to each other.
"$bed" down
bed_up --sites 2 --nodes 2 --jump --inner-ssh --front-delay 50ms --front-rate 8mbit --tcp reno
for n in front 'node gw.site1' 'node n1.site2'; do
    # shellcheck disable=SC2086
    is "TCP of $n" "$("$bed" $n cat /proc/sys/net/ipv4/tcp_congestion_control)" reno
done
between() { "$bed" node "$1" ssh -o ConnectTimeout=20 "$2" hostname 2>"$scratch/err"; }
is "from node to node" "$(between n1.site2 n2.site2)" n2.site2
is "by its short name" "$(between n1.site2 n1)" ""
is "to another site" "$(between n1.site1 n2.site2)" ""
grep -q 'No route' "$scratch/err" || { fail "to another site"; cat "$scratch/err"; }
"$bed" rekey n2.site2
is "a changed host key" "$(between n1.site2 n2.site2)" ""
# A node that goes takes no address along by which others know their router, be its own the lowest.
nsenter -t "$(cat "$state/core")" --mount --net --pid -- \
    ip -n site2 link set n1 address 02:00:00:00:00:01 || fail "the address of a link"
is "before it goes" "$(between n2.site2 n1.site2)" n1.site2
"$bed" crash n1.site2 && "$bed" boot n1.site2
is "a booted node" "$(between n2.site2 n1.site2)" n1.site2
took=$(front bash -c 'TIMEFORMAT=%3R; time {
    ssh gw.site1 head -c 500000 /dev/zero >/dev/null &
    ssh gw.site2 head -c 500000 /dev/zero >/dev/null
    wait
}' 2>&1)
awk "BEGIN { exit !($took >= 1) }" || fail "2 x 4 Mbit took $took s at 8 Mbit/s"
"$bed" bytes | awk '$1 == "front" && $2 > 2000 && $3 > 1000000 { found = 1 } END { exit !found }' ||
    { fail "bytes of the front"; "$bed" bytes; }

# Two at once, and nothing of either is left.
TI_BED=${TI_BED}b
second=$("$bed" up --nodes 1) || fail "a second bed"
is "the second bed" "$(front ssh n1.site1 hostname)" n1.site1
"$bed" down
TI_BED=${TI_BED%b}
is "the first bed" "$(on n1.site2 hostname)" n1.site2
[ ! -e "$second" ] || fail "the second left $second"
front sleep 1000 & # what users left running goes as well
inside=$(sort -u "$state"/node/*/pidns "$state/front/net")
"$bed" down
wait $!
[ ! -e "$state" ] || fail "there is $state"
left=$(find /proc/[0-9]*/ns -printf '%l\n' 2>/dev/null | grep -Fx -- "$inside" | sort -u)
is "namespaces left" "$left" ""
"$bed" down || fail "down twice"

"$bed" up --nodes 16 >/dev/null 2>&1 &
sleep 0.15
kill -KILL $!
wait $! 2>/dev/null
"$bed" down || fail "down when up was killed"
is "processes left" "$(find /proc/[0-9]* -maxdepth 1 -name cmdline -exec grep -slzx -- "${state/bed/[b]ed}" {} +)" ""
[ ! -e "$state" ] || fail "there is $state after up was killed"
finish
