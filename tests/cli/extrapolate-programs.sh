#!/bin/bash
# ti-extrapolate: programs that were extrapolated once with a proof, and yet differ in a real run:
# what is extrapolated is what such a run does, else it is refused.
programs=$PWD/tests/cli/extrapolate-programs.py
# shellcheck source=tests/cli/trace-lib.bash
. tests/cli/trace-lib.bash

traces() { # PROGRAM AXES NP...
    local program=$1 axes=$2 np
    shift 2
    for np; do
        [ -e "$program.$np" ] || python3 "$programs" "$program" "$np" "$axes" | mkscript "$np" "$program.$np" ||
            fail "$program on $np ranks"
    done
}

# extrapolate STATUS PROGRAM AXES FROM... TO
extrapolate() {
    local status=$1 program=$2 axes=$3 inputs=() to
    shift 3
    traces "$program" "$axes" "$@"
    while [ $# -gt 1 ]; do
        inputs+=("$program.$1")
        shift
    done
    to=$1
    run "$status" ti-extrapolate "${inputs[@]}" --np "$to" -o "$program.made"
    [ "$status" -eq 0 ] || { [ ! -e "$program.made" ] || fail "$program: a trace was made"; return; }
    says out 'proof: '
    run 0 ti-info --compare "$program.$to" "$program.made"
    says out "equal: $to ranks"
}

extrapolate 0 floor 1 3 5 6 9 24
extrapolate 0 ceil 1 3 5 6 9 24
extrapolate 0 last 1 3 6 7 8 9 11
extrapolate 0 even 1 3 6 7 8 9 11
extrapolate 3 line 2 9 12 16 20 30
extrapolate 3 pad 2 9 12 16 20 36 64
says err "both '16 + 4 * block(60, py, y)' and "
extrapolate 3 axes 3 8 12 18 27 64
says err 'grids of 8 x 8 and of 4 x 4 x 4 both continue those of the inputs'
extrapolate 3 log-or-part 2 6 9 12 20 36
says err 'grids of 36 and of 6 x 6 both continue'
extrapolate 3 rest 1 4 5 6 8 11
says err ' fit, and differ at rank '
extrapolate 3 large 1 4 5 6 8
says err 'field bytes: '
extrapolate 3 larger 1 4 5 6 8
says err 'field bytes: '

# of several grids, the one of the reason is named; three axes, of which one
# is two parts in all runs, are not taken in place of two that are not determined
extrapolate 3 places 2 16 24 96
says err '96 ranks cannot be extrapolated: in a grid of 4 x 24, rank 0 of 16 ranks, size of the communicator: '
says err '--dims says what the grid is; no rules were found for 8 x 12'
run 3 ti-extrapolate places.16 places.24 --np 96 --dims 8x12 -o made
says err 'in a grid of 8 x 12, rank 0 of 16 ranks, rank in the communicator: px is 4 in all inputs'
! grep -q -e '--dims' err || fail "a hint at what was given: $(cat err)"

# more than 512 ways to divide 5,040 ranks among three axes: none of them is overlooked
traces axes 3 8 12 18 27
run 3 ti-extrapolate axes.8 axes.12 axes.18 axes.27 --np 5040 --explain
says err 'grids of '
says err '--dims says which one the program has'
run 0 ti-extrapolate axes.8 axes.12 axes.18 axes.27 --np 5040 --dims 15x16x21 --explain
says out 'bytes = 3 * pz'

exit $failed
