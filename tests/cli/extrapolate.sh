#!/bin/bash
# ti-extrapolate: what it refuses and why, what its results are, and that all tools tell an
# extrapolated trace, and an unproven one, from that of a run.
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

for np in 4 8 16 32; do
    mktrace --np $np --exact --plain --iterations 5 --run-id "$(printf '%032x' $np)" p$np
done

# --- command lines that are wrong
wrong() { # TEXT ARGUMENT...
    local text=$1
    shift
    run 2 ti-extrapolate "$@"
    says err "$text"
}
wrong 'traces of two runs at least' p4 --np 32 -o x
wrong 'how many ranks' p4 p8 -o x
wrong 'which file shall be written?  --explain alone writes none' p4 p8 --np 32
wrong '--all is for --explain' p4 p8 --np 32 -o x --all
wrong "'p4' and 'p4' both have 4 ranks" p4 p8 p4 --np 32 -o x
wrong "'p8' has 8 ranks: there is nothing to extrapolate" p4 p8 --np 8 -o x
wrong "'p8' has 8 ranks already: fewer can be traced, and are not extrapolated" p8 p16 --np 6 -o x
wrong '--dims has 30 ranks, and --np 32' p4 p8 --np 32 --dims 5x6 -o x
for dims in 0x4 4x 4,8 x4 -4x8 2x2x2x2x2 99999999999999999999; do
    wrong "--dims: '$dims' is not a grid" p4 p8 --np 32 "--dims=$dims" -o x
done
touch there
wrong "'there'" p4 p8 --np 32 -o there
[ ! -s there ] || fail 'a file that was there was overwritten'

# --- traces that are refused
refused() { # TEXT TRACE...
    local text=$1
    shift
    run 3 ti-extrapolate "$@" --np 32 -o x
    says err "$text"
    [ ! -s out ] || fail "output of what is refused: $(cat out)"
    [ ! -e x ] || fail "a trace from $*"
}
mktrace --np 8 --exact --plain --ranks 0-6 part
refused "rank 7 is missing from 'part'" p4 part p16
mktrace --np 8 --exact --plain --hold 3 cut
refused "'cut': rank 3 is incomplete" p4 cut p16
cp -r p8 bad
printf '\377\377\377\377' | dd of=bad/rank-000005.ti bs=1 seek=200 conv=notrunc status=none
refused "'bad/rank-000005.ti' is damaged" p4 bad p16
mktrace --np 8 --exact --plain --counter valgrind other
refused "the counter is 'papi' in 'p4', and 'valgrind' in 'other'" p4 other p16
mktrace --np 8 --exact --plain --iterations 5 --sites other program
refused "'p4' and 'program' are of different programs: app and other call MPI" p4 program p16
for np in 4 8 16; do
    mktrace --np $np --exact --plain --iterations 5 --build $((1111 * (np / 8))) b$np
done
refused "'b8' and 'b16' are of different builds of app: [1111] and [2222]" b8 b16
mktrace --np 8 --exact --plain --iterations 7 longer
refused 'trips of the loop: the inputs are too few to find and confirm what fits' p4 longer p16
mktrace --np 8 --exact --plain --iterations 5 --run-id "$(printf '%032x' 77)" run
cp -r p8 mixed
cp run/rank-000003.ti mixed
refused "'rank-000003.ti' and 'rank-000000.ti' in 'mixed' are of different runs" p4 mixed p16
mktrace --np 8 --exact --noise 1000 noise
for quality in stats bound:1%; do
    ti-info -q --merge noise --volumes $quality -o "$quality.m"
    refused "'$quality.m': the volumes of rank 0 are not exact" p4 "$quality.m"
    says err 'ti-info --merge wrote them so'
done
run 4 ti-extrapolate p4 nowhere --np 32 -o x
# lists of counts that have no rule, with their call site
for np in 4 8 16; do mktrace --np $np --exact q$np; done
refused "cannot be extrapolated: rank 0, app+0x" q4 q8 q16
refused 'cannot be extrapolated: rank 0, app+0x' p4 q8 p16

# --- a result that is proven
run 0 ti-extrapolate p8 p16 p4 --np 32 -o new.tib
says out '32 ranks from 4, 8 and 16, in a grid of 32; 1 kind of ranks'
says out 'proof: from the others, 16 ranks come out with all 112 events and the volume of each'
says out 'new.tib: '
says out 'all volumes follow from rules'
[ ! -s err ] || fail "messages of a result that is proven: $(cat err)"
run 0 ti-info --compare p32 new.tib
says out 'equal: 32 ranks, 224 events'
run 0 ti-info --verify new.tib
run 0 ti-info new.tib
says out 'CAVEAT       no run had these events: 32 ranks were extrapolated from 4, 8 and 16 ranks; proof:'
says out 'extrapolated'
run 0 ti-info --json new.tib
[ "$(json out exact)" = false ] || fail 'the volumes of an extrapolated trace are called exact'
case $(json out extrapolated) in 'from 4, 8 and 16 ranks; proof: '*) ;; *) fail "$(json out extrapolated)" ;; esac
[ "$(json new.tib extrapolated.inputs.1.run_id)" = "$(printf '%032x' 8)" ] ||
    fail 'the manifest does not name the inputs'
[ "$(json new.tib extrapolated.proof.equal_ranks)" = 16 ] || fail 'the manifest has no proof'

# the same as a merged trace, in any order of inputs, and from any form of them
ti-info -q --merge p8 -o m8
run 0 ti-extrapolate -q p16 p4 m8 --np 32 -o new
[ ! -s out ] || fail "-q prints: $(cat out)"
run 0 ti-info --compare new.tib new
cp new first
rm new
run 0 ti-extrapolate --json p4 p8 p16 --np 32 -o new
cmp -s first new || fail 'equal inputs give another trace'
[ "$(json out proven)" = true ] && [ "$(json out proof.events)" = 112 ] || fail '--json: the proof'
[ "$(json out inputs.2.np)" = 16 ] && [ "$(json out grids.3.0)" = 32 ] || fail '--json: inputs'
[ "$(json out output)" = new ] && [ "$(json out bytes)" = "$(stat -c %s new)" ] || fail '--json: output'
[ "$(json out inputs.1.hash)" = "$(json new.tib extrapolated.inputs.1.hash)" ] || fail 'hashes'

# what is made from what was made
refused "'new' was extrapolated itself" p4 new

# --- results that are unproven
unproven() { # TEXT ARGUMENT...
    local text=$1
    shift
    rm -f y
    run 0 ti-extrapolate "$@" --np 32 -o y
    says err "warning: unproven: $text"
    run 0 ti-info y
    says out "unproven: $text"
    run 0 ti-info --json --traffic y
    run 0 ti-info --compare y y
    says err "unproven: $text"
}
unproven 'a proof takes three traces or more; a trace of 16 ranks may be one' p4 p8
unproven 'no proof was asked for (--no-proof)' p4 p8 p16 --no-proof
mktrace --np 16 --exact --plain --iterations 5 --volume 700 far
unproven 'extrapolated to the largest input, the volume is off by' p4 p8 far
mktrace --np 16 --exact --plain --iterations 5 --noise 400 rough
mktrace --np 8 --exact --plain --iterations 5 --noise 400 --seed 1 rough8
run 0 ti-extrapolate --json p4 rough8 rough --np 32 -o z.tib
case $(json out proven) in true | false) ;; *) fail 'a proof of noise' ;; esac
if command -v smpirun >/dev/null && [ -x "$o/ti-smpi-replay" ]; then
    run 0 ti-replay --json y
    says err 'unproven: '
    case $(json out extrapolated) in *'unproven: '*) ;; *) fail 'ti-replay --json' ;; esac
    [ "$(json out exact)" = false ] || fail 'ti-replay calls the volumes exact'
fi
if run 0 ti-report y -o page.html; then
    says page.html 'Unproven: no run had these events'
fi

# --- between the inputs, and of counts that are not exact
run 0 ti-extrapolate -q p4 p8 p32 --np 16 -o between
run 0 ti-info --compare p16 between
mktrace --np 8 --plain --iterations 5 counted
run 0 ti-extrapolate -q p4 counted p16 --np 32 -o counted.32
run 0 ti-info --json counted.32
[ "$(json out exact)" = false ] || fail 'volumes of a counter that is not exact are called exact'

# --- volumes that no rule gives: a fit, its interval, and what would make it narrow
inputs=()
for np in 4 8 16 32 64; do
    mktrace --np $np --exact --plain --iterations 5 --volume $((100000 + 6400000 / np)) v$np
    inputs+=("v$np")
done
run 0 ti-extrapolate "${inputs[@]:0:4}" --np 64 -o v.tib
says out 'proof: from the others, 32 ranks come out with all 224 events'
says out 'the volume is determined to -0.00'
run 0 ti-info --compare v64 v.tib
run 0 ti-info v.tib
says out '; the volume is determined to '
run 0 ti-extrapolate --explain "${inputs[@]:0:4}" --np 64
says out '+ 6.4e+06 / px (fitted: exact at the largest input'
run 0 ti-extrapolate --explain "${inputs[@]:0:2}" --np 64
says out '% at the new one; a trace of 16 ranks would decide)'
run 0 ti-extrapolate --json "${inputs[@]:0:2}" --np 64 -o w.tib
run 0 ti-info --json v64
python3 - w.tib <<'END' || fail '--json: the interval of the volume'
import json, subprocess, sys, zipfile
def load(text):
    return json.loads(text)
real = json.load(open("out"))["volume"]
made = json.loads(subprocess.run(["ti-info", "--json", "w.tib"], capture_output=True).stdout)
with zipfile.ZipFile("w.tib") as z:
    name = [n for n in z.namelist() if n.endswith(".json")][0]
    is_ = json.loads(z.read(name))["extrapolated"]["volumes"]
assert abs(is_["volume"] - made["volume"]) <= 1e-9 * made["volume"], (is_, made["volume"])
assert is_["low"] <= real <= is_["high"] and is_["high"] > 1.01 * is_["low"], (is_, real)
for key in "volume", "low", "high":
    total = sum(s[key] for s in is_["sites"])
    assert abs(total - is_[key]) <= 1e-9 * total, (key, is_)
END
# a proof that holds does not do if the volumes of the target are not determined
for np in 4 8 16; do
    mktrace --np $np --exact --plain --iterations 5 --volume $((1000000 + 14000 * (np == 8))) u$np
done
unproven 'the inputs determine the volume to -1.' u4 u8 u16

# --- rules in words
run 0 ti-extrapolate --explain p4 p8 p16 --np 32
says out 'ranks: all'
says out 'size of communicator 0 = np'
! grep -q 'volume = ' out || fail '--explain shows constants'
run 0 ti-extrapolate --explain --all p4 p8 p16 --np 32
says out 'volume = '
run 0 ti-extrapolate --explain --all --json p4 p8 p16 --np 32
json out output=null || fail '--explain without -o writes'
python3 - <<'END' || fail '--explain --json'
import json
rules = json.load(open("out"))["rules"]
assert rules and all(r["ranks"] == "all" and r["rule"] for r in rules), rules
assert any(r["call"] == "barrier" and r["number"] == "volume" for r in rules), rules
END

# --- nothing is left behind
for f in .*tmp* *.part .x*; do [ ! -e "$f" ] || fail "left: $f"; done
exit $failed
