#!/bin/bash
# Tools, library and valgrind counter build with clang too, without a warning; and
# without Zydis the counter blocks is left out, without libdw the source lines of ti-info,
# without the OTF2 library a conversion of ti-convert and a format of timelines.
# tests/run: long
set -u
ticount=libexec/valgrind/ticount-amd64-linux
command -v clang >/dev/null || { echo 'there is no clang'; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
env -u MAKEFLAGS -u MAKELEVEL make -n O="$tmp/none" CC='gcc -nostdinc' all >"$tmp/log" 2>&1
grep -q 'echo .*no counter blocks' "$tmp/log" && ! grep -q 'ti-mpicc' "$tmp/log" ||
    { echo 'FAILED: without Zydis'; exit 1; }
grep -q 'echo .*no source lines' "$tmp/log" && grep -q 'debug_info_absent' "$tmp/log" && ! grep -q -- '-ldw' "$tmp/log" ||
    { echo 'FAILED: without libdw'; exit 1; }
grep -q 'echo .*no OTF2 traces' "$tmp/log" && grep -q 'otf2/absent' "$tmp/log" && grep -q 'timeline/otf2_absent' "$tmp/log" && ! grep -q -- 'trace-format2' "$tmp/log" ||
    { echo 'FAILED: without the OTF2 library'; exit 1; }
# Clang warns of the same without optimization, in a third of the time.  The valgrind counter has no
# C library: an optimizer that puts in calls of memcpy() would break it.
build() {
    OMPI_CC=clang env -u MAKEFLAGS -u MAKELEVEL make -s O="$tmp/build" CC=clang WERROR=1 "$@" >"$tmp/log" 2>&1 ||
        { cat "$tmp/log"; exit 1; }
}
[ ! -x "$TI_BUILD/$ticount" ] || build "$tmp/build/$ticount"
build CFLAGS=-O0 all
for p in ti-acquire ti-calibrate ti-convert ti-skew ti-gather ti-info ti-replay libminitrace.so libminitrace-openmpi.so; do
    [ -x "$tmp/build/$p" ] || { echo "FAILED: $p was not built"; exit 1; }
done
