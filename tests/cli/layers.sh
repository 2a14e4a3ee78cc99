#!/bin/bash
# Rooms include only what stands below them, and none is crowded; the checker notices what is not so.
set -u
tools/check-layers || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/lib/common" "$scratch/lib/new"
echo '#include "formats/event.h"' >"$scratch/lib/common/err.c"
echo >"$scratch/lib/new/a.c"
tools/check-layers "$scratch" >"$scratch/out"
[ $? -eq 1 ] && grep -q "common/err.c:1: 'common' may not include 'formats/event.h'" "$scratch/out" &&
    grep -q "lib/new/a.c: .*does not name the room" "$scratch/out" || { echo 'FAILED: not noticed'; cat "$scratch/out"; exit 1; }
