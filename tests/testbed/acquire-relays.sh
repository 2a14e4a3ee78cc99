#!/bin/bash
# Two sites of five nodes that lack Tiara and can log in to each other: ti-acquire sends it to one
# node of each site, which sends it on and stays the relay to the others.  What is lost behind a
# relay, or with it, is named, ends the run, and leaves nothing.
# tests/run: waits
. tests/testbed/lib.bash
need_acquire
ring=$o/examples/ring
[ -x "$ring" ] || skip "$ring was not built"
programs=$scratch/programs
program=$programs/app
mkdir "$programs"
"${MPICC:-mpicc}" -O1 -o "$program" tests/cli/acquire-app.c || exit 1
cd "$scratch" || exit 1
bed_up --sites 2 --nodes 5 --memory 8GiB --share "$programs" --gateways --inner-ssh

acquire() { # acquire STATUS OPTION...
    local want=$1
    shift
    front "$o/ti-acquire" --sites "$state/sites.conf" --np 20 --counter cputime --force \
        --mem-per-rank 64MiB --no-progress -v -o ring.tib --log log "$@" >out 2>err </dev/null
    local got=$?
    [ $got -eq "$want" ] || { fail "status $got, not $want: $*"; cat err; }
}
# How many nodes were reached through the first node of site $1.
relayed() { grep -c "is ready, by way of n1.site$1" log; }
forget_tiara() { # as it was before the first run
    local n
    while read -r n; do "$bed" node "$n" rm -rf "$HOME/.cache/tiara"; done <"$state/nodes"
}
sent() { "$bed" bytes | awk '$1 == "front" { print $2 }'; } # bytes that left the front
nothing_runs() {
    while [ "$("$bed" ps)" ]; do sleep 0.1; done
}

# Tiara goes to each site once.
before=$(sent)
acquire 0 "$ring" 3
[ "$(relayed 1) $(relayed 2)" = '4 4' ] || { fail "not by way of relays"; grep ready log; }
grep -q 'sent our files to 10 nodes' err || { fail "not sent to all"; cat err; }
"$o/ti-info" -q --verify ring.tib || fail "the bundle is not sound"
by_relays=$(($(sent) - before))
nothing_runs "after a run"

# Tiara is there now: all nodes are reached directly.
acquire 0 "$ring" 3
[ "$(relayed 1) $(relayed 2)" = '0 0' ] || { fail "by way of relays though Tiara is there"; grep ready log; }

# Where nodes cannot log in to each other, each is sent it from here.
forget_tiara
mkdir "$scratch/keys"
mv "$state"/inner/id_* "$scratch/keys" # of all nodes
before=$(sent)
acquire 0 "$ring" 3
mv "$scratch"/keys/id_* "$state/inner"
[ "$(relayed 1) $(relayed 2)" = '0 0' ] || { fail "by way of relays that cannot log in"; grep ready log; }
[ "$(grep -c 'trying from here' log)" -eq 8 ] || { fail "not tried from here"; grep ready log; }
directly=$(($(sent) - before))
[ $((by_relays * 3)) -lt "$directly" ] ||
    fail "the front sent $by_relays bytes with relays, $directly without"

# A relay is lost during the run, with all behind it.  The next try has Tiara on all nodes.
lose() { # lose TROUBLE NODE OPTION...: TROUBLE strikes NODE once all ranks have started
    local trouble=$1 node=$2
    shift 2
    forget_tiara
    rm -f log err
    front "$o/ti-acquire" --sites "$state/sites.conf" --np 20 --counter cputime --force \
        --mem-per-rank 64MiB --no-progress -v -o ring.tib --log log "$@" >out 2>err </dev/null &
    running=$!
    while kill -0 $running 2>/dev/null && ! grep -q 'all 20 ranks started' err 2>/dev/null; do sleep 0.05; done
    [ "$(relayed 1) $(relayed 2)" = '4 4' ] || { fail "$trouble: not by way of relays"; grep ready log; }
    [ "$trouble" = nothing ] || "$bed" "$trouble" "$node"
}
lose crash n1.site1 "$program" still 9999
wait $running
[ $? -eq 5 ] || { fail "a relay that crashed"; cat err; }
grep -q "n1.site1" err || { fail "the relay is not named"; cat err; }
"$bed" boot n1.site1
nothing_runs "after a relay crashed"
# shorter than what ssh itself waits for, so that we are the first to notice
lose freeze n3.site2 --silence 20 "$program" still 9999
wait $running
[ $? -eq 5 ] || { fail "a node behind a relay that hangs"; cat err; }
grep -q "'n3.site2' said nothing by way of 'n1.site2' for 20 s" err ||
    { fail "the node behind the relay is not named"; cat err; }
"$bed" thaw n3.site2
nothing_runs "after a node behind a relay hung"
lose nothing - "$program" still 9999
pid=$(find /proc/[0-9]*/exe -lname "$o/ti-acquire" 2>/dev/null | while IFS=/ read -r _ _ p _; do
    tr '\0' ' ' <"/proc/$p/cmdline" | grep -qF "$state" && echo "$p"; done)
kill -9 "$pid"
wait $running
nothing_runs "after ti-acquire was killed"
finish
