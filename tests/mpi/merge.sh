#!/bin/bash
# Merged traces of real programs are the rank files that they were made of, and replay in the same
# time, to the last digit.
# tests/run: long
# shellcheck source=tests/mpi/lib.sh
. tests/mpi/lib.sh
export TIARA_QUIET=1
top=$PWD
cd "$scratch" || exit 1
info=$TI_BUILD/ti-info
MPIRUN="--oversubscribe $(pass TIARA_QUIET)"
[ "$MPI" = mpich ] && MPIRUN=

# plain TRACE: of what is printed about a trace, what does not differ between its forms
plain() {
    sed -E "s|$1|TRACE|g"'; /^(stored|file|bytes) /d
        s/^(TRACE: )(bundle|run directory|merged trace) of/\1trace of/'
}

# facts TRACE: all that a trace says
facts() {
    {
        "$info" --dump --call-sites "$1"
        "$info" --verify "$1" 2>&1 | grep -v '^loops checked once: '
        "$info" --verify --json "$1" 2>&1 | sed '/"left_out": {/,/}/d'
        "$info" --traffic "$1"
        "$info" --histogram "$1"
        for ((r = 0; r < np; r++)); do "$info" --rank "$r" "$1"; done
    } 2>&1 | plain "$1"
}
summary() { "$info" "$1" 2>&1 | plain "$1"; }

# equal RUN: all forms of a run say the same, also in a summary.
equal() {
    local form
    np=$2
    rm -rf form
    mkdir form
    "$TI_BUILD/ti-gather" -q --merge none "$1" -o form/bundle.tib >gathered 2>&1
    [ -e form/bundle.tib ] || { fail "$1: gather"; cat gathered; }
    "$info" -q --merge --extras exact "$1" -o form/merged.ti || { fail "$1: --merge"; return; }
    "$info" -q --merge --extras exact form/bundle.tib -o form/merged.tib || fail "$1: --merge of a bundle"
    "$info" -q --merge --extras exact "$1" -o form/directory.tib || fail "$1: a bundle of the run directory"
    "$info" -q --split form/merged.tib -o form/split || fail "$1: --split"
    mkdir form/run
    cp form/merged.ti form/run/ranks.ti
    [ ! -e "$1/RUN.json" ] || cp "$1/RUN.json" form/run
    facts "$1" >facts
    summary "$1" >summary
    for form in bundle.tib merged.ti merged.tib directory.tib split run; do
        facts form/$form >found
        same facts found "$1: $form"
        summary form/$form >found
        same summary found "$1: summary of $form"
    done
    "$info" -q --compare "$1" form/merged.ti 2>log || fail "$1: --compare"
    "$info" -q --merge --extras exact form/split -o form/again.ti || fail "$1: --merge of --split"
    "$info" -q --compare form/split form/again.ti 2>log || fail "$1: --compare of --split"
}

clock() { python3 -c 'import json, sys; print(repr(json.load(open(sys.argv[1]))["clock_s"]))' "$1"; }

run() { # NAME NP PROGRAM ARGUMENT...
    local name=$1 np=$2
    shift 2
    trace "$name.run" "$np" cputime "$@" >log 2>&1 || { fail "$name"; head -n 20 log; return; }
    equal "$name.run" "$np"
}

run ring 4 "$examples/ring" 5 1000 1000
run lu 8 "$examples/lu" S 12
run stencil 6 "$examples/stencil" 48 40
"$info" --verify --json form/merged.ti >log
once=$(python3 "$top/tests/jsonfile.py" log left_out.events)
all=$(python3 "$top/tests/jsonfile.py" log events)
[ "$once" -gt $((all / 3)) ] || fail "lu: of $all events, only $once are left out"
run is 4 "$examples/is" 512 6
run cg 4 "$examples/cg" 256 2
run workers 4 "$examples/master_worker"
run multigrid 8 "$examples/multigrid" 16 3
run amr 5 "$examples/amr"
[ "$MPI" = mpich ] && finish
run comms 4 "$built/comms"
run creations 4 "$built/creations"
run inter 5 "$built/intercoll"
mkdir written
OMPI_MCA_osc=${OMPI_MCA_osc:-^rdma} run windows 4 "$built/rma" all written
run files 4 "$built/io" all written
run persistent 4 "$built/persistent"
run collectives 4 "$built/collectives"
run paused 2 "$built/pcontrol"
export TIARA_TIMES=1
MPIRUN+=" -x TIARA_TIMES" run columns 4 "$built/times"
unset TIARA_TIMES

# ranks that ended early, and one of which there is no trace
for end in kill abort; do
    trace $end.run 1 cputime "$built/harmless" $end >log 2>&1
    equal $end.run 1
done
cp -r lu.run some.run
rm some.run/rank-00000[157].ti
equal some.run 8

# what other tools make of them, also where they refuse a program
convert() { # TRACE NAME: to $target
    rm -rf "$2.out"
    mkdir "$2.out"
    # shellcheck disable=SC2086  # words are meant
    "$TI_BUILD/ti-convert" -q --to $target "$1" -o "$2.out/it" 2>&1 | sed "s|$1|TRACE|g; s|$2|OUT|g" >"$2.err"
    [ -e "$2.out/it" ] || [ -s "$2.err" ] || fail "$1 to $target: nothing"
}
for name in ring lu is multigrid; do
    "$info" -q --merge --extras exact $name.run -o $name.ti || fail "$name: --merge"
    "$info" -q --split $name.ti -o $name.split || fail "$name: --split"
    "$TI_BUILD/ti-replay" --lint $name.run 2>&1 | sed "s|$name.run|TRACE|g" >expected
    for target in 'goal --speed 1Gf' 'dimemas --speed 1Gf' simgrid; do
        convert $name.run expected
        for form in $name.ti $name.split; do
            convert "$form" found
            diff -r expected.out found.out >differs && same expected.err found.err "$form to $target" ||
                { fail "$form to $target"; head differs; }
        done
    done
    for form in $name.ti $name.split; do
        "$TI_BUILD/ti-replay" --lint $form 2>&1 | sed "s|$form|TRACE|g" >found
        same expected found "ti-replay --lint $form"
    done
done
"$info" -q --rates expected columns.run 2>log
"$info" -q --merge --extras exact columns.run -o columns.ti
"$info" -q --rates found columns.ti 2>log
same <(grep -v columns expected) <(grep -v columns found) 'rates of a merged trace'

# the time of the simulation, to the last digit, with each engine
command -v smpirun >/dev/null || finish
replay() { "$TI_BUILD/ti-replay" --no-progress "$@" 2>err | sed "s|${*: -1}|TRACE|g"; }
for name in ring lu multigrid is; do
    for engine in stock tiara; do
        [ $engine = stock ] || [ -x "$TI_BUILD/ti-smpi-replay" ] || continue
        replay --json --engine $engine $name.run >expected
        [ -s expected ] || { fail "$engine: replay of $name"; cat err; }
        for form in $name.ti $name.split; do
            replay --json --engine $engine $form >found
            same <(clock expected) <(clock found) "$engine: replay of $form"
        done
    done
done
finish
