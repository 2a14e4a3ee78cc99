#!/bin/bash
# Tools, library and valgrind counter build with clang too, without a warning.
set -u
command -v clang >/dev/null || { echo 'there is no clang'; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
OMPI_CC=clang env -u MAKEFLAGS -u MAKELEVEL make -s O="$tmp/build" CC=clang WERROR=1 all >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
for p in ti-acquire ti-gather ti-info ti-replay libminitrace.so libminitrace-openmpi.so; do
    [ -x "$tmp/build/$p" ] || { echo "FAILED: $p was not built"; exit 1; }
done
