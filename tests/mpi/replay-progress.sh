#!/bin/bash
# Progress of ti-replay: events and simulated time of a replay, points of a sweep.
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
command -v smpirun >/dev/null || skip 'there is no smpirun'
o=$TI_BUILD
[ -x "$o/ti-smpi-replay" ] || skip 'ti-smpi-replay was not built'
top=$PWD
cd "$scratch" || exit 1
"$o/tests/mktrace" --np 4 --plain --iterations 2000 four
objects() { python3 -IBS "$top/tests/cli/progress_checks.py" "$@" || failures=1; }
replay() { "$o/ti-replay" "$@" >out 2>err || { fail "status $?: $*"; cat err; }; }
# steps LINE...: the steps of which err has objects
steps() {
    objects steps err >got
    printf '%s\n' "$@" | cmp -s got - || { fail "other steps: $*"; cat got err; }
}

replay --json --progress json four
events=$(python3 -c 'import json; print(json.load(open("out"))["events"])')
steps 'ti-replay checking: 4 of 4 ranks' "ti-replay replaying: $events of $events events"
objects last err ti-replay replaying >last
python3 - <<'END' || fail 'the simulated time is not that of the replay'
import json
clock = json.load(open("out"))["clock_s"]
shown = json.load(open("last"))["simulated_s"]
assert abs(clock - shown) < 1e-6 * clock, (clock, shown)
END
replay --progress json --links four
objects steps err | grep -q '^ti-replay finding routes$' || { fail 'no step finds routes'; cat err; }
replay --progress json --engine stock four
objects steps err | tail -n 1 | grep -q '^ti-replay replaying' || { fail 'no step replays'; cat err; }

replay --progress json four --sweep speed=1Gf,2Gf,4Gf -o study
objects steps err >got
grep -qx 'ti-replay sweeping: 3 of 3 points' got || { fail 'no step sweeps'; cat got err; }
# shows STEP ARGUMENT...: several replays show what they are for, and how many are done
shows() {
    local step=$1
    shift
    replay --progress json four "$@"
    objects steps err | grep -qx "ti-replay $step" || { fail "no step '$step': $*"; cat err; }
}
"$o/tests/mktrace" --np 2 --plain --iterations 2000 two
shows 'repeating: 3 of 3 runs' --runs 3 --noise 0.1
shows 'comparing: 2 of 2 traces' --versus four
shows 'comparing: 4 of 4 runs' --versus four --runs 2 --noise 0.1
shows 'comparing: 2 of 2 traces' two --scaling
shows 'searching: 2 of 2 replays' --tolerance latency=5%

# The line is removed before the result; elsewhere there is none.
replay --quiet four
grep -qe progress -e $'\r' err && { fail 'progress where there is no terminal'; cat -v err; }
python3 -IBS "$top/tests/cli/on_terminal.py" 0 raw lines "$o/ti-replay" four || failures=1
grep -q $'\r\033\\[Kreplaying: ' raw || { fail 'there is no line'; cat -v raw; }
grep -v '^wall time' lines >seen
"$o/ti-replay" four 2>&1 | grep -v '^wall time' | cmp -s - seen || { fail 'more than the output'; cat -v raw; }
finish
