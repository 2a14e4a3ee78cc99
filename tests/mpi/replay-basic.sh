#!/bin/bash
# ti-replay on good traces: what it prints, keeps and leaves.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD
trace "$tmp/r" 8 cputime "$o/examples/stencil" 48 10 >/dev/null || fail stencil
"$o/ti-gather" -q "$tmp/r" -o "$tmp/t.tib" || fail gather

export TMPDIR=$tmp/tmp
mkdir "$TMPDIR"
replay() { "$o/ti-replay" "$@" >"$tmp/out" 2>"$tmp/err"; }
time_of() { sed -n 's/^clock at end: *\([0-9.]*\) s$/\1/p' "$tmp/out"; }

# every generated topology; more hosts or ranks than there are is an error elsewhere
for t in cluster 'fat-tree:2;4,4;1,2;1,2' torus:2,2,2 'dragonfly:2,1;2,1;2,1;2'; do
    replay "$tmp/t.tib" --topology "$t" --hosts 8 || replay "$tmp/t.tib" --topology "$t" ||
        { fail "topology $t"; cat "$tmp/err"; }
    awk -v t="$(time_of)" 'BEGIN { exit !(t > 0) }' || fail "no time on $t"
done

# a faster network and faster hosts: sooner
replay "$tmp/t.tib" --topology cluster --hosts 8 --speed 1Gf --bandwidth 10MBps || fail slow
slow=$(time_of)
replay "$tmp/t.tib" --topology cluster --hosts 8 --speed 10Gf --bandwidth 1GBps || fail fast
fast=$(time_of)
awk -v s="$slow" -v f="$fast" 'BEGIN { exit !(f < s) }' || fail "faster is not sooner: $fast, $slow"

# names that smpirun, a shell script, would split, or would take for others
odd="$tmp/CF-(2,4) it's *"
mkdir -p "$odd/tmp" "$odd/tiara"
cp "$tmp/t.tib" "$odd/t (2)*.tib"
cp "$o/ti-replay" "$o/ti-smpi-replay" "$o/libti-smpi-preload.so" "$odd/tiara" 2>"$tmp/err"
for engine in stock tiara; do
    [ $engine = stock ] || [ -x "$o/ti-smpi-replay" ] || continue
    replay "$tmp/t.tib" --engine $engine --keep "$odd/kept.$engine" || fail "$engine: keep"
    expected=$(time_of)
    TMPDIR=$odd/tmp "$odd/tiara/ti-replay" --engine $engine "$odd/t (2)*.tib" \
        --platform "$odd/kept.$engine/platform.xml" --hostfile "$odd/kept.$engine/hostfile" >"$tmp/out" 2>"$tmp/err"
    [ "$(time_of)" = "$expected" ] || { fail "$engine: odd names"; cat "$tmp/err"; }
done

# the memory of a simulation is jemalloc's, if that was installed
if [ -x "$o/ti-smpi-replay" ] && [ -e "$(pkg-config --variable=libdir jemalloc)/libjemalloc_pic.a" ]; then
    MALLOC_CONF=stats_print:true "$odd/kept.tiara/command" >"$tmp/out" 2>&1
    grep -q 'jemalloc statistics' "$tmp/out" || { fail 'without jemalloc'; tail -n 5 "$tmp/out"; }
fi

# the run directory and the bundle give the same; so does a placement, repeated
replay "$tmp/r" --topology cluster --hosts 8 && run=$(time_of)
replay "$tmp/t.tib" --topology cluster --hosts 8 && bundle=$(time_of)
[ "$run" = "$bundle" ] || fail "run $run, bundle $bundle"
replay "$tmp/t.tib" --topology fat-tree:'2;4,4;1,2;1,2' --placement random:42 && one=$(time_of)
replay "$tmp/t.tib" --topology fat-tree:'2;4,4;1,2;1,2' --placement random:42 && two=$(time_of)
[ -n "$one" ] || fail "random:42 fails"
[ "$one" = "$two" ] || fail "random:42 is not repeatable"

# --keep leaves what a person needs to run smpirun by hand
replay "$tmp/t.tib" --topology cluster --hosts 8 --keep "$tmp/kept" || fail keep
(cd / && sh "$tmp/kept/command") >"$tmp/hand" 2>&1
grep -q 'simulated time' "$tmp/hand" || { fail 'the kept command does not run'; cat "$tmp/hand"; }

grep -q 'runs smpirun' "$tmp/err" || fail 'does not say what it kept'

# and promises none when it could not write all of it
(trap '' XFSZ; ulimit -f 1; replay "$tmp/t.tib" --topology cluster --hosts 8 --engine stock --keep "$tmp/part")
[ $? -eq 4 ] || fail 'no error although files cannot be written'
grep -q 'runs smpirun' "$tmp/err" && { fail 'promises a command'; cat "$tmp/err"; }
grep -q "part' has the files written" "$tmp/err" || { fail 'is silent'; cat "$tmp/err"; }

replay "$tmp/t.tib" --lint || fail lint
replay "$tmp/t.tib" --topology cluster --hosts 8 --json || fail json
python3 - "$tmp/out" <<'END' || fail 'not the JSON it should be'
import json, sys
j = json.load(open(sys.argv[1]))
assert (j["counter"], j["unit"], j["exact"]) == ("cputime", "nanoseconds", False), j
assert len(repr(j["wall_time_s"]).partition(".")[2]) <= 6, j
END

# volumes that are no instructions: a warning, which depends on the speed
warns() {
    local text=$1
    shift
    replay "$tmp/t.tib" "$@" || fail "fails: $*"
    grep -q "warning: .*nanoseconds.*estimate.*$text" "$tmp/err" ||
        { fail "does not warn '$text': $*"; cat "$tmp/err"; }
}
warns 'speed 1Gf replays them as measured' --hosts 8
warns 'speed 1Gf replays them as measured' --hosts 8 --speed 1000Mf
warns 'speed 8Gf scales them' --hosts 8 --speed 8Gf

[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"
finish
