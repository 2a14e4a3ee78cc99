#!/bin/bash
# ti-skew: options, figures, and that nothing stays behind.  What the figures should
# be is in mpi/skew.
# shellcheck disable=SC2086,SC2317  # words are meant; functions are called by name
tool=ti-skew
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash
command -v python3 >/dev/null || skip "there is no python3"

core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
a="-c cputime --pin $core" # one core: folding is sure

# Command lines that are wrong, before anything is run.
run 2 $a ../app
says err "how many ranks?"
run 2 $a --np 2
says err "which program?"
run 2 $a --np 2,x ../app
says err "--np"
run 2 $a --np 2,,4 ../app
run 2 $a --np 2, ../app
run 2 $a --np 2,3,2 ../app
says err "--np has 2 twice"
run 2 $a --np 2 --runs 0 ../app
says err "--runs"
run 2 $a --np 2 --fold 0 ../app
run 2 $a --np 2 --against cputime ../app
says err "--against is the counter itself"
run 2 $a --np 2 --plain ../app ../app
says err "--plain is for --counter blocks"
run 2 $a --np 2 --plot x.png ../app
says err "should end in .svg"
run 2 $a --np 2 -x TIARA_COUNTER=papi ../app
says err "TIARA_COUNTER is set by ti-skew"
run 3 $a --np 2 ./nowhere
says err "nowhere"
run 3 $a --np 2 --fold 1 ../app
says err "2 ranks cannot be folded so little: there are 1 cores"
says err "the smallest folding factor of 2 ranks here is 2"
run 4 $a --np 2 --plot nowhere/x.svg ../app
says err "nowhere/x.svg"
mkdir ../empty
PATH=$tmp/empty run 3 $a --np 2 --plot x.svg ../app
says err "gnuplot is not there"
holds ""

# A dry run prints the runs and does nothing.
TIARA_MODE=whole run 0 $a --np 2,3 --runs 7 --fold 2,3 --dry-run ../app ok 1
[ "$(grep -c '^np .*: 7 times$' ../out)" -eq 6 ] || { fail "the runs of a dry run"; cat ../out; }
[ "$(grep -c 'TIARA_MODE=whole' ../out)" -eq 2 ] || { fail "bare runs"; cat ../out; }
[ "$(grep -c 'TIARA_MODE=full' ../out)" -eq 4 ] || { fail "traced runs"; cat ../out; }
holds ""

# Figures, of several np, as a table and as JSON; the program's output is not shown.
run 0 $a --np 1,2 --runs 2 ../app ok 0.05
silent out "ranks are done"
for word in '(a) whole run' 'of the bare run' 'overhead, %' 'bytes an action'; do says out "$word"; done
says out "(b) is not known: cputime cannot tell"
says out "(CLOCK_THREAD_CPUTIME_ID, an estimate)"
holds ""
plot=
command -v gnuplot >/dev/null && plot='--plot x.svg'
run 0 $a -q --np 2 --runs 3 --fold 1,2,4 $plot --json ../app ok 0.05
says err "smaller ones are left out"
[ -z "$plot" ] || grep -q '</svg>' x.svg || fail "no drawing"
[ -z "$plot" ] || holds x.svg
check skew figures_add_up ../out || fail "the JSON"

# The program does something else each time: its calls are not the same.
run 0 $a -q --np 2 --runs 2 --fold 2 ../app more
says out "the calls are not the same"

# A run that fails ends it all, and says which it was.
run 6 $a --np 2 --runs 2 ../app crash
says err "ti-skew: run 1 of 4 (np 2, bare): "
holds ""
run 6 $a --np 9,2 --runs 1 ../app nine
says err "ti-skew: run 3 of 4 (np 2, bare): '../app' ended with status 5"
says out "whole run" # of what was measured before
holds ""
run 6 $a --np 2 --timeout 1 ../app ok 9999
says err "longer than --timeout"
holds ""

# Traces that are kept, and directories that are others'.
run 0 $a -q --np 2 --runs 1 --keep --trace-dir d ../app ok 0.05
"$o/ti-info" --verify d/np2-traced-1 >/dev/null || fail "the traced run that was kept"
"$o/ti-info" d/np2-bare-1 | grep -q '^mode  *whole$' || fail "the bare run that was kept"
run 3 $a --np 2 --trace-dir d ../app
says err "the run directory 'd' is not empty"
touch d/notes d/np2-bare-1/notes
run 0 $a -q --np 2 --runs 1 --force --trace-dir d ../app ok 0.05
[ "$(find d -type f | sort | tr '\n' ' ')" = "d/notes d/np2-bare-1/notes " ] ||
    fail "left in d: $(find d | tr '\n' ' ')"
rm -r d

# Interrupted, it leaves nothing.
for what in INT TERM; do
    env --default-signal=INT,TERM "$o/ti-skew" $a --np 2 ../app ok 9999 >../out 2>../err </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(find . -name 'rank-*.ti' | wc -l)" -ne 2 ]; do sleep 0.1; done
    kill -$what $pid
    wait $pid
    rc=$?
    [ $rc -eq $((128 + $(kill -l $what))) ] || fail "status $rc after SIG$what"
    says err "interrupted by signal"
    clean
    holds ""
done
finish
