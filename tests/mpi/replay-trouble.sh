#!/bin/bash
# Replays that do not come to their end: status, reason, and no files are left.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
[ ! -e "$TI_BUILD/smpirun" ] || skip 'this build takes the smpirun of its SIMGRID, so that none on PATH can stand in'
tmp=$scratch o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
export TMPDIR=$tmp/tmp
mkdir "$TMPDIR"

# Enough for a replay of some seconds.
"$o/bench/wavefront" 16 20000 "$tmp/wave" || fail wavefront

# ended STATUS TEXT: how the replay whose status is $rc ended
ended() {
    [ $rc -eq "$1" ] || { fail "status $rc, not $1: $2"; tail -n 5 "$tmp/err"; }
    grep -qE -- "$2" "$tmp/err" || { fail "does not say '$2'"; cat "$tmp/err"; }
    [ -s "$tmp/out" ] && fail "a result: $(cat "$tmp/out")"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"
}
run() { "$@" >"$tmp/out" 2>"$tmp/err"; rc=$?; }

# ---- there is no smpirun ----

PATH=$tmp run "$o/ti-replay" "$tmp/wave"
ended 4 '^ti-replay: smpirun is not in PATH'
grep -q '^hint: .*libsimgrid-dev' "$tmp/err" || fail 'no hint where smpirun is'

# ---- killed while it simulates ----

# killed WHICH SIGNAL: smpirun, a shell script, or smpimain, its child
killed() {
    local replay pid=''
    "$o/ti-replay" --no-progress "$tmp/wave" >"$tmp/out" 2>"$tmp/err" &
    replay=$!
    while [ -z "$pid" ] && kill -0 "$replay" 2>/dev/null; do
        pid=$(children "$replay")
        [ "$1" = smpirun ] || pid=$(children "$pid" smpimain)
        sleep 0.05
    done
    sleep 0.3
    kill -"$2" "$pid"
    wait "$replay"
    rc=$?
    [ -z "$pid" ] || ! grep -qs '^State:.*running' "/proc/$pid/status" || fail "$1 still runs"
}
children() { # PID [NAME]
    local child
    [ -n "$1" ] || return
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ -z "${2:-}" ] || [ "$(cat "/proc/$child/comm" 2>/dev/null)" = "$2" ] || continue
        echo "$child"
        break
    done
}
for which in smpirun smpimain; do
    killed $which KILL
    ended 4 '^ti-replay: smpirun was killed by signal 9 \(Killed\)$'
    grep -q '^hint: the kernel kills processes when memory runs out' "$tmp/err" || fail 'no hint: memory'
    grep -qE 'INFO|is at event' "$tmp/err" && { fail 'says more than it knows'; cat "$tmp/err"; }
done
# Killed itself, ti-replay leaves no process, and a folder that a later replay removes.
"$o/ti-replay" --no-progress "$tmp/wave" >/dev/null 2>&1 &
replay=$! simulator=''
while [ -z "$simulator" ] && kill -0 "$replay" 2>/dev/null; do
    simulator=$(children "$(children "$replay")" smpimain)
done
kill -KILL "$replay"
wait "$replay" 2>/dev/null
while grep -qs '^State:[[:space:]]*[^ZX]' "/proc/${simulator:?}/status"; do sleep 0.05; done
[ -n "$(ls -A "$TMPDIR")" ] || fail 'there was no folder'
touch -d '2 minutes ago' "$TMPDIR"/*
run "$o/ti-replay" "$tmp/wave"
[ $rc -eq 0 ] || { fail "the next replay: status $rc"; cat "$tmp/err"; }
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"

# The simulator that smpirun leaves behind has no end of its own, and goes with it.
mkdir "$tmp/bin"
printf '%s\n' '#!/bin/sh' "sleep 3600 & echo \$! >'$tmp/simulator'" 'kill -KILL $$' >"$tmp/bin/smpirun"
chmod +x "$tmp/bin/smpirun"
PATH=$tmp/bin:$PATH run "$o/ti-replay" --engine tiara "$tmp/wave"
ended 4 '^ti-replay: smpirun was killed by signal 9 \(Killed\)$'
kill -0 "$(cat "$tmp/simulator")" 2>/dev/null && fail 'the simulator goes on'
# A crash is not one of the trace; where ranks are helps to find its cause.
killed smpimain SEGV
ended 4 '^ti-replay: smpirun was killed by signal 11'
grep -qE '^  rank 0 is at event [1-9][0-9]*, ' "$tmp/err" || { fail 'does not say where ranks are'; cat "$tmp/err"; }

# ---- no memory ----

# SimGrid's libraries cannot be loaded, or the ranks have no stacks.  Sanitized programs take more.
if (ulimit -v 20000 && "$o/ti-replay" --version >/dev/null 2>&1); then
    for kib in 20000 120000; do
        (ulimit -v $kib && exec "$o/ti-replay" "$tmp/wave") >"$tmp/out" 2>"$tmp/err"
        rc=$?
        ended 4 '^ti-replay: the simulation ran out of memory$'
        grep -q 'is at event 0' "$tmp/err" && fail 'says where ranks are that never began'
    done
    grep -q '^hint: .*--cfg contexts/stack-size:KIB' "$tmp/err" || { fail 'no hint: stacks'; cat "$tmp/err"; }
fi
finish
