#!/bin/bash
# The command blocks of README.md, docs/tutorial.md and examples/README.md, in order, and what they
# print.  In a tree like this one with a copy of the build folder, since what they make stays there.
# tests/run: long
set -u
o=$(realpath "${TI_BUILD:-build}")
skip() { echo "$*"; exit 77; }
[ "${o##*/}" = build ] || skip "the README builds into build/, this is $o"
for p in ti-replay ti-mpicc libexec/valgrind/ticount-amd64-linux examples/lu; do
    [ -x "$o/$p" ] || skip "$o/$p was not built"
done
for p in mpirun smpirun valgrind gnuplot; do command -v $p >/dev/null || skip "there is no $p"; done
# PAPI where it counts, not valgrind
"$o/ti-acquire" --np 1 --dry-run "$o/examples/lu" 2>&1 | grep -q 'counter *valgrind' ||
    skip 'valgrind is not the counter here'

tmp=$(mktemp -d /tmp/tiara-tour-XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
for f in *; do
    [ "$(realpath "$f")" = "$o" ] || ln -s "$PWD/$f" "$tmp/$f"
done
cp -a "$o" "$tmp/build" || exit 1
unset LD_PRELOAD "${!TIARA_@}"
python3 -IBS tests/cli/tour.py examples/README.md "$tmp" || exit 1
# as a user has it, without what tests/run sets
for page in README.md docs/tutorial.md; do
    env -u OMPI_ALLOW_RUN_AS_ROOT -u OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
        python3 -IBS tests/cli/tour.py $page "$tmp" || exit 1
    rm -rf "$tmp"/build/examples/*.tib "$tmp"/build/examples/*.run
done
