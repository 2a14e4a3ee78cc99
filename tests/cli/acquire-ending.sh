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
mkdir ../at-work
# until_at_work: all four ranks are
until_at_work() {
    while kill -0 $pid 2>/dev/null; do
        [ "$(find ../at-work -type f | wc -l)" -eq 4 ] && return
        sleep 0.1
    done
    fail "it does not start"
}
# until_traced: events of all four are in their files
until_traced() {
    local r
    until_at_work
    for r in 0 1 2 3; do
        until "$o/ti-info" --dump --rank $r app.4.run 2>/dev/null | grep -q sendrecv; do
            kill -0 $pid 2>/dev/null || { fail "it writes nothing"; return; }
            sleep 0.1
        done
    done
}
# ends STATUS WHAT OPTION...: start, do WHAT (with $pid), see how it ends
ends() {
    local want=$1 what=$2 rc
    shift 2
    rm -f ../at-work/*
    env --default-signal=INT,TERM,HUP "$o/ti-acquire" -c cputime --np 4 --mem-per-rank 10M "$@" \
        >../out 2>../err </dev/null &
    pid=$!
    eval "$what"
    wait $pid
    rc=$?
    [ $rc -eq "$want" ] || { fail "status $rc, not $want: $what"; cat ../err; }
    clean
}

ends 130 'until [ "$(cat /proc/$pid/comm)" = ti-acquire ]; do :; done; sleep 0.05; kill -INT $pid' ../app ok 9999
find . -mindepth 1 -delete
ends 130 'until_traced; kill -INT $pid' ../app ok 9999
says err "interrupted by signal 2"
says err "the traces are in 'app.4.run'"
holds app.4.run
ends 143 'until_traced; kill -TERM $pid; kill -TERM $pid' ../app ok 9999
holds app.4.run
ends 129 'until_traced; kill -HUP $pid' ../app ok 9999
holds app.4.run
ends 6 'until_traced; kill -KILL $(rank_process 2)' ../app ok 9999
says err "was killed by signal 9"
says err "cut off"
holds app.4.run
ends 6 'until_traced; kill -KILL $(launcher $pid)' ../app ok 9999
says err "mpirun was killed by signal 9"
holds app.4.run
ends 130 'until_traced; kill -STOP $(launcher $pid); kill -INT $pid' ../app ok 9999
holds app.4.run
ends 6 : --timeout 1 ../app ok 9999
says err "longer than --timeout"
find . -mindepth 1 -delete

# Nothing traced yet is nothing to gather.
ends 6 'until_at_work; kill -KILL $(rank_process 2)' ../app still 9999
says err "nothing was written yet"
silent err "ti-gather"
find . -mindepth 1 -delete

# While one is at work, another stays out.
rm -f ../at-work/*
"$o/ti-acquire" -q -c cputime --np 4 --mem-per-rank 10M ../app until >/dev/null 2>&1 </dev/null &
pid=$!
until_traced
run 3 -c cputime --np 4 --force ../app
says err "another ti-acquire is at work"
touch ../go
wait
holds app.4.tib

# Should ti-acquire itself be killed, mpirun and the ranks end as well; its folders are removed by
# the next, a minute later: by then they are surely not just being made.
ends 137 'until_traced; kill -KILL $pid; while [ "$(ours)" ]; do sleep 0.2; done
    killed=$(comm -13 <(printf "%s\n" "$abandoned_before") <(abandoned))
    touch -d "2 minutes ago" $killed; rm app.4.run/RUN.json
    run 0 -q -c cputime --np 4 --mem-per-rank 10M --force ../app ok' ../app ok 9999
[ "$killed" ] || fail "no folder of a killed run to look at"
finish
