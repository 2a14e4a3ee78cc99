#!/bin/bash
# Bytes of rank files and of merged bundles, manifest included, beside gzip -9 of what ti-info
# --dump prints.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v unzip >/dev/null || skip 'there is no unzip'
export TIARA_QUIET=1
cd "$scratch" || exit 1
MPIRUN="--oversubscribe $(pass TIARA_QUIET)"
[ "$MPI" = mpich ] && MPIRUN=

# sizes COUNTER NP PROGRAM ARGUMENT...: of 3,000 events and more, the bundle takes no more than the
# dump, although that has no metadata.
sizes() {
    local counter=$1 np=$2 name events dump bundle
    shift 2
    name=$(basename "$1").$counter
    trace "$name.run" "$np" "$counter" "$@" >log 2>&1 || { fail "$name"; head -n 20 log; return; }
    "$TI_BUILD/ti-gather" -q --merge root "$name.run" -o "$name.tib" 2>log || { fail "$name: $(cat log)"; return; }
    unzip -v "$name.tib" | grep -q 'Defl.* MANIFEST.json$' || fail "$name: the manifest is not deflated"
    "$TI_BUILD/ti-info" -q --dump "$name.run" >dump
    events=$(grep -vc '^#' dump)
    dump=$(gzip -9 <dump | wc -c) bundle=$(stat -c %s "$name.tib")
    [ "$events" -ge 3000 ] || fail "$name: only $events events"
    [ "$bundle" -le "$dump" ] || fail "$name: $bundle bytes for $events events; gzip -9 of the dump: $dump"
    "$TI_BUILD/ti-info" -q --compare "$name.run" "$name.tib" >log 2>&1 || fail "$name: $(head -n 3 log)"
}

sizes cputime 8 "$examples/stencil"
sizes cputime 8 "$examples/multigrid" 16 3
sizes cputime 8 "$examples/lu" S 12
if [ "$MPI" = openmpi ] && [ -x "$TI_BUILD/blocks/stencil" ]; then
    sizes blocks 8 "$TI_BUILD/blocks/stencil"
    sizes blocks 8 "$TI_BUILD/blocks/multigrid" 16 3
    sizes blocks 8 "$TI_BUILD/blocks/lu" S 12
fi

# A rank of four events: little but what each rank file has.
trace ring.run 4 cputime "$examples/ring" 1 1000 1000 >log 2>&1 || fail "ring: $(head -n 20 log)"
for file in ring.run/rank-*.ti; do
    bytes=$(stat -c %s "$file")
    [ "$bytes" -le 800 ] || fail "$file: $bytes bytes"
done
finish
