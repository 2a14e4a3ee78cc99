#!/bin/bash
# ti-acquire: however a run is ended, no process and no file elsewhere is left,
# and what was traced is.
# tests/run: alone (folders that it leaves behind on purpose would be seen by others)
# shellcheck disable=SC2016,SC2317  # what is done meanwhile is given in quotes
# shellcheck source=tests/cli/acquire-lib.bash
. tests/cli/acquire-lib.bash

launcher() { # of ti-acquire $1
    local p
    for p in /proc/[0-9]*; do
        [ "$(sed 's/.*) . //; s/ .*//' "$p/stat" 2>/dev/null)" = "$1" ] &&
            [[ $(cat "$p/comm" 2>/dev/null) == @(mpirun|prterun) ]] && echo "${p#/proc/}"
    done
}
# until_traced: all four ranks are at work
until_traced() {
    for _ in $(seq 300); do
        [ "$(find . -name 'rank-*.ti' | wc -l)" -eq 4 ] && sleep 0.3 && return
        sleep 0.1
    done
    fail "it does not start"
}
# ends STATUS WHAT OPTION...: start, do WHAT (with $pid), see how it ends
ends() {
    local want=$1 what=$2 rc
    shift 2
    env --default-signal=INT,TERM,HUP "$o/ti-acquire" -c cputime --np 4 --mem-per-rank 10M "$@" \
        >../out 2>../err </dev/null &
    pid=$!
    eval "$what"
    wait $pid
    rc=$?
    [ $rc -eq "$want" ] || { fail "status $rc, not $want: $what"; cat ../err; }
    clean
}

ends 130 'sleep 0.05; kill -INT $pid' ../app ok 60
find . -mindepth 1 -delete
ends 130 'until_traced; kill -INT $pid' ../app ok 60
says err "interrupted by signal 2"
says err "the traces are in 'app.4.run'"
holds app.4.run
ends 143 'until_traced; kill -TERM $pid; kill -TERM $pid' ../app ok 60
holds app.4.run
ends 129 'until_traced; kill -HUP $pid' ../app ok 60
holds app.4.run
ends 6 'until_traced; kill -KILL $(rank_process 2)' ../app ok 60
says err "was killed by signal 9"
says err "cut off"
holds app.4.run
ends 6 'until_traced; kill -KILL $(launcher $pid)' ../app ok 60
says err "mpirun was killed by signal 9"
holds app.4.run
ends 130 'until_traced; kill -STOP $(launcher $pid); kill -INT $pid' ../app ok 60
holds app.4.run
ends 6 : --timeout 1 ../app ok 60
says err "longer than --timeout"
find . -mindepth 1 -delete

# Nothing traced yet is nothing to gather.
ends 6 'until_traced' --timeout 8 ../app still 60
says err "nothing was written yet"
silent err "ti-gather"
find . -mindepth 1 -delete

# While one is at work, another stays out.
"$o/ti-acquire" -q -c cputime --np 4 --mem-per-rank 10M ../app ok 6 >/dev/null 2>&1 </dev/null &
until_traced
run 3 -c cputime --np 4 --force ../app
says err "another ti-acquire is at work"
wait
holds app.4.tib

# Should ti-acquire itself be killed, mpirun and the ranks end as well; its folders are removed by
# the next, a minute later: by then they are surely not just being made.
ends 137 'until_traced; kill -KILL $pid; for _ in $(seq 50); do [ "$(ours)" ] || break; sleep 0.2; done
    killed=$(comm -13 <(printf "%s\n" "$abandoned_before") <(abandoned))
    touch -d "2 minutes ago" $killed; rm app.4.run/RUN.json
    run 0 -q -c cputime --np 4 --mem-per-rank 10M --force ../app ok' ../app ok 60
[ "$killed" ] || fail "no folder of a killed run to look at"
finish
