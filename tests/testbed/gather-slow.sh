#!/bin/bash
# A link so slow that Tiara is sent for much longer than --timeout: everybody is waited for as
# long as something moves.  And nodes that are not there, which cost no more than --timeout.
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
command -v python3 >/dev/null || skip "there is no python3"
bed_up --sites 2 --nodes 3 --gateways --inner-ssh --rate 2mbit --delay 10ms
run=$scratch/slow.run

gather() { # STATUS [OPTION]...: leaves $scratch/said and the bundle
    local status=$1 got
    shift
    rm -f "$scratch/slow.tib" "$run"/rank-*
    front "$o/ti-gather" --trust --timeout 5 --merge none -v -o "$scratch/slow.tib" "$@" "$run" \
        >"$scratch/said" 2>&1
    got=$?
    [ $got -eq "$status" ] && return
    cat "$scratch/said"
    fail "ti-gather $*: status $got, not $status"
}
says() {
    grep -qE -- "$1" "$scratch/said" && return
    cat "$scratch/said"
    fail "no '$1'"
}

# From here and from relays, by each transport; nobody is tried a second time.
for transport in libssh2 openssh; do
    for n in n{1,2,3}.site{1,2}; do
        "$bed" node $n rm -rf /root/.cache/tiara
    done
    tests/testbed/mkrun --ranks 1 --bytes 20000 --ship "$run" >"$scratch/said" || fail "mkrun"
    gather 0 --transport $transport
    ! grep -E 'retr(y|ies)' "$scratch/said" || fail "$transport: somebody was tried again"
    tests/testbed/mkrun --compare "$run" "$scratch/slow.tib" >"$scratch/said" ||
        { cat "$scratch/said"; fail "$transport: what came is not what there was"; }
    rm -rf "$run" "$run.sums"
done

# One that a relay is to reach: from here as well, and no third time.  A head: nobody waits with it.
tests/testbed/mkrun --ranks 1 --bytes 20000 "$run" >"$scratch/said" || fail "mkrun"
"$bed" vanish n3.site1
"$bed" vanish n1.site2
gather 1
says "node 'n3.site1'.*(no answer in 5 s|No route to host)"
says "node 'n1.site2'.*(no answer in 5 s|No route to host)"
says 'node n3.site1: 0 of 1 rank.*never connected, given up.*, 1 retry$'
says 'node n1.site2: 0 of 1 rank.*never connected, given up after [0-9.]* s$'
for n in n2.site2 n3.site2; do
    says "node $n: 1 rank,.*direct, connected after.*done after"
done
finish
