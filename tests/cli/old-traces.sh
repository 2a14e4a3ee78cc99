#!/bin/bash
# Rank files of former versions (tests/old) are read: with their events, volumes and extra values.
old=$PWD/tests/old
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

# reads DIR EVENTS LINE...: ti-info finds it sound, and says each line.
reads() {
    local dir=$1 events=$2 line
    shift 2
    run 0 ti-info --verify "$old/$dir"
    says out "verified: 2 ranks, $events events"
    run 0 ti-info "$old/$dir"
    for line; do
        tr -s ' ' <out | grep -qxF -- "$line" || { fail "$dir: no line: $line"; cat out; }
    done
    run 0 ti-info --dump "$old/$dir" --rank 1
    [ "$(grep -vc '^#' out)" -eq $((${events/,/} / 2)) ] || fail "$dir: events of rank 1"
    run 0 ti-info --merge "$old/$dir" -o "$dir.tib"
    run 0 ti-info --compare "$old/$dir" "$dir.tib"
}

reads lu-v3 1,108 'volume 107,596,325 instructions' 'messages 522, 714,240 bytes'
reads stencil-v3 1,830 'volume 448,906 nanoseconds' 'extra burst_ns 542,091 ns' \
    ' call_ns 1,267,168 ns'
exit $failed
