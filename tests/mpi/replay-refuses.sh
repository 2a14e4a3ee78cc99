#!/bin/bash
# Traces that ti-replay must refuse, each with its status and reason.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
tmp=$scratch o=$TI_BUILD

trace "$tmp/r" 4 cputime "$o/examples/stencil" 48 10 >/dev/null || fail stencil
"$o/ti-gather" -q "$tmp/r" -o "$tmp/t.tib" || fail gather

# refuses STATUS TEXT OPTION...
refuses() {
    local want=$1 text=$2 rc
    shift 2
    "$o/ti-replay" "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    [ $rc -eq "$want" ] || fail "status $rc, not $want: $*"
    grep -qiE -- "$text" "$tmp/err" || { fail "does not say '$text': $*"; cat "$tmp/err"; }
    [ -s "$tmp/out" ] && fail "prints a result: $*"
}

refuses 2 'usage|operand|trace' # no trace named
refuses 2 'unknown' --no-such-option "$tmp/t.tib"
refuses 4 'No such file' "$tmp/nothing.tib"
refuses 3 'not|neither' /bin/true
: >"$tmp/empty"
refuses 3 'empty|not' "$tmp/empty"

# not all of a bundle, a bundle with a flipped bit, a rank that is missing or cut off
head -c -1000 "$tmp/t.tib" >"$tmp/cut.tib"
refuses 3 'cut.tib' "$tmp/cut.tib"
cp -r "$tmp/r" "$tmp/missing"
rm "$tmp/missing/rank-000002.ti"
refuses 3 'rank 2' "$tmp/missing" --hosts 4
grep -q "^hint: only complete traces can be replayed: 'ti-info $tmp/missing'" "$tmp/err" || fail 'hint: missing'
cp -r "$tmp/r" "$tmp/short"
truncate -s -40 "$tmp/short/rank-000001.ti"
refuses 3 'rank 1|rank-000001' "$tmp/short" --hosts 4

# A trace of 2^24 ranks that has one of them: what a refusal takes follows what is there.
"$o/tests/mktrace" --np 16777216 --ranks 5-5 --plain "$tmp/claims" || fail mktrace
"$o/ti-info" -q --merge "$tmp/claims" -o "$tmp/claims.tim" || fail merge
for trace in "$tmp/claims" "$tmp/claims.tim"; do
    for option in --lint --json '--engine stock' '--placement round-robin' --show-platform; do
        # shellcheck disable=SC2086  # words are meant
        python3 - "$o/ti-replay" $option "$trace" >"$tmp/out" <<'EOF' || { fail "$option $trace"; cat "$tmp/out"; }
import resource, subprocess, sys
run = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(run.stderr, used, 'KB')
assert run.returncode == 3, run.returncode
assert 'rank 0: its trace is missing (and 16777214 more like it)' in run.stderr
assert used < 64 << 10, f'{used} KB'
EOF
    done
done

# calls that SimGrid's replay does not have, and one that is not traced; what can be done
trace "$tmp/c" 4 cputime "$o/examples/cg" >/dev/null 2>&1 || fail cg
refuses 3 'collectives of all ranks only' "$tmp/c" --hosts 4 --engine stock
if [ -x "$o/ti-smpi-replay" ]; then
    grep -q '^hint: .*--engine tiara' "$tmp/err" || fail "hint: cg: $(cat "$tmp/err")"
    trace "$tmp/i" 4 cputime "$o/tests/mpi/intercoll" >/dev/null 2>&1 || fail intercoll
    refuses 3 'no collectives between two groups' "$tmp/i" --hosts 4
    grep -q '^hint: the trace is sound.*MPI_Pcontrol(0)' "$tmp/err" || fail "hint: $(cat "$tmp/err")"
fi
trace "$tmp/u" 2 cputime "$o/tests/mpi/untraced" >/dev/null 2>&1
refuses 3 'is not traced' "$tmp/u" --hosts 2
grep -q '^hint: .*not traced.*MPI_Pcontrol(0)' "$tmp/err" || fail "hint: untraced: $(cat "$tmp/err")"

# platforms
cat >"$tmp/cut.xml" <<'EOF'
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
 <zone id="z" routing="Full">
EOF
refuses 3 "cut.xml' is malformed, or cut off: it has no </platform>" "$tmp/t.tib" --platform "$tmp/cut.xml"
echo 'hosts' >"$tmp/none.xml"
refuses 3 "none.xml' is no platform of SimGrid" "$tmp/t.tib" --platform "$tmp/none.xml"
{
    cat "$tmp/cut.xml"
    for i in 0 1 2 3 4 5 6 7; do echo "<host id=\"h$i\" speed=\"1Gf\"/>"; done
    echo '<link id="l" bandwidth="1GBps" latency="1us"/></zone></platform>'
} >"$tmp/routes.xml"
refuses 3 'hosts without a route between them' "$tmp/t.tib" --platform "$tmp/routes.xml"
sed 's/speed="1Gf"/speed="0f"/' examples/ring4/platform.xml >"$tmp/still.xml"
refuses 3 'SimGrid cannot simulate the platform' "$tmp/t.tib" --platform "$tmp/still.xml"
grep -q '^hint: .*more than 0' "$tmp/err" || { fail 'no hint: speed 0'; cat "$tmp/err"; }
sed 's/1Gf/fast/' "$tmp/routes.xml" >"$tmp/fast.xml"
refuses 3 'SimGrid does not take the platform' "$tmp/t.tib" --platform "$tmp/fast.xml"
grep -q 'cannot parse number: *fast' "$tmp/err" || { fail 'does not say which speed'; cat "$tmp/err"; }
refuses 4 'No such file' "$tmp/t.tib" --platform "$tmp/nothing.xml"
echo '<platform' >"$tmp/bad.xml"
printf 'node-0\nnode-1\nnode-2\nnode-3\n' >"$tmp/hosts"
refuses 3 'smpirun|platform' "$tmp/t.tib" --platform "$tmp/bad.xml" --hostfile "$tmp/hosts"
printf 'node-0\nelsewhere\nnode-2\nnode-3\n' >"$tmp/wrong"
refuses 3 'elsewhere' "$tmp/t.tib" --platform examples/ring4/platform.xml --hostfile "$tmp/wrong"
refuses 3 'host' "$tmp/t.tib" --topology cluster --hosts 3
refuses 2 'topology' "$tmp/t.tib" --topology ring:4
refuses 2 '--engine must be auto, stock or tiara, not' "$tmp/t.tib" --engine mine
refuses 2 '--wildcards must be matched or any, not' "$tmp/t.tib" --wildcards none
refuses 2 '--collectives must be simgrid, tree, ompi, mpich, mvapich2 or impi, not' "$tmp/t.tib" --collectives fast
refuses 2 'needs --engine tiara' "$tmp/t.tib" --engine stock --wildcards any
for cfg in no/such:1 smpi/bcast:none network/model:none maxmin/precision:high smpi/os:all contexts/factory:none \
    smpi/simulate-computation:maybe; do
    refuses 2 'SimGrid does not take an option given by --cfg' "$tmp/t.tib" --cfg $cfg
done
refuses 2 '--speed has no effect with --no-compute' "$tmp/t.tib" --no-compute --speed 2Gf
refuses 2 'speed' "$tmp/t.tib" --topology cluster --hosts 4 --speed fast
finish
