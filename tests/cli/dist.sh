#!/bin/bash
# A release has what is generated: its library is built where there is no Python.
set -u
top=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo 'not in a clone'; exit 77; }

env -u MAKEFLAGS -u MAKELEVEL make -s dist O="$scratch/out" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail 'make dist'; exit 1; }
tar -x -z -C "$scratch" -f "$scratch"/out/tiara-*.tar.gz || exit 1
cd "$scratch"/tiara-* || exit 1
for file in Makefile README.md man/ti-acquire.1 generated/minitrace/shim_c.c generated/minitrace/mpi_names.inc; do
    [ -s $file ] || fail "the release has no $file"
done
[ "$(git -C "$top" ls-files | wc -l)" -le "$(find . -type f -o -type l | wc -l)" ] || fail 'files are missing'
env -u MAKEFLAGS -u MAKELEVEL make -s -j2 CFLAGS=-O0 PYTHON=false O="$scratch/built" "$scratch/built/libminitrace.so" \
    "$scratch/built/libminitrace-openmpi.so" "$scratch/built/ti-info" >"$scratch/log" 2>&1 ||
    { tail -n 5 "$scratch/log"; fail 'the release is not built without Python'; }
"$scratch/built/ti-info" --version >"$scratch/log" || fail 'ti-info of the release'
grep -qF ", commit $(git -C "$top" rev-parse --short=12 HEAD)" "$scratch/log" && grep -q '^libraries: .*zlib 1' "$scratch/log" ||
    { cat "$scratch/log"; fail 'the release does not name its commit'; }
[ "$(head -n 1 "$scratch/log" | grep -c changes)" -eq 0 ] || fail 'the release names changes that it has not'
exit $failed
