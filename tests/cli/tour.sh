#!/bin/bash
# The command blocks of README.md and examples/README.md in the source tree, and of docs/tutorial.md
# where Tiara is installed, by a user without privileges; in order, and what they print.  The source
# tree is a folder of links to this one with a copy of the build folder, since what they make stays
# there.
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
user=(env -u OMPI_ALLOW_RUN_AS_ROOT -u OMPI_ALLOW_RUN_AS_ROOT_CONFIRM)
"${user[@]}" python3 -IBS tests/cli/tour.py README.md "$tmp" || exit 1
env -u MAKEFLAGS -u MAKELEVEL make -s install O="$o" DESTDIR="$tmp/dest" prefix=/usr/local >"$tmp/log" 2>&1 ||
    { cat "$tmp/log"; echo 'FAILED: make install'; exit 1; }

# Without the source tree: in a copy of share/tiara, with the tests' script beside it.
to=$tmp/dest/usr/local
mkdir "$tmp/home" && cp -r "$to/share/tiara" "$tmp/home/tiara" && cp tests/cli/tour.py "$tmp/home" || exit 1
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 "$tmp" && chown -R 65534:65534 "$tmp/home" || exit 1
    user+=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
cd "$tmp/home" || exit 1
"${user[@]}" env HOME="$tmp/home" PATH="$to/bin:$PATH" \
    python3 -IBS tour.py "$to/share/doc/tiara/docs/tutorial.md" tiara || exit 1
