#!/bin/bash
# ti-acquire --list and --clean: what a killed run left is named and removed; what a run that goes
# on needs, and what others own, stays.
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
export TMPDIR=$tmp # nothing else of ours is there
acquire=
end() {
    [ -z "$acquire" ] || kill -9 "$acquire"
    [ ! -d "$tmp/w/app.3.run" ] || "$o/ti-acquire" --clean "$tmp/w/app.3.run"
    rm -rf "$tmp"
} >/dev/null 2>&1
trap end EXIT
# wait_for COMMAND...: the end of the run is not waited for longer than tests/run lets us
wait_for() { until "$@" >/dev/null 2>&1; do sleep 0.1; done; }

# A run that goes on: its ranks talk until ../go is there, which never comes.
mkdir ../at-work
"$o/ti-acquire" -q -c cputime --np 3 --pilot no ../app until >../out 2>../err </dev/null &
acquire=$!
wait_for test -e ../at-work/0 -a -e ../at-work/1 -a -e ../at-work/2
id=$(json app.3.run/RUN.json run_id)
shm=$(json app.3.run/RUN.json mpi.command | grep -o '/dev/shm/tiara-[A-Za-z0-9]*' | head -1)
[ -d "$shm" ] || fail "the run has no folder in /dev/shm"
run 0 --list
says out "run directory 'app.3.run'"
says out "3 ranks, run ${id:0:12}: the run goes on"
says out "folder '$shm'"
says out "'../app until', run ${id:0:12}: the run goes on"
for what in app.3.run "$id" "${id:0:12}"; do
    run 3 --clean "$what"
    says err "run '$what' goes on, nothing was removed"
done
[ -d "$shm" ] && kill -0 $acquire || fail "--clean harmed a run that goes on"

# It is killed.  (mpirun ends by itself then, sooner or later.)
kill -9 $acquire
wait $acquire
acquire=
echo mine >app.3.run/notes
run 0 --list --json
cp ../out ../listed
json ../listed here.directories.0.run_id >/dev/null || fail "--json: $(cat ../listed)"
json ../listed here.folders.*.path | grep -qF "$shm" || fail "--json does not name $shm"
run 0 --clean app.3.run --dry-run
says out "would remove run directory 'app.3.run'"
says out "3 ranks, killed, run ${id:0:12}"
says out "would remove folder '$shm'"
[ -d "$shm" ] && [ -f app.3.run/RUN.json ] || fail "--dry-run removed something"
run 1 --clean app.3.run
says out "removing run directory 'app.3.run'"
says out "removing folder '$shm'"
says err "warning: 'app.3.run': other files are in it"
[ -d "$shm" ] && fail "$shm is still there"
[ "$(ls app.3.run)" = notes ] || fail "left: $(ls app.3.run)"
for p in /proc/[0-9]*; do
    grep -qsz "TIARA_RUN_ID=$id" "$p/environ" && fail "a process is left: $(tr '\0' ' ' <"$p/cmdline")"
done
rm -r app.3.run

# Processes that outlive mpirun, of a run without a directory: by the run id, each named before.
TIARA_RUN_ID=$id sh -c 'trap "" TERM; echo $$ >../stray; while :; do sleep 1; done' &
wait_for test -s ../stray
run 0 --list
says out "process $(cat ../stray), 'sh -c trap"
run 0 --clean "$id"
says out "ending process $(cat ../stray), 'sh -c trap"
wait
kill -0 "$(cat ../stray)" 2>/dev/null && fail "the process lives"
run 0 --clean "$id"
says err "nothing is left of that run"

# A folder whose owner was killed, by its name; one that is no folder of ours, never.
mkdir ../tiara-AbCdEf ../tiara-XyZxYz ../plain
touch ../tiara-AbCdEf/lock ../tiara-AbCdEf/data
run 0 --clean "$tmp/tiara-AbCdEf"
says out "removing folder '$tmp/tiara-AbCdEf'"
[ -e ../tiara-AbCdEf ] && fail "the folder is still there"
for what in "$tmp/tiara-XyZxYz" "$tmp/plain" ../w; do
    run 0 --clean "$what"
    says err "nothing is left of that run"
    [ -d "$what" ] || fail "$what was removed"
done
mkdir ../tiara-LoCkEd
exec 9>../tiara-LoCkEd/lock
flock 9
run 3 --clean "$tmp/tiara-LoCkEd"
says err "goes on, nothing was removed"
[ -d ../tiara-LoCkEd ] || fail "a folder in use was removed"
exec 9>&-

# A whole run, its traces not gathered: removed because it was asked for.
run 0 -q -c cputime --np 2 --no-gather ../app ok 0
run 0 --clean ./app.2.run/
says out "removing run directory 'app.2.run'"
says out "2 ranks, complete"
[ -e app.2.run ] && fail "the run directory is still there"

# Command lines that are refused.
run 2 --list ../app
says err "--list and --clean run no program"
run 3 --clean nowhere
says err "'nowhere' is no run directory, run id or folder that --list names"
run 3 --clean 5eed5eed5eed5eed5eed5eed5eed5eedff
run 3 --clean abc
[ -z "$(ls -A)" ] || fail "left: $(ls -A)"
finish
