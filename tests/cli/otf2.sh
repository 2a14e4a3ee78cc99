#!/bin/bash
# ti-convert --from otf2: traces as Score-P writes them become sound run directories, with the
# events, volumes and simulated times that follow from the program; what is wrong with a trace.
set -u
o=$(realpath "${TI_BUILD:-build}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
cd "$tmp" || exit 1

if ! "$o/ti-convert" --help | grep -q 'without the OTF2 library'; then
    [ -x "$o/tests/mkotf2" ] || { echo 'tests/mkotf2 was not built'; exit 1; }
else
    # Without the library: a clear answer, and nothing is left.
    "$o/ti-convert" --from otf2 traces.otf2 -o run 2>err
    { [ $? -eq 2 ] && grep -q 'libotf2-trace-dev' err && [ ! -e run ]; } || { fail 'the answer'; cat err; }
    [ $failures -eq 0 ] || exit 1
    echo 'ti-convert was built without the OTF2 library'
    exit 77
fi

# make NAME ARGUMENT...: write trace NAME and convert it to NAME.run
make() {
    rm -rf "$1" "$1.run"
    "$o/tests/mkotf2" "${@:2}" "$1" && "$o/ti-convert" --from otf2 "$1/traces.otf2" -o "$1.run" >out 2>err
}
# refuses WORDS ARGUMENT...: the trace is refused, with status 3, for that reason; nothing is left
refuses() {
    make wrong "${@:2}"
    { [ $? -eq 3 ] && grep -qE -- "$1" err; } || { fail "not refused with '$1': ${*:2}"; cat err; }
    [ -z "$(ls -d wrong.* tiara-* 2>/dev/null)" ] || fail "${*:2}: something is left"
}
# warns WORDS ARGUMENT...: it is converted, with a warning, and sound
warns() {
    make odd "${@:2}" || { fail "${*:2}: refused"; cat err; }
    grep -q -- "warning: odd/traces.otf2: .*$1" err || { fail "no warning '$1': ${*:2}"; cat err; }
    "$o/ti-info" -q --verify odd.run >out || { fail "${*:2}: not sound"; cat out; }
}

# ---- all that mkotf2 does
make all || { fail 'refused'; cat err; }
[ "$(grep -c warning: err)" -eq 2 ] || { fail 'warnings'; cat err; }
"$o/ti-info" -q --verify all.run >out 2>&1 || { fail 'not sound'; cat out; }
cat >expected <<'END'
0 init burst_ns=0 call_ns=10
0 comm_create_group comm=0 tag=0 newcomm=2 burst_ns=0 call_ns=0
0 comm_create_group comm=0 tag=0 newcomm=3 burst_ns=0 call_ns=0
1000 irecv comm=0 peer=-1(0) tag=7 bytes=100 esize=1 req=0 burst_ns=1000 call_ns=10
0 isend comm=0 peer=+1(2) tag=7 bytes=101 esize=1 req=1 burst_ns=0 call_ns=10
500 waitall requests=[0,1] burst_ns=500 call_ns=10
200 recv comm=0 peer=-1(0) tag=3 bytes=5000 esize=1 burst_ns=200 call_ns=20
0 sendrecv comm=0 peer=-1(0) tag=4 bytes=71 esize=1 rpeer=-1(0) rtag=4 rbytes=70 resize=1 burst_ns=0 call_ns=10
0 sendrecv comm=0 peer=+1(2) tag=5 bytes=80 esize=1 rpeer=-1(0) rtag=5 rbytes=80 resize=1 burst_ns=0 call_ns=10
0 isend comm=0 peer=-1(0) tag=9 bytes=12 esize=1 req=0 burst_ns=0 call_ns=20
0 wait req=0 burst_ns=0 call_ns=10
0 barrier comm=0 burst_ns=0 call_ns=10
40 bcast comm=0 bytes=800 esize=1 root=1 burst_ns=40 call_ns=10
0 reduce comm=0 bytes=64 esize=1 root=2 redop=null burst_ns=0 call_ns=10
0 reduce comm=0 bytes=72 esize=1 root=2 redop=null burst_ns=0 call_ns=10
0 allreduce comm=0 bytes=8 esize=1 redop=null burst_ns=0 call_ns=10
0 allreduce comm=0 bytes=9 esize=1 redop=null burst_ns=0 call_ns=10
0 gather comm=0 bytes=16 esize=1 rbytes=16 resize=1 root=0 burst_ns=0 call_ns=10
0 scatter comm=0 bytes=24 esize=1 rbytes=24 resize=1 root=3 burst_ns=0 call_ns=10
0 allgather comm=0 bytes=32 esize=1 rbytes=32 resize=1 burst_ns=0 call_ns=10
0 alltoall comm=0 bytes=40 esize=1 rbytes=40 resize=1 burst_ns=0 call_ns=10
0 gatherv comm=0 bytes=20 esize=1 resize=1 root=1 recvcounts=[10,20,30,40] burst_ns=0 call_ns=10
0 scatterv comm=0 rbytes=15 resize=1 root=0 burst_ns=0 call_ns=10
0 allgatherv comm=0 bytes=22 esize=1 resize=1 recvcounts=[11,22,33,44] burst_ns=0 call_ns=10
0 allgatherv comm=0 bytes=14 esize=1 resize=1 recvcounts=[7,14,21,28] burst_ns=0 call_ns=10
0 alltoallv comm=0 esize=1 resize=1 sendcounts=[80,60,40,20] recvcounts=[30,60,90,120] burst_ns=0 call_ns=10
0 reduce_scatter comm=0 esize=1 redop=null recvcounts=[8,16,24,32] burst_ns=0 call_ns=10
0 reduce_scatter_block comm=0 bytes=16 esize=1 redop=null burst_ns=0 call_ns=10
0 scan comm=0 bytes=48 esize=1 redop=null burst_ns=0 call_ns=10
0 scan comm=3 bytes=8 esize=1 redop=null burst_ns=0 call_ns=10
0 exscan comm=0 bytes=56 esize=1 redop=null burst_ns=0 call_ns=10
0 ibcast comm=0 bytes=33 esize=1 root=0 req=0 burst_ns=0 call_ns=10
50 wait req=0 burst_ns=50 call_ns=10
0 iallgatherv comm=0 bytes=10 esize=1 resize=1 req=0 recvcounts=[5,10,15,20] burst_ns=0 call_ns=10
50 wait req=0 burst_ns=50 call_ns=10
0 barrier comm=0 burst_ns=0 call_ns=10
30 send comm=2 peer=+1(3) tag=1 bytes=45 esize=1 burst_ns=30 call_ns=10
0 allreduce comm=2 bytes=16 esize=1 redop=null burst_ns=0 call_ns=10
0 bcast comm=1 bytes=20 esize=1 root=0 burst_ns=0 call_ns=10
200 finalize burst_ns=200 call_ns=10
END
"$o/ti-info" --dump --rank 1 all.run | grep -v '^#' >dump
cmp -s expected dump || { fail 'events of rank 1'; diff expected dump; }
# has RANK LINE: its dump has this
has() {
    "$o/ti-info" --dump --rank "$1" all.run | grep -qF -- "$2" || fail "rank $1 has no '$2'"
}
has 0 '0 irecv comm=0 peer=+1(1) tag=9 bytes=12 esize=1 req=0 burst_ns=0 call_ns=40'
has 0 '60 test req=0 burst_ns=60 call_ns=20'
has 0 'tag=5 bytes=80 esize=1 rpeer=null rtag=0 rbytes=0 resize=1'
has 0 'scatterv comm=0 esize=1 rbytes=0 resize=1 root=0 sendcounts=[0,15,30,45]'
has 2 '200 ssend comm=0 peer=+1(3) tag=3 bytes=6000'
has 2 '30 recv comm=2 peer=-1(0) tag=1 bytes=44'
has 3 'alltoallv comm=0 esize=1 resize=1 sendcounts=[160,120,80,40] recvcounts=[10,20,30,40]'
"$o/ti-info" all.run | grep -q 'counter  *otf2, time, in nanoseconds' || fail 'the counter'
"$o/ti-info" all.run | grep -q 'nodes  *1: node7' || fail 'the node'

# ---- the counter: 3 instructions a nanosecond, the same events
make counted --counter || { fail 'with the counter: refused'; cat err; }
"$o/ti-info" --compare counted.run --no-volumes all.run >out 2>&1 || { fail 'other events with the counter'; cat out; }
"$o/ti-info" counted.run | grep -q 'counter  *otf2, PAPI_TOT_INS, in instructions, not exact' || fail 'the counter'
awk '$1 == 0 { print; next } { $1 = 3 * $1; print }' expected >tripled
"$o/ti-info" --dump --rank 1 counted.run | grep -v '^#' >dump
cmp -s tripled dump || { fail 'volumes of rank 1'; diff tripled dump; }

# ---- replay: as long as the same program in SimGrid's words, by volumes and by times
if [ -x "$o/ti-smpi-replay" ]; then
    for r in 0 1 2 3; do
        next=$(((r + 1) % 4)) last=$(((r + 3) % 4))
        printf '%s\n' init 'compute 1000' "irecv $last 7 $((100 + last)) 6" "isend $next 7 $((100 + r)) 6" \
            'compute 500' waitall 'compute 200'
        case $r in
            0) echo 'send 1 3 5000 6' ;;
            1) echo 'recv 0 3 5000 6' ;;
            2) echo 'send 3 3 6000 6' ;;
            3) echo 'recv 2 3 6000 6' ;;
        esac
        printf '%s\n' barrier 'compute 40' 'bcast 800 1 6' 'compute 200' finalize
    done | awk '/^init$/ { rank++ } { print rank - 1, $0 }' >actions
    "$o/ti-convert" -q --from simgrid actions -o actions.run || fail 'the actions'
    make simple --simple || { fail 'the simple program: refused'; cat err; }
    # time_of ARGUMENT...: the simulated time
    time_of() { "$o/ti-replay" --json --hosts 4 "$@" 2>err | sed -n 's/.*"clock_s": \([0-9.]*\).*/\1/p'; }
    want=$(time_of --speed 1Gf actions.run)
    got=$(time_of --speed 1Gf simple.run)
    { [ -n "$want" ] && [ "$got" = "$want" ]; } || { fail "$got s, not $want s"; cat err; }
    grep -q 'nanoseconds of elapsed time' err || { fail 'no warning of volumes'; cat err; }
    got=$(time_of --times simple.run)
    [ "$got" = "$want" ] || { fail "by times: $got s, not $want s"; cat err; }
    got=$(time_of --speed 1Gf all.run)
    [ -n "$got" ] || { fail 'no replay'; cat err; }
fi

# ---- guesses
warns 'does not begin with MPI_Init' --break init
warns 'does not end with MPI_Finalize' --break finalize
warns "is by 'Other 1.0'" --break creator
warns 'switched off' --break switch
warns 'MPI_Put is not converted' --break untraced
"$o/ti-info" --dump --rank 2 odd.run | grep -q ' untraced call="*MPI_Put' || fail 'MPI_Put has no event'

# ---- what is wrong
refuses 'rank 2, record [0-9]+: communication outside of MPI calls' --break outside
refuses 'rank 2, record [0-9]+: no definition of communicator 6' --break comm
refuses 'between two groups' --break between
refuses 'not in the communicator' --break member
refuses 'no rank 4 in a communicator of 4' --break peer
refuses 'tag 2147483648 is no tag' --break tag
refuses 'a message of 18446744073709551615 bytes' --break bytes
refuses 'no sound trace: 1 problem' --break lonely
refuses 'request 1000 is complete, but it was never made' --break request
refuses 'request [0-9]+ is made, but it is not complete yet' --break request-twice
refuses 'MPI_Isend is recorded like a blocking call' --break blocking-send
grep -q xnonblock err || { fail 'no hint'; cat err; }
refuses 'MPI_Wait is recorded like a blocking call' --break blocking-recv
refuses 'MPI_Barrier is left, but it was not entered' --break leave
refuses 'no definition of region 1000' --break region
refuses 'MPI_Bcast on 4 ranks has root 4' --break root
refuses 'MPI_Allgather on 4 ranks cannot give 7 bytes and take 7' --break odd
refuses 'rank 1, record [0-9]+: MPI_Gatherv on 4 ranks cannot give 20 bytes and take 101' --break sum
refuses 'call 2 with counts or scan on a communicator is gatherv, but scatterv on other' --break differ
refuses 'never completes' --break never
refuses 'PAPI_TOT_INS runs backwards' --counter --break backwards
refuses 'MPI_Init is entered without a value of PAPI_TOT_INS' --counter --break metric
refuses 'members of a communicator are not sound' --break member-twice
refuses 'members of a communicator are not sound' --break member-large
refuses 'has no MPI processes' --break no-mpi
refuses 'how fast the clock is' --break clock
refuses 'a thread that is not the first of its process' --break thread

# ---- files that are missing or cut, and command lines
# not STATUS WORDS INPUT ARGUMENT...
not() {
    "$o/ti-convert" -q --from otf2 "${@:3}" -o none 2>err
    { [ $? -eq "$1" ] && grep -q -- "$2" err && [ ! -e none ]; } || { fail "not refused with '$2'"; cat err; }
}
not 3 'ends in .otf2' all/traces.def
not 4 'cannot read .missing.otf2' missing.otf2
cp -r all cut
truncate -s 200 cut/traces/12.evt
not 3 'cannot read the events of location 12' cut/traces.otf2
rm cut/traces/12.evt
not 3 'cannot read the events of location 12' cut/traces.otf2
not 2 'has no effect' all/traces.otf2 --speed 1Gf
not 2 'are for --from simgrid' all/traces.otf2 --syntax old

# ---- a library that gets stuck, which a signal ends, or fails
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
LD_PRELOAD=$o/tests/stuck.so STUCK=$tmp/stuck "$o/ti-convert" --from otf2 all/traces.otf2 -o none 2>err &
pid=$!
until [ -e stuck ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -TERM $pid
wait $pid
rc=$?
[ $rc -eq 143 ] || { fail "ended by SIGTERM with $rc"; cat err; }
grep -q interrupted err || { fail 'interrupted'; cat err; }
LD_PRELOAD=$o/tests/stuck.so not 3 "'all/traces.otf2': the OTF2 library failed: Aborted" all/traces.otf2
[ -z "$(ls -d none.* tiara-* 2>/dev/null)" ] || fail 'something is left of them'

# ---- damaged files: converted or refused, never worse
cat >damage.py <<'PY'
import glob, random, shutil, subprocess, sys
random.seed(1)
for i in range(60):
    shutil.rmtree('damaged', ignore_errors=True)
    shutil.copytree('counted', 'damaged')
    files = sorted(glob.glob('damaged/*') + glob.glob('damaged/traces/*'))
    file = random.choice([f for f in files if '.' in f])
    data = bytearray(open(file, 'rb').read())
    for _ in range(random.choice([1, 1, 3])):
        data[random.randrange(len(data))] = random.randrange(256)
    open(file, 'wb').write(data)
    done = subprocess.run([sys.argv[1], '-q', '--from', 'otf2', 'damaged/traces.otf2', '-o', 'damaged/run'],
                          timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        sys.exit(f'file {i}, {file}: status {done.returncode}')
PY
ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1 python3 damage.py "$o/ti-convert" || fail 'damaged files'
[ $failures -eq 0 ]
