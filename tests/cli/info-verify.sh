#!/bin/bash
# ti-info --verify: volume is conserved, and what is not is named.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }

# broken WHAT STATUS TEXT...: a trace with WHAT ends with STATUS and says TEXT.
broken() {
    local what=$1 status=$2 text
    shift 2
    rm -rf x.run
    mktrace --np 5 --iterations 2 --add "$what" x.run
    run "$status" ti-info --verify x.run
    for text; do says out "$text"; done
}

mktrace --np 5 --iterations 2 a.run
ti-gather -q a.run || fail "gather"
run 0 ti-info --verify a.tib
printf '%s\n' 'conserved: 19 messages, 3,012,512 bytes; 8 collectives' \
    'verified: 5 ranks, 91 events' | diff - out || fail "a sound trace"

broken unmatched 3 'not sound: 1 problem' 'conserved: 19 messages' \
    'rank 1, event 17, send(comm 0, peer -1, tag 99, bytes 100, esize 1): rank 0 never receives it'
broken starved 3 'rank 0, event 17, recv(comm 0, peer +1, tag 99, bytes 100' 'rank 1 sends nothing for it'
broken truncated 3 'conserved: 20 messages, 3,012,612 bytes' \
    'rank 0, event 17, recv(comm 0, peer +1, tag 99, bytes 99, esize 1): its 99 bytes are too few for the 100 that rank 1 sends in its event 17'
broken comm 3 'rank 0, event 17, send(comm 2' \
    'rank 2 never receives it; it waits for tag 99 on the communicator of the world' \
    'rank 2, event 18, recv(comm 0' 'rank 0 sends nothing for it'
broken wildcard 3 'rank 2, event 18, send' 'rank 0 never receives it' \
    'rank 0, event 17, recv(comm 0, peer any, tag any' 'rank 1 sends nothing for it'
broken order 3 'rank 1, event 17, barrier(comm 0): on the communicator of the world, rank 0 has event 17, bcast(comm 0'
broken root 3 'rank 3, event 17, bcast(comm 0, bytes 8, esize 1, root 1): on the communicator of the world, rank 0 has event 17'
broken request 3 'rank 1, event 17, wait(req 5): request 5 is not outstanding'

# what MPI allows is no problem
broken leak 0 'conserved: 20 messages' 'leaked: 1 request at MPI_Finalize' 'verified' \
    'rank 1, event 17, isend(comm 0, peer -1, tag 99, bytes 100, esize 1, req 0): its request never completes'
run 0 ti-info -q --verify x.run
[ -s out ] && fail "-q names leaks"
broken cancel 0 'conserved: 19 messages' 'verified'
broken pcontrol 1 'rank 1, event 17' 'rank 0 never receives it' \
    'MPI_Pcontrol(0): ranks stopped recording at points that do not match'

# what is not there is no problem of the others
broken '' 0 'conserved: 19 messages'
rm x.run/rank-000002.ti
run 1 ti-info --verify x.run
says out '1 rank missing: 2'
says out 'conserved: 9 messages'
says out 'not checked: 10 messages, 7 collectives; some rank of theirs is not here in full, or too long to be read again'
grep -q 'not sound' out && fail "a missing rank is more than missing"
rm -rf x.run
mktrace --np 5 --iterations 300 --hold 2 x.run
run 1 ti-info --verify x.run
says out 'rank 2: incomplete after'
grep -q 'not sound' out && fail "a rank that was cut off is more than that"

# by pair of ranks
broken unmatched 3
run 3 ti-info --json --verify x.run
check info unmatched_message_is_told || fail "the JSON"
# a manifest that is edited is named, with the key
rm -rf x.run x.tib
mktrace --np 5 --iterations 30 --untraced --noise 100 x.run
keys=(run_id complete counter.backend counter.event counter.unit counter.exact counter.estimate
    totals.ranks totals.events totals.volume totals.bytes totals.messages totals.negative_bursts
    totals.whole totals.outside totals.blocks totals.operations.send.events
    totals.operations.send.bytes totals.operations.allreduce.bytes totals.untraced.MPI_Put
    totals.caveats.node_questions totals.caveats.other_ns totals.caveats.samples
    totals.caveats.unknown)
for merge in auto none; do
    run 0 ti-gather --force --merge $merge x.run -o x.tib
    run 0 ti-info --verify x.tib
    for key in "${keys[@]}"; do
        # bytes are those of the files
        [ $merge,$key != auto,totals.bytes ] || continue
        check info edit_manifest "$key" || { fail "cannot edit $key"; continue; }
        run 3 ti-info --verify y.tib
        says out "MANIFEST.json: \"$key\""
    done
done
exit $failed
