#!/bin/bash
# The heap that ti-replay preloads into simulations (replay-bridge/replayer/memory.c): with one
# thread, with several, and where there is no memory to be reserved, so that all blocks are glibc's.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash
preload=$o/libti-smpi-preload.so
[ -e "$preload" ] || { echo "$preload was not built: there is no smpicc"; exit 77; }

heap() {
    LD_PRELOAD=$preload "$o/tests/heap" "$@" >"$tmp/out" 2>&1 ||
        { echo "FAILED: heap $*"; cat "$tmp/out"; exit 1; }
    cat "$tmp/out"
}

[ "$("$o/tests/heap")" = 104 ] || { echo 'FAILED: without the library'; exit 1; }
for threads in 1 4; do
    [ "$(heap $threads)" = 112 ] || { echo "FAILED: $threads threads: not the library's heap"; exit 1; }
done
(ulimit -v 4000000; [ "$(heap 4)" = 104 ]) || { echo 'FAILED: with little memory'; exit 1; }
