#!/bin/bash
# A few of the random faults of `make check-faults`, on four nodes; each in its own way: a gather with
# a node that was cut off, one that is killed, an acquisition that loses a node.
# tests/run: waits
# shellcheck source=tests/testbed/lib.bash
. tests/testbed/lib.bash
need_acquire
[ -x "$o/blocks/ring" ] || skip "$o/blocks/ring was not built"
[ -x "$o/tests/testbed/wan" ] || skip "$o/tests/testbed/wan was not built"
command -v python3 >/dev/null || skip "there is no python3"
tests/testbed/faults --folder "$scratch" --nodes 4 --jobs 2 --first 1 --trials 4
exit
